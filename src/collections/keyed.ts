import type { Change, Collection } from './types.js'
import { Readers } from './readers.js'

/** Somebody downstream that follows a collection key by key (a derivation, an index). */
export interface Follower<V> {
  follow(key: string, old: V | undefined, value: V | undefined): void
}

/** The part that all collections share: values, who follows them, who read them, who watches them. */
export abstract class Keyed<V> implements Collection<V> {
  readonly name: string
  /** Place in the order of making. */
  readonly rank: number
  readonly readers = new Readers()
  readonly followers: Follower<V>[] = []
  readonly watchers = new Set<(changes: readonly Change<V>[]) => void>()
  readonly #values = new Map<string, V>()
  readonly #equal: (a: V, b: V) => boolean
  #changes: Change<V>[] = []

  constructor(name: string, rank: number, equal: (a: V, b: V) => boolean) {
    this.name = name
    this.rank = rank
    this.#equal = equal
  }

  get size(): number {
    return this.#values.size
  }
  get(key: string): V | undefined {
    return this.#values.get(key)
  }
  has(key: string): boolean {
    return this.#values.has(key)
  }
  keys(): IterableIterator<string> {
    return this.#values.keys()
  }
  entries(): IterableIterator<[string, V]> {
    return this.#values.entries()
  }

  /** Takes what came in and works it off; yields after each piece of work, so that a flush can be sliced. */
  abstract settle(): Iterable<void>

  /** Marks every entry for recomputation; a source has nothing to recompute. */
  doubt(): void {}

  /** Sets or (with `undefined`) removes an entry; an equal value stops the wave here. */
  protected commit(key: string, value: V | undefined): void {
    const old = this.#values.get(key)
    if (old === undefined ? value === undefined : value !== undefined && this.#equal(old, value)) return
    if (value === undefined) this.#values.delete(key)
    else this.#values.set(key, value)
    if (this.watchers.size > 0) this.#changes.push({ key, old, new: value })
    for (const follower of this.followers) follower.follow(key, old, value)
    this.readers.touch(key)
  }

  /** Tells the watchers what this flush changed. */
  announce(): void {
    if (this.#changes.length === 0) return
    const changes = this.#changes
    this.#changes = []
    for (const watcher of this.watchers) watcher(changes)
  }
}

/** The class behind a collection of this library; throws on one that no engine made. */
export function keyedOf<V>(collection: Collection<V>): Keyed<V> {
  if (collection instanceof Keyed) return collection as Keyed<V>
  throw new Error(`${collection.name} is not a collection of an engine`)
}
