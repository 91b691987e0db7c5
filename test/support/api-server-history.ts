import type { KindId, KubeObject, Locator } from '../../src/core/index.js'
import { kindIdOf, locatorOf } from '../../src/core/index.js'

/** One write, as a watch tells of it. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly kind: KindId
  readonly key: Locator
  /** With its version; of a delete, the last state with the version of the delete. */
  readonly object: KubeObject
  readonly version: number
}

/** All that there was at one moment. */
export interface Moment {
  readonly changes: readonly Change[]
  readonly version: number
}

/** What etcd holds: every write in its order. */
export class History {
  #changes: Change[] = []
  #version = 100
  #compacted = 0
  #uids = 0

  get version(): string {
    return String(this.#version)
  }

  put(object: KubeObject): Change {
    const key = locatorOf(object)
    const before = this.#current(key)
    const version = ++this.#version
    const { uid, creationTimestamp, generation = 0 } = (before?.metadata ?? {}) as Record<string, unknown>
    const metadata = {
      ...object.metadata,
      uid: (uid as string | undefined) ?? `uid-${++this.#uids}`,
      creationTimestamp: (creationTimestamp as string | undefined) ?? new Date(version * 1000).toISOString(),
      generation: (generation as number) + 1,
      resourceVersion: String(version),
    }
    return this.#write(before ? 'MODIFIED' : 'ADDED', { ...object, metadata })
  }

  remove(key: Locator): Change | undefined {
    const before = this.#current(key)
    if (before === undefined) return undefined
    const metadata = { ...before.metadata, resourceVersion: String(++this.#version) }
    return this.#write('DELETED', { ...before, metadata })
  }

  list(kind: KindId): readonly KubeObject[] {
    return this.listAt(kind, this.version) ?? []
  }

  /** In order of name; undefined where the version is compacted away. */
  listAt(kind: KindId, at: string): readonly KubeObject[] | undefined {
    if (Number(at) < this.#compacted) return undefined
    const found = new Map<Locator, KubeObject>()
    for (const change of this.#changes) {
      if (change.kind !== kind || change.version > Number(at)) continue
      if (change.type === 'DELETED') found.delete(change.key)
      else found.set(change.key, change.object)
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)
  }

  /** Changes after a version; undefined where it is compacted away. Of one that is still to come: none, as in the real one. */
  since(kind: KindId, version: string): readonly Change[] | undefined {
    const after = Number(version)
    if (after < this.#compacted) return undefined
    return this.#changes.filter(change => change.kind === kind && change.version > after)
  }

  compact(): void {
    this.#compacted = ++this.#version
  }

  moment(): Moment {
    return { changes: [...this.#changes], version: this.#version }
  }

  restore({ changes, version }: Moment): void {
    this.#changes = [...changes]
    this.#version = version
    this.#compacted = 0
  }

  #current(key: Locator): KubeObject | undefined {
    const last = this.#changes.findLast(change => change.key === key)
    return last === undefined || last.type === 'DELETED' ? undefined : last.object
  }

  #write(type: Change['type'], object: KubeObject): Change {
    const change = { type, kind: kindIdOf(object), key: locatorOf(object), object, version: this.#version }
    this.#changes.push(change)
    return change
  }
}
