import { nextTurn } from './core/index.js'
import type { Log, Metrics } from './core/index.js'
import type { Derivation } from './derivation.js'
import type { Reporter } from './status/index.js'
import type { Notice, Store } from './store/index.js'
import type { Publisher } from './xds/index.js'

export interface LoopParts {
  readonly store: Store
  readonly derivation: Derivation
  readonly publisher: Publisher
  readonly reporter: Reporter
  /** Whether the store holds a complete state; asked until it does once, and nothing is published before. */
  readonly complete: () => boolean
  readonly log: Log
  readonly metrics: Metrics
}

/** A change while idle is handled at once; while it storms, changes gather for this long (ms). */
const gatherMs = 20
const buckets = [0.001, 0.005, 0.02, 0.1, 0.5, 2]

/** Store → derivation → proxies and statuses, over and over: one turn at a time, each over all that came meanwhile. */
export class Loop {
  readonly #parts: LoopParts
  readonly #listeners = new Set<() => void>()
  readonly #seconds
  readonly #drift
  readonly #undo: () => void
  #published = false
  #busy = false
  #endedAt = 0
  #turn: Promise<void> = Promise.resolve()

  constructor(parts: LoopParts) {
    const { store, metrics } = parts
    this.#parts = parts
    this.#seconds = metrics.histogram(
      'derive_seconds',
      'From a notice of the store to what follows.',
      buckets,
    )
    this.#drift = metrics.counter('derivation_drift_total', 'Results that were not what the objects come to.')
    this.#undo = store.subscribe(notice => (this.#turn = this.#derive(notice)))
  }

  /** False until the first complete state has been published. */
  get published(): boolean {
    return this.#published
  }

  /** Asks again whether the state is complete, and publishes the first time that it is. */
  release(): void {
    void this.#release()
  }

  /** Resolves when everything the store held at the call is derived. */
  async settled(): Promise<void> {
    // It is when the turn under way has ended, and the one that follows it.
    for (let turns = 0; turns < 2; turns++) {
      await this.#turn
      await nextTurn()
    }
    await this.#turn
  }

  /**
   * Derives everything anew, in slices, and answers how many results were not as held: bugs if any, and mended by it.
   * Leaves it for another time, answering nothing, while changes are being derived.
   */
  async verify(): Promise<number | undefined> {
    if (this.#busy) return undefined
    const differing = await this.#parts.derivation.verify()
    if (differing === 0) return 0
    this.#drift.inc(differing)
    this.#parts.log.error({ differing }, 'a bug: what was derived had drifted; it is made anew and published')
    await this.#publish()
    return differing
  }

  /** Called after each turn. Returns its undo. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#undo()
  }

  async #derive({ updates }: Notice): Promise<void> {
    this.#busy = true
    if (performance.now() - this.#endedAt < gatherMs) await gathered()
    const done = this.#seconds.startTimer()
    try {
      await this.#parts.derivation.takeSliced(updates)
      await this.#publish()
      this.release()
    } catch (error) {
      this.#parts.log.error({ error }, 'a bug: this change was not derived; the state before it is served')
    }
    done()
    this.#busy = false
    this.#endedAt = performance.now()
  }

  async #release(): Promise<void> {
    if (this.#published || !this.#parts.complete()) return
    await this.settled()
    if (this.#busy || !this.#parts.complete()) return
    this.#published = true
    await this.#publish()
  }

  async #publish(): Promise<void> {
    if (this.#published) this.#parts.publisher.publish()
    await this.#parts.reporter.report()
    for (const listener of this.#listeners) listener()
  }
}

function gathered(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, gatherMs))
}
