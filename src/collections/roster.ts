/** Up to so many keys an ordered list serves as the set, too: nearly all rosters have one key. */
const few = 8

/**
 * A set of keys that can be read in byte order. Loading many keys costs one sort at the first read; a later
 * change costs a binary search and a move of memory, so that one of 10,000 members is added in microseconds.
 */
export class Roster {
  /** Absent while the keys are few. */
  #members: Set<string> | undefined
  #sorted: readonly string[] | undefined = []
  /** Changes since the order was last asked for. */
  #unread = 0

  get size(): number {
    return this.#members?.size ?? this.keys().length
  }

  /** The keys in byte order. The array is never changed afterwards: a change makes a new one. */
  keys(): readonly string[] {
    this.#unread = 0
    return (this.#sorted ??= [...(this.#members ?? [])].sort(byteOrder))
  }

  add(key: string): void {
    if (this.#has(key)) return
    this.#members?.add(key)
    this.#splice(key, 0, key)
    if (!this.#members && this.size > few) this.#members = new Set(this.#sorted)
  }

  delete(key: string): void {
    if (!this.#has(key)) return
    this.#members?.delete(key)
    this.#splice(key, 1)
  }

  #has(key: string): boolean {
    return this.#members?.has(key) ?? this.keys().includes(key)
  }

  /** Keeps the order by copying while changes are few between reads, and else leaves it to the next read. */
  #splice(key: string, removed: number, ...added: string[]): void {
    if (!this.#sorted) return
    this.#unread++
    this.#sorted =
      this.#members && this.#unread > few
        ? undefined
        : this.#sorted.toSpliced(lowerBound(this.#sorted, key), removed, ...added)
  }
}

export function byteOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] as string) < key) low = middle + 1
    else high = middle
  }
  return low
}
