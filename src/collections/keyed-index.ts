import type { Keyed, Follower } from './keyed.js'
import { Readers } from './readers.js'
import { Roster } from './roster.js'
import type { Index } from './types.js'

/** Somebody downstream that follows an index value by value (a group, a roster). */
export interface IndexFollower {
  followValue(value: string, membershipMoved: boolean): void
}

/**
 * For each value, who carries it. Kept up to date the moment the indexed collection changes: whoever reads it
 * comes later in the flush.
 */
export class KeyedIndex<V> implements Index<V>, Follower<V> {
  readonly name: string
  readonly of: Keyed<V>
  /** Of membership and of the members' values. */
  readonly readers = new Readers()
  /** Of membership alone. */
  readonly countReaders = new Readers()
  readonly followers: IndexFollower[] = []
  readonly #rosters = new Map<string, Roster>()
  readonly #valuesOf = new Map<string, readonly string[]>()
  readonly #fn: (value: V, key: string) => Iterable<string>

  constructor(name: string, of: Keyed<V>, fn: (value: V, key: string) => Iterable<string>) {
    this.name = name
    this.of = of
    this.#fn = fn
    of.followers.push(this)
    for (const [key, value] of of.entries()) this.follow(key, undefined, value)
  }

  keys(value: string): readonly string[] {
    return this.#rosters.get(value)?.keys() ?? []
  }
  count(value: string): number {
    return this.#rosters.get(value)?.size ?? 0
  }
  values(): IterableIterator<string> {
    return this.#rosters.keys()
  }
  members(value: string): V[] {
    return this.keys(value).map(key => this.of.get(key) as V)
  }

  follow(key: string, _old: V | undefined, value: V | undefined): void {
    const before = this.#valuesOf.get(key) ?? none
    const after = value === undefined ? none : distinct(this.#fn(value, key))
    if (after.length === 0) this.#valuesOf.delete(key)
    else this.#valuesOf.set(key, after)
    for (const gone of before) if (!after.includes(gone)) this.#remove(gone, key)
    for (const kept of after) {
      if (before.includes(kept)) this.#tell(kept, false)
      else this.#add(kept, key)
    }
  }

  #add(value: string, key: string): void {
    let roster = this.#rosters.get(value)
    if (!roster) this.#rosters.set(value, (roster = new Roster()))
    roster.add(key)
    this.#tell(value, true)
  }

  #remove(value: string, key: string): void {
    const roster = this.#rosters.get(value)
    roster?.delete(key)
    if (roster?.size === 0) this.#rosters.delete(value)
    this.#tell(value, true)
  }

  #tell(value: string, membershipMoved: boolean): void {
    this.readers.touch(value)
    if (membershipMoved) this.countReaders.touch(value)
    for (const follower of this.followers) follower.followValue(value, membershipMoved)
  }
}

const none: readonly string[] = []

function distinct(values: Iterable<string>): readonly string[] {
  if (Array.isArray(values) && values.length < 2) return values as readonly string[]
  return [...new Set(values)]
}

/** The class behind an index of this library; throws on one that no engine made. */
export function indexOf<V>(index: Index<V>): KeyedIndex<V> {
  if (index instanceof KeyedIndex) return index as KeyedIndex<V>
  throw new Error(`${index.name} is not an index of an engine`)
}
