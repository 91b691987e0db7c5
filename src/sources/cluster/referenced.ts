import type { Clock, Locator, Log } from '../../core/index.js'
import { locatorOf, silentLog, systemClock } from '../../core/index.js'
import type { Store } from '../../store/index.js'
import type { CheckedList } from '../checked-list.js'
import { isReadByName, kindOfKey } from '../wanted.js'
import { delayAfter } from './backoff.js'
import type { ReadNamed } from './reader.js'
import type { Wanted } from './types.js'

export interface ReferencedOptions {
  readonly wanted: Wanted
  readonly store: Store
  readonly read: ReadNamed
  /** Told when an object has been looked at that had just come to be referenced, or failed before. */
  readonly onLook: () => void
  readonly clock?: Clock
  readonly log?: Log
}

/**
 * The Secrets and ConfigMaps that something references: read whole as soon as they are, tried again with back-off
 * until they could be, and forgotten when nothing references them any more.
 */
export class Referenced {
  readonly #options: ReferencedOptions
  readonly #clock: Clock
  readonly #log: Log
  /** Keys that have not been looked at since they came. */
  readonly #unread = new Set<Locator>()
  readonly #failing = new Map<
    Locator,
    { readonly message: string; readonly times: number; cancel: () => void }
  >()
  readonly #leave: () => void
  #isClosed = false

  constructor(options: ReferencedOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silentLog
    this.#leave = options.wanted.subscribe(({ came, went }) => {
      for (const key of went) this.#drop(key)
      this.tidy()
      for (const key of came) this.#begin(key)
    })
    for (const key of options.wanted.keys()) this.#begin(key)
  }

  unread(): readonly Locator[] {
    return [...this.#unread]
  }

  failures(): readonly { readonly source: Locator; readonly message: string }[] {
    return [...this.#failing].map(([source, { message }]) => ({ source, message }))
  }

  isUnwanted(key: Locator): boolean {
    return isReadByName(kindOfKey(key)) && !this.#options.wanted.has(key)
  }

  /** Reads an object and says what came of it; one that cannot be read is tried again, by and by. */
  async look(key: Locator): Promise<CheckedList | 'absent' | undefined> {
    try {
      return await this.#options.read(key)
    } catch (error) {
      this.#fail(key, error instanceof Error ? error.message : String(error))
      return undefined
    }
  }

  /** It has been looked at, and is in the store or not there. */
  found(key: Locator): void {
    this.#drop(key)
  }

  /** Lets go of what is held and not referenced. */
  tidy(): void {
    const { store } = this.#options
    const snapshot = store.snapshot()
    const held = snapshot
      .kinds()
      .filter(isReadByName)
      .flatMap(kind => snapshot.list(kind).map(locatorOf))
    const unwanted = held.filter(key => this.isUnwanted(key))
    if (unwanted.length > 0) store.apply(unwanted.map(locator => ({ type: 'forget', locator })))
  }

  close(): void {
    this.#isClosed = true
    this.#leave()
    for (const { cancel } of this.#failing.values()) cancel()
  }

  #begin(key: Locator): void {
    if (!isReadByName(kindOfKey(key))) return
    this.#unread.add(key)
    void this.#take(key)
  }

  /** Reads an object into the store. */
  async #take(key: Locator): Promise<void> {
    const found = await this.look(key)
    if (this.#isClosed || this.isUnwanted(key)) return
    if (found !== undefined) {
      if (found !== 'absent') this.#adopt(found)
      this.found(key)
    }
    this.#options.onLook()
  }

  #adopt({ list, rejected }: CheckedList): void {
    for (const item of rejected) this.#log.warn(item, 'a referenced object is not valid; what is held stays')
    this.#options.store.replace(list)
  }

  #drop(key: Locator): void {
    this.#unread.delete(key)
    this.#failing.get(key)?.cancel()
    this.#failing.delete(key)
  }

  #fail(key: Locator, message: string): void {
    if (this.#isClosed || this.isUnwanted(key)) return
    const before = this.#failing.get(key)
    before?.cancel()
    const times = (before?.times ?? 0) + 1
    this.#log.warn({ key, message }, 'a referenced object could not be read: it is tried again')
    const cancel = this.#clock.after(delayAfter(times), () => void this.#take(key))
    this.#failing.set(key, { message, times, cancel })
  }
}
