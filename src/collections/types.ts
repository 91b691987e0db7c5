/**
 * Collections: derived state as a graph of keyed maps that recompute only what a change can touch.
 * After Istio's krt; the design is in docs/architecture.md §collections.
 */

/** A keyed map that others derive from. Values are immutable; keys are strings. */
export interface Collection<V> {
  readonly name: string
  readonly size: number
  get(key: string): V | undefined
  has(key: string): boolean
  keys(): IterableIterator<string>
  entries(): IterableIterator<[string, V]>
}

/** A collection fed from outside. Changes take effect at the next flush. */
export interface Source<V> extends Collection<V> {
  set(key: string, value: V): void
  delete(key: string): void
}

/** For each index value, the keys of the collection whose entries carry it, in byte order. */
export interface Index<V> {
  readonly name: string
  readonly of: Collection<V>
  keys(value: string): readonly string[]
  /** How many entries carry the value. */
  count(value: string): number
  values(): IterableIterator<string>
}

/** What changed in one flush; `old` and `new` are never both undefined and never equal. */
export interface Change<V> {
  readonly key: string
  readonly old: V | undefined
  readonly new: V | undefined
}

/** Reads made through it are recorded, missing ones included: the reader is recomputed when they change. */
export interface Context {
  get<V>(collection: Collection<V>, key: string): V | undefined
  /** The entries that carry `value`, in key order; depends on the membership and on every member's value. */
  lookup<V>(index: Index<V>, value: string): readonly V[]
  /** Only the number of entries that carry `value`: not recomputed when a member's value changes. */
  count<V>(index: Index<V>, value: string): number
}

/** What a collection does with a `fn` that throws (a bug in it): see {@link EngineOptions.onError}. */
export interface EngineOptions {
  /**
   * Told of every throw; the entry then keeps its last value until something it read changes, so that one
   * bug's reach is one entry. Absent: the flush throws.
   */
  readonly onError?: (collection: string, key: string, error: unknown) => void
}

export interface CollectionOptions<V> {
  /** Equal values stop the wave. Default: deep structural equality. */
  readonly equal?: (a: V, b: V) => boolean
}

/**
 * A graph of collections. A collection may read only collections made before it, so the order of making
 * is a topological order and the graph has no cycles by construction.
 */
export interface Engine {
  source<V>(name: string, options?: CollectionOptions<V>): Source<V>
  /** One value per key of `from`; `undefined` = no entry. `fn` is pure: it reads only its arguments. */
  derive<I, O>(
    name: string,
    from: Collection<I>,
    fn: (value: I, context: Context, key: string) => O | undefined,
    options?: CollectionOptions<O>,
  ): Collection<O>
  /** Any number of entries per key of `from`. Two parents may not give one key: that throws (a bug). */
  expand<I, O>(
    name: string,
    from: Collection<I>,
    fn: (value: I, context: Context, key: string) => Iterable<readonly [key: string, value: O]>,
    options?: CollectionOptions<O>,
  ): Collection<O>
  index<V>(name: string, from: Collection<V>, fn: (value: V, key: string) => Iterable<string>): Index<V>
  /** One value per index value that has members; `members` are in key order. */
  group<V, O>(
    name: string,
    index: Index<V>,
    fn: (value: string, members: readonly V[], context: Context) => O | undefined,
    options?: CollectionOptions<O>,
  ): Collection<O>
  /** The entries of all parts; of equal keys, the earliest part's. */
  union<V>(name: string, parts: readonly Collection<V>[]): Collection<V>
  /** The keys of each index value's members, in byte order; moves only when membership does. */
  roster<V>(name: string, index: Index<V>): Collection<readonly string[]>
  /** Called once per flush that changed `of`, after the whole graph has settled. Returns its undo. */
  watch<V>(of: Collection<V>, listener: (changes: readonly Change<V>[]) => void): () => void
  /**
   * Marks every derived entry for recomputation: the next flush changes nothing, unless the upkeep went wrong somewhere,
   * and then it mends that.
   */
  doubt(): void
  /** Brings the whole graph up to date at once. */
  flush(): void
  /**
   * The same in slices of at most `sliceMs` (default 5), giving the event loop back between them. Sources may be
   * set meanwhile: those changes belong to the next flush. Readers outside see the graph only between flushes.
   */
  flushSliced(options?: { sliceMs?: number; now?: () => number }): Promise<void>
  /** True while a sliced flush is under way: what collections say is then between two states. */
  readonly flushing: boolean
}
