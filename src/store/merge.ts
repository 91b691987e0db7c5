import type { Locator } from '../core/index.js'
import type { Update } from './types.js'

/**
 * Updates that wait for a slow subscriber: at most two for each object, a delete and the create of its successor.
 * Memory is bounded by the number of distinct objects, and nothing is lost.
 */
export class PendingUpdates {
  readonly #byObject = new Map<Locator, readonly Update[]>()

  get isEmpty(): boolean {
    return this.#byObject.size === 0
  }

  add(update: Update): void {
    const waiting = this.#byObject.get(update.locator) ?? []
    const merged = [...waiting.slice(0, -1), ...merge(waiting.at(-1), update)]
    if (merged.length === 0) this.#byObject.delete(update.locator)
    else this.#byObject.set(update.locator, merged)
  }

  /** Hands all of them out and forgets them. */
  take(): readonly Update[] {
    const updates = [...this.#byObject.values()].flat()
    this.#byObject.clear()
    return updates
  }
}

/** What two updates of one object in a row come to. */
export function merge(first: Update | undefined, second: Update): readonly Update[] {
  if (first === undefined) return [second]
  const { locator } = second
  if (second.type === 'create') {
    if (first.type !== 'delete' || isAnother(first.oldObject.metadata.uid, second.newObject.metadata.uid)) {
      return [first, second]
    }
    return [{ type: 'update', locator, oldObject: first.oldObject, newObject: second.newObject }]
  }
  if (first.type === 'create') {
    return second.type === 'delete' ? [] : [{ type: 'create', locator, newObject: second.newObject }]
  }
  return [{ ...second, oldObject: first.oldObject }]
}

/** True when both uids are known and differ: the name was given to another object. */
export function isAnother(uid: string | undefined, other: string | undefined): boolean {
  return uid !== undefined && other !== undefined && uid !== other
}
