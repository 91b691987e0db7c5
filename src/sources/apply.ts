import { nextTurn } from '../core/index.js'
import type { Applied, Store, StoreEvent } from '../store/index.js'

/** So many events are one transaction; taking them holds the event loop for some 5 ms. */
const most = 250

/** Applies events in as few transactions as the event loop bears, giving it back between them. */
export async function applySliced(store: Store, events: readonly StoreEvent[]): Promise<Applied> {
  let sum = store.apply(events.slice(0, most))
  for (let at = most; at < events.length; at += most) {
    await nextTurn()
    sum = together(sum, store.apply(events.slice(at, at + most)))
  }
  return sum
}

function together(a: Applied, b: Applied): Applied {
  return {
    accepted: a.accepted + b.accepted,
    stale: a.stale + b.stale,
    duplicate: a.duplicate + b.duplicate,
    hints: [...a.hints, ...b.hints],
    resets: [...a.resets, ...b.resets],
    late: [...a.late, ...b.late],
    byKind: sums(a.byKind, b.byKind),
  }
}

function sums(a: Readonly<Record<string, number>>, b: typeof a): typeof a {
  const kinds = new Set([...Object.keys(a), ...Object.keys(b)])
  return Object.fromEntries([...kinds].map(kind => [kind, (a[kind] ?? 0) + (b[kind] ?? 0)]))
}
