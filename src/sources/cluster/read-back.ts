import type { Clock, KindId, Locator, Log, Metrics } from '../../core/index.js'
import { silentLog, systemClock } from '../../core/index.js'
import type { Store } from '../../store/index.js'
import { compareVersions, newer } from '../../store/index.js'
import type { Hint as AnyHint } from '../hint.js'

/** A hint about one object. */
type Hint = AnyHint & { readonly key: Locator }

export interface ReadBackOptions {
  readonly store: Store
  /** Reads the object into the store. Resolves with the version at which it was looked at, if any. */
  readonly read: (key: Locator) => Promise<string | undefined>
  /** Told of a kind of which so many objects are to be read back that they are given up: list it instead. */
  readonly onFlood: (kind: KindId) => void
  /** How many objects of a kind may be read back at a time. Default 500. */
  readonly most?: number
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
}

/** When it is tried, in ms after the hint: what was admitted is written a moment later, or never. */
const tries = [0, 100, 400, 1200, 3000]

/** An object that is being read back. */
interface Open {
  readonly kind: KindId
  /** The version held when the last change was seen. */
  before: string | undefined
  /** How many changes are still to be seen: one for each hint that named no version. */
  changes: number
  /** The version that is still to be seen. */
  version: string | undefined
  /** Which try comes next. */
  at: number
  isReading: boolean
  cancel: () => void
}

/**
 * Reads back what hints are about, until as many changes have been seen as there were hints, or the version that they
 * name; five times within 3 s of the last hint, and then keeps silent: whatever it was, a full list finds it too.
 */
export class ReadBack {
  readonly #options: ReadBackOptions
  readonly #clock: Clock
  readonly #open = new Map<Locator, Open>()
  readonly #openOfKind = new Map<KindId, number>()
  readonly #count: (result: 'found' | 'unchanged' | 'flood') => void

  constructor(options: ReadBackOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const counter = options.metrics?.counter('hints_total', 'Hints by what reading back came to.', ['result'])
    this.#count = result => counter?.inc({ result })
  }

  take({ kind, key, version }: Hint): void {
    const open = this.#open.get(key) ?? this.#begin(kind, key)
    if (version === undefined) open.changes++
    else open.version = newer(open.version, version)
    open.at = 0
    if (!open.isReading) this.#schedule(key, open)
    if ((this.#openOfKind.get(kind) ?? 0) > (this.#options.most ?? 500)) this.#flood(kind)
  }

  close(): void {
    for (const { cancel } of this.#open.values()) cancel()
    this.#open.clear()
    this.#openOfKind.clear()
  }

  #begin(kind: KindId, key: Locator): Open {
    const before = this.#held(key)
    const open: Open = {
      ...{ kind, before, changes: 0, version: undefined, at: 0 },
      ...{ isReading: false, cancel: () => undefined },
    }
    this.#open.set(key, open)
    this.#openOfKind.set(kind, (this.#openOfKind.get(kind) ?? 0) + 1)
    return open
  }

  #schedule(key: Locator, open: Open): void {
    open.cancel()
    const ms = (tries[open.at] ?? 0) - (tries[open.at - 1] ?? 0)
    open.at++
    open.cancel = this.#clock.after(ms, () => void this.#try(key, open))
  }

  async #try(key: Locator, open: Open): Promise<void> {
    this.#observe(key, open, undefined)
    if (isSeen(open)) this.#end(key, open, 'found')
    else {
      open.isReading = true
      this.#observe(key, open, await this.#read(key, open))
      open.isReading = false
      if (isSeen(open)) this.#end(key, open, 'found')
      else if (open.at >= tries.length) this.#end(key, open, 'unchanged')
      else if (this.#open.get(key) === open) this.#schedule(key, open)
    }
  }

  async #read(key: Locator, { kind }: Open): Promise<string | undefined> {
    const { read, log = silentLog } = this.#options
    try {
      return await read(key)
    } catch (error) {
      log.debug({ kind, key, error: String(error) }, 'could not read back what a hint was about')
      return undefined
    }
  }

  /** @param asOf - the version at which the object was looked at */
  #observe(key: Locator, open: Open, asOf: string | undefined): void {
    const held = this.#held(key)
    if (held !== open.before) {
      open.before = held
      open.changes = Math.max(0, open.changes - 1)
    }
    const { version } = open
    const seen = newer(held, asOf)
    if (version !== undefined && seen !== undefined && compareVersions(seen, version) >= 0)
      open.version = undefined
  }

  #held(key: Locator): string | undefined {
    return this.#options.store.snapshot().get(key)?.metadata.resourceVersion
  }

  #end(key: Locator, open: Open, result: 'found' | 'unchanged'): void {
    if (this.#open.get(key) !== open) return
    this.#forget(key, open)
    this.#count(result)
  }

  #forget(key: Locator, { kind, cancel }: Open): void {
    cancel()
    this.#open.delete(key)
    this.#openOfKind.set(kind, (this.#openOfKind.get(kind) ?? 1) - 1)
  }

  #flood(kind: KindId): void {
    for (const [key, open] of this.#open) if (open.kind === kind) this.#forget(key, open)
    this.#count('flood')
    this.#options.onFlood(kind)
  }
}

function isSeen({ changes, version }: Open): boolean {
  return changes === 0 && version === undefined
}
