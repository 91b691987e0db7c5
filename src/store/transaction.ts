import type { KindId, Locator } from '../core/index.js'
import { locatorOf } from '../core/index.js'
import { KindState } from './kind-state.js'
import type { Verdict } from './kind-state.js'
import { adoptList } from './list.js'
import type { HeldObjects, StoreSnapshot } from './snapshot.js'
import { emptyKind, kindOf } from './snapshot.js'
import { Past } from './past.js'
import type { Applied, KindList, StoreEvent, Update } from './types.js'

/** What happened to each kind's absent objects; lives as long as the store. */
export class Pasts {
  readonly #byKind = new Map<KindId, Past>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  of(kind: KindId): Past {
    const known = this.#byKind.get(kind)
    if (known !== undefined) return known
    const past = new Past(this.#limit)
    this.#byKind.set(kind, past)
    return past
  }
}

/** What one or more transactions in a row have done. */
export class Tally {
  readonly #counts: Record<Exclude<Verdict, 'hint'>, number> = { accepted: 0, stale: 0, duplicate: 0 }
  readonly #hints = new Set<Locator>()
  readonly #byKind: Record<KindId, number> = {}
  readonly resets = new Set<KindId>()
  readonly late = new Set<KindId>()

  count(verdict: Verdict, key: Locator, kind: KindId): void {
    if (verdict === 'hint') this.#hints.add(key)
    else this.#counts[verdict]++
    if (verdict === 'accepted') this.#byKind[kind] = (this.#byKind[kind] ?? 0) + 1
  }

  applied(): Applied {
    const [hints, resets, late] = [this.#hints, this.resets, this.late].map(set => [...set])
    return { ...this.#counts, hints, resets, late, byKind: this.#byKind } as Applied
  }
}

/** Facts taken one after the other on top of a snapshot, which stays as it is. */
export class Transaction {
  readonly #base: StoreSnapshot
  readonly #pasts: Pasts
  readonly #kinds = new Map<KindId, KindState>()
  readonly #tally: Tally

  constructor(base: StoreSnapshot, pasts: Pasts, tally: Tally) {
    this.#base = base
    this.#pasts = pasts
    this.#tally = tally
  }

  take(event: StoreEvent): void {
    const key = event.type === 'upsert' ? locatorOf(event.object) : event.locator
    const kind = kindOf(key)
    this.#tally.count(verdictOn(event, key, this.kind(kind)), key, kind)
  }

  /** Ends it: the snapshot that it comes to, and what to tell of it. */
  end(): { snapshot: StoreSnapshot; updates: readonly Update[] } {
    const changed = [...this.#kinds].map(([kind, state]): [KindId, HeldObjects] => [
      kind,
      state.objects.close(),
    ])
    return {
      snapshot: this.#base.with(changed),
      updates: [...this.#kinds.values()].flatMap(state => state.updates),
    }
  }

  kind(id: KindId): KindState {
    const known = this.#kinds.get(id)
    if (known !== undefined) return known
    const state = new KindState((this.#base.held(id) ?? emptyKind).draft(), this.#pasts.of(id))
    this.#kinds.set(id, state)
    return state
  }
}

function verdictOn(event: StoreEvent, key: Locator, state: KindState): Verdict {
  if (event.type === 'upsert') return state.upsert(key, event.object, event.version)
  return event.type === 'delete' ? state.delete(key, event.uid, event.version) : state.forget(key)
}

/** The steps by which lists are taken, each of them within the transaction that `open` gives. */
export function* adoptLists(
  lists: readonly KindList[],
  open: () => Transaction,
  tally: Tally,
): Generator<void, void> {
  for (const list of lists) {
    yield* adoptList(list, {
      kind: () => open().kind(list.kind),
      count: (verdict, key) => tally.count(verdict, key, list.kind),
      onReset: () => void tally.resets.add(list.kind),
      onLate: () => void tally.late.add(list.kind),
    })
  }
}
