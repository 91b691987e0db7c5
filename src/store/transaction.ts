import type { KindId, Locator } from '../core/index.js'
import { kindIdOf, locatorOf } from '../core/index.js'
import { KindState } from './kind-state.js'
import type { Verdict } from './kind-state.js'
import { reconcileList } from './list.js'
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

/** Facts taken one after the other on top of a snapshot, which stays as it is. */
export class Transaction {
  readonly #base: StoreSnapshot
  readonly #pasts: Pasts
  readonly #kinds = new Map<KindId, KindState>()
  readonly #counts: Record<Exclude<Verdict, 'hint'>, number> = { accepted: 0, stale: 0, duplicate: 0 }
  readonly #hints = new Set<Locator>()
  readonly #resets: KindId[] = []

  constructor(base: StoreSnapshot, pasts: Pasts) {
    this.#base = base
    this.#pasts = pasts
  }

  take(event: StoreEvent): void {
    if (event.type === 'upsert') {
      const key = locatorOf(event.object)
      this.#count(this.#kind(kindIdOf(event.object)).upsert(key, event.object, event.version), key)
    } else {
      const { locator, uid, version } = event
      this.#count(this.#kind(kindOf(locator)).delete(locator, uid, version), locator)
    }
  }

  takeList(list: KindList): void {
    const reset = reconcileList(this.#kind(list.kind), list, (verdict, key) => this.#count(verdict, key))
    if (reset) this.#resets.push(list.kind)
  }

  /** Ends it: the snapshot that it comes to, and what to tell of it. */
  end(): { snapshot: StoreSnapshot; updates: readonly Update[]; applied: Applied } {
    const changed = [...this.#kinds].map(([kind, state]): [KindId, HeldObjects] => [
      kind,
      state.objects.close(),
    ])
    return {
      snapshot: this.#base.with(changed),
      updates: [...this.#kinds.values()].flatMap(state => state.updates),
      applied: { ...this.#counts, hints: [...this.#hints], resets: this.#resets },
    }
  }

  #kind(id: KindId): KindState {
    const known = this.#kinds.get(id)
    if (known !== undefined) return known
    const state = new KindState((this.#base.held(id) ?? emptyKind).draft(), this.#pasts.of(id))
    this.#kinds.set(id, state)
    return state
  }

  #count(verdict: Verdict, key: Locator): void {
    if (verdict === 'hint') this.#hints.add(key)
    else this.#counts[verdict]++
  }
}
