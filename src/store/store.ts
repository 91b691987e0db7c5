import { deepFreeze } from './freeze.js'
import { StoreSnapshot } from './snapshot.js'
import { Audience } from './subscriber.js'
import { adoptLists, Pasts, Tally, Transaction } from './transaction.js'
import type { Applied, KindList, Store, StoreEvent, Update } from './types.js'

export interface StoreOptions {
  /** Freeze every object that comes in, so that whoever changes one is found out. For tests. Default false. */
  readonly freeze?: boolean
  /** How many deletes are remembered for each kind before the oldest raises the kind's floor. Default 10,000. */
  readonly tombstones?: number
  /** Told what a listener threw or rejected with: a bug. Default: thrown outside the store's call. */
  readonly onListenerError?: (error: unknown) => void
}

/**
 * The keyed state that everything is derived from. It never evicts an object. Each call of `apply`, `replace` and
 * `replaceAll` is one transaction: at most one new snapshot, at most one notice to each subscriber.
 * A listener may call the store; it gets the consequences in its next notice.
 */
export function createStore(options: StoreOptions = {}): Store {
  const { freeze = false, tombstones = 10_000, onListenerError = throwOutside } = options
  const pasts = new Pasts(tombstones)
  let current = new StoreSnapshot(0, new Map())
  const audience = new Audience(() => current, onListenerError)

  function commit(transaction: Transaction): void {
    const { snapshot, updates } = transaction.end()
    current = snapshot
    audience.add(updates)
  }

  function transact(take: (transaction: Transaction, tally: Tally) => void): Applied {
    const tally = new Tally()
    const transaction = new Transaction(current, pasts, tally)
    take(transaction, tally)
    commit(transaction)
    audience.tell()
    return tally.applied()
  }

  function replaceAll(lists: readonly KindList[]): Applied {
    if (freeze) deepFreezeAll(lists.flatMap(list => list.items))
    return transact((transaction, tally) => {
      const steps = adoptLists(lists, () => transaction, tally)
      while (!takeSome(steps));
    })
  }

  async function replaceInSlices(lists: readonly KindList[], pause: () => Promise<void>): Promise<Applied> {
    if (freeze) deepFreezeAll(lists.flatMap(list => list.items))
    const tally = new Tally()
    let transaction = new Transaction(current, pasts, tally)
    const steps = adoptLists(lists, () => transaction, tally)
    const release = audience.hold()
    try {
      while (!takeSome(steps)) {
        commit(transaction)
        await pause()
        transaction = new Transaction(current, pasts, tally)
      }
      commit(transaction)
    } finally {
      release()
    }
    return tally.applied()
  }

  return {
    apply(events: readonly StoreEvent[]) {
      if (freeze) deepFreezeAll(events)
      return transact(transaction => {
        for (const event of events) transaction.take(event)
      })
    },
    replace: list => replaceAll([list]),
    replaceAll,
    replaceInSlices,
    newest: kind => pasts.of(kind).known,
    snapshot: () => current,
    isHeard: () => audience.isIdle,
    subscribe: listener => audience.join(listener, everything(current)),
  }
}

/** In objects: some 2 ms of work. */
const slice = 200

/** Takes a slice of the steps. Returns whether that was all of them. */
function takeSome(steps: Iterator<void>): boolean {
  for (let taken = 0; taken < slice; taken++) if (steps.next().done === true) return true
  return false
}

function everything(snapshot: StoreSnapshot): readonly Update[] {
  return snapshot.kinds().flatMap(kind =>
    [...(snapshot.held(kind)?.entries() ?? [])].map(([locator, { object }]): Update => ({
      type: 'create',
      locator,
      newObject: object,
    })),
  )
}

function deepFreezeAll(values: readonly object[]): void {
  for (const value of values) deepFreeze(value)
}

function throwOutside(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
