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

/** Store → derivation → proxies and statuses, over and over. */
export interface Loop {
  /** Asks again whether the state is complete, and publishes the first time that it is. */
  release(): void
  /** False until the first complete state has been published. */
  readonly published: boolean
  /** Resolves when everything the store holds now is derived. */
  settled(): Promise<void>
  /** Called after each turn. Returns its undo. */
  subscribe(listener: () => void): () => void
  close(): void
}

/** A change while idle is handled at once; while it storms, changes gather for this long (ms). */
const gatherMs = 20

export function createLoop(parts: LoopParts): Loop {
  const { store, derivation, publisher, reporter, log } = parts
  const seconds = parts.metrics.histogram(
    'derive_seconds',
    'From a notice of the store to what is published.',
    [0.001, 0.005, 0.02, 0.1, 0.5, 2],
  )
  const listeners = new Set<() => void>()
  let published = false
  let busy = false
  let endedAt = 0
  let turn: Promise<void> = Promise.resolve()

  const publish = (first = false) => {
    published ||= first
    if (published) publisher.publish()
    reporter.report()
    for (const listener of listeners) listener()
  }
  // What the store held at the call is derived when the turn under way has ended, and the one that follows it.
  const settled = async () => {
    for (let turns = 0; turns < 2; turns++) {
      await turn
      await new Promise(resolve => setImmediate(resolve))
    }
    await turn
  }
  const release = async () => {
    if (published || !parts.complete()) return
    await settled()
    if (!busy && parts.complete()) publish(true)
  }
  const derive = async ({ updates }: Notice) => {
    busy = true
    if (performance.now() - endedAt < gatherMs) await gathered()
    const done = seconds.startTimer()
    try {
      await derivation.takeSliced(updates)
      publish()
      void release()
    } catch (error) {
      log.error({ error }, 'a bug: this change was not derived; the state before it is served')
    }
    done()
    busy = false
    endedAt = performance.now()
  }
  const undo = store.subscribe(notice => (turn = derive(notice)))
  return {
    release: () => void release(),
    get published() {
      return published
    },
    settled,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: undo,
  }
}

function gathered(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, gatherMs))
}
