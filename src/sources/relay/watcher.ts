import type { Clock, KindId, Log } from '../../core/index.js'
import type { KubeClient, WatchEvent } from '../../kube/index.js'
import { KubeError } from '../../kube/index.js'
import { compareVersions } from '../../store/index.js'
import { isReadByName } from '../wanted.js'
import { Backoff, pause } from './backoff.js'
import type { Instruments } from './instruments.js'
import { factOf, hintMessage, hintOfChange, syncOf } from './messages.js'
import type { Outbox } from './outbox.js'
import type { Receivers } from './receivers.js'

export interface WatcherOptions {
  readonly kind: KindId
  readonly client: KubeClient
  readonly receivers: Receivers
  readonly clock: Clock
  readonly log: Log
  readonly instruments: Instruments
  readonly signal: AbortSignal
}

/** In ms: how often an absent kind is looked for, ± 20 %. */
const absencePeriod = 15_000
/** In ms: a watch that has stood so long is a good one. */
const settling = 1_000
/** A list by such a name is small, and has the version of now. */
const probe = { name: 'gatewright-asks-for-the-version', namespace: 'default', metadataOnly: true }

/**
 * Follows one kind and tells all receivers: list → SYNC, then watch → events, from the last version again when a watch
 * ends, from a new list when that version is too old.
 */
export class Watcher {
  readonly #options: WatcherOptions
  readonly #isMetadata: boolean
  readonly #retry = new Backoff(250, 30_000)
  readonly #listRetry = new Backoff(250, 30_000)
  /** Outboxes that a SYNC of their own is owed to. */
  readonly #owed = new Set<Outbox>()
  /** `listing` until everybody has been told of everything: then, from `#from` on, each event is told. */
  #phase: 'listing' | 'watching' | 'absent' = 'listing'
  #from: string | undefined
  /** The newest version seen, of lists and events. */
  #newest: string | undefined
  #isReady = false
  #isServing = false
  #why: string | undefined

  constructor(options: WatcherOptions) {
    this.#options = options
    this.#isMetadata = isReadByName(options.kind)
  }

  /** True once the kind has been watched or found absent. */
  isReady(): boolean {
    return this.#isReady
  }

  /** Why the kind cannot be watched now; undefined when it can. */
  whyDegraded(): string | undefined {
    return this.#why
  }

  /** Sends a SYNC of its own to one receiver; none where one for all is to come anyway. */
  owe(outbox: Outbox): void {
    if (this.#phase !== 'watching') return
    if (this.#isMetadata) outbox.put(hintMessage({ kind: this.#options.kind }))
    else this.#owed.add(outbox)
    if (!this.#isServing) void this.#serveOwed()
  }

  /** Resolves when the signal has aborted. */
  async run(): Promise<void> {
    const { clock, signal } = this.#options
    while (!signal.aborted) {
      const wait = await this.#step().catch((error: unknown) => this.#failed(error))
      if (wait > 0) await pause(clock, wait, signal)
    }
  }

  /** One list, probe and watch, as far as it comes; answers the ms until the next. */
  async #step(): Promise<number> {
    if (this.#from === undefined) await this.#list()
    else if (await this.#isPast(this.#from)) this.#from = undefined
    if (this.#phase === 'absent') return absencePeriod * (0.8 + 0.4 * Math.random())
    return this.#from === undefined ? 0 : this.#watch(this.#from)
  }

  async #list(): Promise<void> {
    const { kind, client, receivers, instruments, signal } = this.#options
    this.#phase = this.#phase === 'absent' ? 'absent' : 'listing'
    instruments.relist(kind)
    const list = await client.list(kind, this.#isMetadata ? { ...probe, signal } : { signal })
    if (list === 'absent') {
      this.#foundAbsent()
      return
    }
    const wasRestored = this.#newest !== undefined && compareVersions(list.version, this.#newest) < 0
    if (!this.#isMetadata) receivers.sync(kind, await syncOf(kind, list))
    // Only a list of one's own tells a receiver that the database is an older one.
    if (this.#isMetadata || wasRestored) receivers.put(hintMessage({ kind }))
    this.#owed.clear()
    this.#phase = 'watching'
    this.#newest = list.version
    this.#from = list.version
  }

  #foundAbsent(): void {
    const { kind, receivers, log } = this.#options
    if (this.#phase !== 'absent' && this.#newest !== undefined) receivers.put(hintMessage({ kind }))
    if (this.#phase !== 'absent') log.info({ kind }, 'the kind is not installed: it is looked for again')
    this.#phase = 'absent'
    this.#stands()
  }

  /**
   * True where the server is at an older version than the one to watch from: a watch would wait for a time that was
   * there already, and say nothing.
   */
  async #isPast(from: string): Promise<boolean> {
    const { kind, client, instruments, signal } = this.#options
    instruments.restart(kind)
    const now = await client.list(kind, { ...probe, signal })
    return now === 'absent' || compareVersions(now.version, from) < 0
  }

  async #watch(from: string): Promise<number> {
    const { kind, client, clock, signal } = this.#options
    const watch = { stood: false }
    const stand = () => {
      watch.stood = true
      this.#stands()
    }
    const undo = clock.after(settling, stand)
    try {
      for await (const event of client.watch(kind, {
        version: from,
        metadataOnly: this.#isMetadata,
        signal,
      })) {
        stand()
        this.#take(event)
      }
    } finally {
      undo()
    }
    // Whoever ends every watch at once is not asked without end.
    return watch.stood ? 0 : this.#retry.next()
  }

  #take(event: WatchEvent): void {
    const { kind, receivers, instruments } = this.#options
    this.#from = event.version
    this.#newest = event.version
    if (event.type === 'BOOKMARK') return
    instruments.event(kind)
    receivers.put(this.#isMetadata ? hintOfChange(kind, event) : factOf(kind, event))
  }

  #stands(): void {
    const { kind, log } = this.#options
    if (this.#why !== undefined) log.info({ kind }, 'the kind can be watched again')
    else if (!this.#isReady) log.debug({ kind }, 'the kind is followed')
    this.#why = undefined
    this.#isReady = true
    this.#retry.reset()
  }

  #failed(error: unknown): number {
    const { kind, log, signal } = this.#options
    if (signal.aborted) return 0
    const code = error instanceof KubeError ? error.code : undefined
    const isTooOld = code === 410 && this.#from !== undefined
    // 404: whether the kind is gone is for the next list to find out.
    if (code === 410 || code === 404) this.#from = undefined
    if (isTooOld) return this.#retry.next()
    const why = error instanceof Error ? error.message : String(error)
    if (this.#why === undefined) log.warn({ kind, why }, 'the kind cannot be watched: it is tried again')
    this.#why = why
    return this.#retry.next()
  }

  async #serveOwed(): Promise<void> {
    const { clock, signal } = this.#options
    this.#isServing = true
    while (this.#owed.size > 0 && !signal.aborted) {
      const wait = await this.#serve().catch(() => this.#listRetry.next())
      if (wait > 0) await pause(clock, wait, signal)
    }
    this.#isServing = false
  }

  async #serve(): Promise<number> {
    const { kind, client, signal } = this.#options
    const marks = [...this.#owed].map(outbox => ({ outbox, mark: outbox.mark() }))
    const list = await client.list(kind, { signal })
    const parts = list === 'absent' ? [] : await syncOf(kind, list)
    for (const { outbox, mark } of marks) {
      // Meanwhile one for all may have come.
      if (this.#owed.delete(outbox) && parts.length > 0) outbox.sync(kind, parts, mark)
    }
    this.#listRetry.reset()
    return 0
  }
}
