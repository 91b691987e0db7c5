import { deepFreeze } from './freeze.js'
import { StoreSnapshot } from './snapshot.js'
import { Subscriber } from './subscriber.js'
import { Pasts, Transaction } from './transaction.js'
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
  const subscribers = new Set<Subscriber>()
  let current = new StoreSnapshot(0, new Map())

  function transact(take: (transaction: Transaction) => void): Applied {
    const transaction = new Transaction(current, pasts)
    take(transaction)
    const { snapshot, updates, applied } = transaction.end()
    current = snapshot
    for (const subscriber of subscribers) subscriber.add(updates)
    for (const subscriber of subscribers) subscriber.pump()
    return applied
  }

  function replaceAll(lists: readonly KindList[]): Applied {
    if (freeze) deepFreezeAll(lists.flatMap(list => list.items))
    return transact(transaction => {
      for (const list of lists) transaction.takeList(list)
    })
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
    snapshot: () => current,
    subscribe(listener) {
      const subscriber = new Subscriber(listener, () => current, onListenerError)
      subscribers.add(subscriber)
      subscriber.greet(everything(current))
      return () => {
        subscriber.leave()
        subscribers.delete(subscriber)
      }
    },
  }
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
