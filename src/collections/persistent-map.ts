/**
 * A persistent map: a hash array mapped trie with 32-way branches (Bagwell, 2001). A change copies the path to
 * one leaf and shares the rest, so that an old version stays whole and two versions are compared in O(changes).
 *
 * The shape depends on the content alone: a branch that holds a single leaf is always replaced by it.
 */
interface Leaf<V> {
  readonly kind: 'leaf'
  readonly hash: number
  readonly key: string
  readonly value: V
}

/** Two or more leaves whose keys have one hash. */
interface Bucket<V> {
  readonly kind: 'bucket'
  readonly hash: number
  readonly leaves: readonly Leaf<V>[]
}

interface Branch<V> {
  readonly kind: 'branch'
  /** The draft that may change this branch in place; any other copies it. */
  readonly owner: object | undefined
  bitmap: number
  readonly slots: Node<V>[]
}

type Node<V> = Leaf<V> | Bucket<V> | Branch<V>

/** How a string becomes 32 bits. */
export type KeyHash = (key: string) => number

const BITS = 5
const MASK = 31

/** FNV-1a over UTF-16 units; the last mix spreads the high bits to where the first branches look. */
const fnv1a: KeyHash = key => {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return hash ^ (hash >>> 15)
}

function ones(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x55555555)
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333)
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

const bitOf = (hash: number, shift: number) => 1 << ((hash >>> shift) & MASK)
const slotAt = (bitmap: number, bit: number) => ones(bitmap & (bit - 1))

function find<V>(from: Node<V> | undefined, shift: number, hash: number, key: string): Leaf<V> | undefined {
  let node = from
  for (let at = shift; node?.kind === 'branch'; at += BITS) {
    const bit = bitOf(hash, at)
    node = node.bitmap & bit ? node.slots[slotAt(node.bitmap, bit)] : undefined
  }
  if (node === undefined || node.hash !== hash) return undefined
  if (node.kind === 'bucket') return node.leaves.find(leaf => leaf.key === key)
  return node.key === key ? node : undefined
}

/** `branch` itself when the draft owns it, or a copy that it owns. */
function editable<V>(branch: Branch<V>, owner: object | undefined): Branch<V> {
  if (owner !== undefined && branch.owner === owner) return branch
  return { kind: 'branch', owner, bitmap: branch.bitmap, slots: branch.slots.slice() }
}

function put<V>(node: Node<V> | undefined, shift: number, leaf: Leaf<V>, owner: object | undefined): Node<V> {
  if (node === undefined) return leaf
  if (node.kind !== 'branch') {
    return node.hash === leaf.hash ? gathered(node, leaf) : joined(node, leaf, shift, owner)
  }
  const bit = bitOf(leaf.hash, shift)
  const at = slotAt(node.bitmap, bit)
  const branch = editable(node, owner)
  if (branch.bitmap & bit) branch.slots[at] = put(branch.slots[at], shift + BITS, leaf, owner)
  else {
    branch.slots.splice(at, 0, leaf)
    branch.bitmap |= bit
  }
  return branch
}

/** `leaf` in the place of the one with its key, or beside those that share its hash. */
function gathered<V>(node: Leaf<V> | Bucket<V>, leaf: Leaf<V>): Node<V> {
  const others = leavesOf(node).filter(other => other.key !== leaf.key)
  if (others.length === 0) return leaf
  const leaves = [...others, leaf].sort((a, b) => (a.key < b.key ? -1 : 1))
  return { kind: 'bucket', hash: leaf.hash, leaves }
}

/** A branch over two nodes of different hashes. */
function joined<V>(a: Leaf<V> | Bucket<V>, b: Leaf<V>, shift: number, owner: object | undefined): Branch<V> {
  const [bitA, bitB] = [bitOf(a.hash, shift), bitOf(b.hash, shift)]
  if (bitA === bitB) {
    return { kind: 'branch', owner, bitmap: bitA, slots: [joined(a, b, shift + BITS, owner)] }
  }
  const aFirst = bitA >>> 0 < bitB >>> 0
  return { kind: 'branch', owner, bitmap: bitA | bitB, slots: aFirst ? [a, b] : [b, a] }
}

/** `node` without `leaf`, which it holds; `undefined` when nothing is left. */
function take<V>(
  node: Node<V>,
  shift: number,
  leaf: Leaf<V>,
  owner: object | undefined,
): Node<V> | undefined {
  if (node.kind === 'leaf') return undefined
  if (node.kind === 'bucket') {
    const leaves = node.leaves.filter(other => other !== leaf)
    return leaves.length === 1 ? leaves[0] : { ...node, leaves }
  }
  const bit = bitOf(leaf.hash, shift)
  const at = slotAt(node.bitmap, bit)
  const child = take(node.slots[at] as Node<V>, shift + BITS, leaf, owner)
  const branch = editable(node, owner)
  if (child !== undefined) branch.slots[at] = child
  else {
    branch.slots.splice(at, 1)
    branch.bitmap &= ~bit
  }
  const [only, second] = branch.slots
  return second === undefined && only?.kind !== 'branch' ? only : branch
}

function leavesOf<V>(node: Leaf<V> | Bucket<V>): readonly Leaf<V>[] {
  return node.kind === 'leaf' ? [node] : node.leaves
}

function* leavesUnder<V>(node: Node<V> | undefined): Generator<Leaf<V>> {
  if (node === undefined) return
  if (node.kind !== 'branch') yield* leavesOf(node)
  else for (const slot of node.slots) yield* leavesUnder(slot)
}

/** One key of two versions of a map; `undefined` = absent. */
export interface Difference<V> {
  readonly key: string
  readonly old: V | undefined
  readonly new: V | undefined
}

/**
 * What differs between two versions of a map, by identity of values, in no useful order. Parts that both share
 * are skipped: it costs O(changes) where one version was made from the other.
 */
export function diff<V>(older: PersistentMap<V>, newer: PersistentMap<V>): Iterable<Difference<V>> {
  return { [Symbol.iterator]: () => differences(older.root, newer.root, 0) }
}

function* differences<V>(
  a: Node<V> | undefined,
  b: Node<V> | undefined,
  shift: number,
): Generator<Difference<V>> {
  if (a === b) return
  if (a?.kind !== 'branch' || b?.kind !== 'branch') yield* leafDifferences(a, b, shift)
  else {
    for (let bits = a.bitmap | b.bitmap; bits !== 0; bits &= bits - 1) {
      const bit = bits & -bits
      yield* differences(childAt(a, bit), childAt(b, bit), shift + BITS)
    }
  }
}

/** Where one of the two is a leaf, a bucket or absent, at most its few leaves can be shared. */
function* leafDifferences<V>(
  a: Node<V> | undefined,
  b: Node<V> | undefined,
  shift: number,
): Generator<Difference<V>> {
  for (const { hash, key, value } of leavesUnder(a)) {
    const other = find(b, shift, hash, key)
    if (other === undefined || other.value !== value) yield { key, old: value, new: other?.value }
  }
  for (const { hash, key, value } of leavesUnder(b)) {
    if (find(a, shift, hash, key) === undefined) yield { key, old: undefined, new: value }
  }
}

function childAt<V>(branch: Branch<V>, bit: number): Node<V> | undefined {
  return branch.bitmap & bit ? branch.slots[slotAt(branch.bitmap, bit)] : undefined
}

/** A map being changed in place, from {@link PersistentMap.draft} to {@link MapDraft.close}. */
export class MapDraft<V> {
  readonly #base: PersistentMap<V>
  readonly #hash: KeyHash
  #root: Node<V> | undefined
  #size: number
  #owner: object | undefined = {}

  constructor(base: PersistentMap<V>) {
    this.#base = base
    this.#hash = base.hash
    this.#root = base.root
    this.#size = base.size
  }

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    return find(this.#root, 0, this.#hash(key), key)?.value
  }

  set(key: string, value: V): void {
    const owner = this.#open()
    const hash = this.#hash(key)
    const held = find(this.#root, 0, hash, key)
    if (held !== undefined && held.value === value) return
    this.#root = put(this.#root, 0, { kind: 'leaf', hash, key, value }, owner)
    if (held === undefined) this.#size++
  }

  delete(key: string): void {
    const owner = this.#open()
    const held = find(this.#root, 0, this.#hash(key), key)
    if (this.#root === undefined || held === undefined) return
    this.#root = take(this.#root, 0, held, owner)
    this.#size--
  }

  /** As they are now: what changes later is not seen. */
  entries(): readonly (readonly [string, V])[] {
    return [...leavesUnder(this.#root)].map(({ key, value }) => [key, value] as const)
  }

  /** The map as it has become: the very map that the draft began with when nothing changed. */
  close(): PersistentMap<V> {
    this.#owner = undefined
    if (this.#root === this.#base.root) return this.#base
    return new PersistentMap(this.#root, this.#size, this.#hash)
  }

  #open(): object {
    if (this.#owner === undefined) throw new Error('the draft is closed')
    return this.#owner
  }
}

/** An immutable map with string keys. `undefined` is no value: it means absent. */
export class PersistentMap<V> {
  readonly root: Node<V> | undefined
  readonly size: number
  readonly hash: KeyHash

  /** Made by {@link PersistentMap.empty}, {@link PersistentMap.from} and changes. */
  constructor(root: Node<V> | undefined, size: number, hash: KeyHash) {
    this.root = root
    this.size = size
    this.hash = hash
  }

  /** Maps that are to be compared need one and the same `hash`; giving one is of use to tests only. */
  static empty<V>(hash: KeyHash = fnv1a): PersistentMap<V> {
    return new PersistentMap<V>(undefined, 0, hash)
  }

  static from<V>(entries: Iterable<readonly [string, V]>): PersistentMap<V> {
    return PersistentMap.empty<V>().edit(draft => {
      for (const [key, value] of entries) draft.set(key, value)
    })
  }

  get(key: string): V | undefined {
    return find(this.root, 0, this.hash(key), key)?.value
  }

  has(key: string): boolean {
    return find(this.root, 0, this.hash(key), key) !== undefined
  }

  /** The map with `key` → `value`; this very map when it holds that already. */
  set(key: string, value: V): PersistentMap<V> {
    return this.edit(draft => draft.set(key, value))
  }

  /** The map without `key`; this very map when it has none. */
  delete(key: string): PersistentMap<V> {
    return this.edit(draft => draft.delete(key))
  }

  /** For any number of changes at once: copies each branch at most once. */
  draft(): MapDraft<V> {
    return new MapDraft(this)
  }

  edit(change: (draft: MapDraft<V>) => void): PersistentMap<V> {
    const draft = this.draft()
    change(draft)
    return draft.close()
  }

  /** In no useful order, but in the same one for the same content. */
  *entries(): IterableIterator<[string, V]> {
    for (const { key, value } of leavesUnder(this.root)) yield [key, value]
  }

  *keys(): IterableIterator<string> {
    for (const { key } of leavesUnder(this.root)) yield key
  }

  *values(): IterableIterator<V> {
    for (const { value } of leavesUnder(this.root)) yield value
  }

  [Symbol.iterator](): IterableIterator<[string, V]> {
    return this.entries()
  }
}
