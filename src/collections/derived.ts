import { Keyed, keyedOf, type Follower } from './keyed.js'
import { indexOf, type IndexFollower, type KeyedIndex } from './keyed-index.js'
import { forgetReads, type Reader, type Reading } from './readers.js'
import type { Collection, Context, Index } from './types.js'

export interface DerivedOptions<V> {
  readonly name: string
  readonly rank: number
  readonly equal: (a: V, b: V) => boolean
  readonly onError: ((collection: string, key: string, error: unknown) => void) | undefined
}

/** An entry that reads: the unit of recomputation, and the context in which it is computed. */
class Entry implements Reader, Context {
  readonly reads: Reading[] = []
  readonly key: string
  readonly #of: { readonly rank: number; readonly dirty: Set<string> }

  constructor(key: string, of: { readonly rank: number; readonly dirty: Set<string> }) {
    this.key = key
    this.#of = of
  }
  touch(): void {
    this.#of.dirty.add(this.key)
  }
  get<V>(collection: Collection<V>, key: string): V | undefined {
    const keyed = keyedOf(collection)
    this.#mustPrecede(keyed)
    keyed.readers.add(key, this)
    return keyed.get(key)
  }
  lookup<V>(index: Index<V>, value: string): readonly V[] {
    const keyed = indexOf(index)
    this.#mustPrecede(keyed.of)
    keyed.readers.add(value, this)
    return keyed.members(value)
  }
  count<V>(index: Index<V>, value: string): number {
    const keyed = indexOf(index)
    this.#mustPrecede(keyed.of)
    keyed.countReaders.add(value, this)
    return keyed.count(value)
  }
  #mustPrecede(read: { readonly name: string; readonly rank: number }): void {
    if (read.rank >= this.#of.rank)
      throw new Error(`${read.name} was made after the collection that reads it`)
  }
}

/** What all derivations share: dirty keys, recorded reads, and the fate of a throw. */
abstract class Derived<V> extends Keyed<V> {
  readonly dirty = new Set<string>()
  readonly #entries = new Map<string, Entry>()
  readonly #onError: DerivedOptions<V>['onError']

  constructor(options: DerivedOptions<V>) {
    super(options.name, options.rank, options.equal)
    this.#onError = options.onError
  }

  /** Runs `compute` with its reads recorded; `keep` when it threw: the entry stays as it was. */
  protected evaluate<R>(key: string, compute: (context: Context) => R): R | typeof keep {
    let entry = this.#entries.get(key)
    if (entry) forgetReads(entry)
    entry ??= new Entry(key, this)
    try {
      return compute(entry)
    } catch (error) {
      if (!this.#onError) throw error
      this.#onError(this.name, key, error)
      return keep
    } finally {
      if (entry.reads.length > 0) this.#entries.set(key, entry)
      else this.#entries.delete(key)
    }
  }

  /** Brings one entry up to date; without `compute` there is nothing left that it could follow from. */
  protected renew(key: string, compute: ((context: Context) => V | undefined) | undefined): void {
    if (!compute) this.forget(key)
    const result = compute && this.evaluate(key, compute)
    if (result !== keep) this.commit(key, result)
  }

  protected forget(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    forgetReads(entry)
    this.#entries.delete(key)
  }

  protected takeDirty(): string[] {
    const keys = [...this.dirty]
    this.dirty.clear()
    return keys
  }
}

const keep = Symbol('keep')

/** One value per key of another collection. */
export class Mapped<I, O> extends Derived<O> implements Follower<I> {
  readonly #from: Keyed<I>
  readonly #fn: (value: I, context: Context, key: string) => O | undefined

  constructor(
    options: DerivedOptions<O>,
    from: Keyed<I>,
    fn: (value: I, context: Context, key: string) => O | undefined,
  ) {
    super(options)
    this.#from = from
    this.#fn = fn
    from.followers.push(this)
    for (const key of from.keys()) this.dirty.add(key)
  }

  follow(key: string): void {
    this.dirty.add(key)
  }

  override doubt(): void {
    for (const key of this.#from.keys()) this.dirty.add(key)
    for (const key of this.keys()) this.dirty.add(key)
  }

  *settle(): Iterable<void> {
    for (const key of this.takeDirty()) {
      const value = this.#from.get(key)
      this.renew(key, value === undefined ? undefined : context => this.#fn(value, context, key))
      yield
    }
  }
}

/** Any number of entries per key of another collection. */
export class Expanded<I, O> extends Derived<O> implements Follower<I> {
  readonly #from: Keyed<I>
  readonly #fn: (value: I, context: Context, key: string) => Iterable<readonly [key: string, value: O]>
  /** The keys each parent gave. */
  readonly #given = new Map<string, readonly string[]>()
  readonly #parent = new Map<string, string>()

  constructor(
    options: DerivedOptions<O>,
    from: Keyed<I>,
    fn: (value: I, context: Context, key: string) => Iterable<readonly [key: string, value: O]>,
  ) {
    super(options)
    this.#from = from
    this.#fn = fn
    from.followers.push(this)
    for (const key of from.keys()) this.dirty.add(key)
  }

  follow(key: string): void {
    this.dirty.add(key)
  }

  override doubt(): void {
    for (const key of this.#from.keys()) this.dirty.add(key)
    for (const parent of this.#given.keys()) this.dirty.add(parent)
  }

  /** All removals come before all additions, so that an entry may move from one parent to another. */
  *settle(): Iterable<void> {
    const results: (readonly [parent: string, entries: ReadonlyMap<string, O>])[] = []
    for (const parent of this.takeDirty()) {
      const entries = this.#compute(parent)
      if (entries !== keep) results.push([parent, entries])
      yield
    }
    for (const [parent, entries] of results) this.#release(parent, entries)
    for (const [parent, entries] of results) {
      this.#adopt(parent, entries)
      yield
    }
  }

  #compute(parent: string): ReadonlyMap<string, O> | typeof keep {
    const value = this.#from.get(parent)
    if (value !== undefined)
      return this.evaluate(parent, context => new Map(this.#fn(value, context, parent)))
    this.forget(parent)
    return new Map()
  }

  #release(parent: string, entries: ReadonlyMap<string, O>): void {
    for (const key of this.#given.get(parent) ?? []) {
      if (entries.has(key)) continue
      this.#parent.delete(key)
      this.commit(key, undefined)
    }
  }

  #adopt(parent: string, entries: ReadonlyMap<string, O>): void {
    for (const [key, value] of entries) {
      const other = this.#parent.get(key)
      if (other !== undefined && other !== parent) {
        throw new Error(`${this.name}: both ${other} and ${parent} give the entry ${key}`)
      }
      this.#parent.set(key, parent)
      this.commit(key, value)
    }
    if (entries.size > 0) this.#given.set(parent, [...entries.keys()])
    else this.#given.delete(parent)
  }
}

/** One value per index value that has members. */
export class Grouped<V, O> extends Derived<O> implements IndexFollower {
  readonly #index: KeyedIndex<V>
  readonly #fn: (value: string, members: readonly V[], context: Context) => O | undefined

  constructor(
    options: DerivedOptions<O>,
    index: KeyedIndex<V>,
    fn: (value: string, members: readonly V[], context: Context) => O | undefined,
  ) {
    super(options)
    this.#index = index
    this.#fn = fn
    index.followers.push(this)
    for (const value of index.values()) this.dirty.add(value)
  }

  followValue(value: string): void {
    this.dirty.add(value)
  }

  override doubt(): void {
    for (const value of this.#index.values()) this.dirty.add(value)
    for (const value of this.keys()) this.dirty.add(value)
  }

  *settle(): Iterable<void> {
    for (const value of this.takeDirty()) {
      const members = this.#index.members(value)
      this.renew(value, members.length === 0 ? undefined : context => this.#fn(value, members, context))
      yield
    }
  }
}

/** The entries of several collections; of equal keys, the earliest part's. */
export class United<V> extends Keyed<V> implements Follower<V> {
  readonly #parts: readonly Keyed<V>[]
  readonly #dirty = new Set<string>()

  constructor(options: DerivedOptions<V>, parts: readonly Keyed<V>[]) {
    super(options.name, options.rank, options.equal)
    this.#parts = parts
    for (const part of parts) {
      part.followers.push(this)
      for (const key of part.keys()) this.#dirty.add(key)
    }
  }

  follow(key: string): void {
    this.#dirty.add(key)
  }

  override doubt(): void {
    for (const part of this.#parts) for (const key of part.keys()) this.#dirty.add(key)
    for (const key of this.keys()) this.#dirty.add(key)
  }

  *settle(): Iterable<void> {
    for (const key of this.#dirty) {
      this.commit(key, this.#parts.find(part => part.has(key))?.get(key))
      yield
    }
    this.#dirty.clear()
  }
}

/** The member keys per index value. */
export class Rostered<V> extends Keyed<readonly string[]> implements IndexFollower {
  readonly #index: KeyedIndex<V>
  readonly #dirty = new Set<string>()

  constructor(name: string, rank: number, index: KeyedIndex<V>) {
    super(name, rank, () => false)
    this.#index = index
    index.followers.push(this)
    for (const value of index.values()) this.#dirty.add(value)
  }

  followValue(value: string, membershipMoved: boolean): void {
    if (membershipMoved) this.#dirty.add(value)
  }

  override doubt(): void {
    for (const value of this.#index.values()) this.#dirty.add(value)
    for (const value of this.keys()) this.#dirty.add(value)
  }

  *settle(): Iterable<void> {
    for (const value of this.#dirty) {
      this.commit(value, this.#index.count(value) === 0 ? undefined : this.#index.keys(value))
      yield
    }
    this.#dirty.clear()
  }
}
