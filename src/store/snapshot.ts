import { PersistentMap } from '../collections/index.js'
import type { KindId, KubeObject, Locator } from '../core/index.js'
import type { Snapshot } from './types.js'

/** An object, and the version of the fact that told of it. */
export interface Held {
  readonly object: KubeObject
  /** Absent when it came without one, from a file. */
  readonly version: string | undefined
}

export type HeldObjects = PersistentMap<Held>

export const emptyKind: HeldObjects = PersistentMap.empty<Held>()

/** The objects of a kind in locator order; a kind that has not changed is sorted once for all snapshots. */
const sorted = new WeakMap<HeldObjects, readonly KubeObject[]>()

function inOrder(objects: HeldObjects): readonly KubeObject[] {
  const known = sorted.get(objects)
  if (known !== undefined) return known
  const list = [...objects.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, held]) => held.object)
  sorted.set(objects, list)
  return list
}

export class StoreSnapshot implements Snapshot {
  readonly revision: number
  readonly size: number
  readonly #kinds: ReadonlyMap<KindId, HeldObjects>

  constructor(revision: number, kinds: ReadonlyMap<KindId, HeldObjects>) {
    this.revision = revision
    this.#kinds = kinds
    this.size = [...kinds.values()].reduce((sum, objects) => sum + objects.size, 0)
  }

  get(locator: Locator): KubeObject | undefined {
    return this.held(kindOf(locator))?.get(locator)?.object
  }

  list(kind: KindId): readonly KubeObject[] {
    const objects = this.held(kind)
    return objects === undefined ? [] : inOrder(objects)
  }

  count(kind: KindId): number {
    return this.held(kind)?.size ?? 0
  }

  kinds(): readonly KindId[] {
    return [...this.#kinds]
      .filter(([, objects]) => objects.size > 0)
      .map(([kind]) => kind)
      .sort()
  }

  held(kind: KindId): HeldObjects | undefined {
    return this.#kinds.get(kind)
  }

  /** The next snapshot; this very one when no kind has changed. */
  with(changed: Iterable<readonly [KindId, HeldObjects]>): StoreSnapshot {
    const kinds = new Map(this.#kinds)
    let isSame = true
    for (const [kind, objects] of changed) {
      if (objects === this.held(kind)) continue
      kinds.set(kind, objects)
      isSame = false
    }
    return isSame ? this : new StoreSnapshot(this.revision + 1, kinds)
  }
}

/** The kind a locator begins with. */
export function kindOf(locator: Locator): KindId {
  return locator.slice(0, locator.indexOf(':'))
}
