import type { KindId, KubeObject, Locator } from '../core/index.js'

/** A fact about one object. `version` is a resourceVersion; files have none and are taken as they come. */
export type StoreEvent =
  | { readonly type: 'upsert'; readonly object: KubeObject; readonly version?: string }
  | { readonly type: 'delete'; readonly locator: Locator; readonly uid?: string; readonly version?: string }
  /** No fact: nobody asks for the object any more. It leaves no tombstone, so that the same version may come back. */
  | { readonly type: 'forget'; readonly locator: Locator }

/** A whole kind as listed at `version` (all pages carry one); the items' own versions are in their metadata. */
export interface KindList {
  readonly kind: KindId
  readonly items: readonly KubeObject[]
  readonly version?: string
  /**
   * Only held objects of which this is true are missing when they are not among the items: the list covers a
   * part of the kind. Such a list says nothing about the kind as a whole: it raises no floor and resets nothing.
   */
  readonly within?: (held: KubeObject) => boolean
  /** The list covers this one object, by its name: where it does not show it, it is not there at `version`. */
  readonly only?: Locator
  /** Objects that are there although they are not among the items: what is held of them stays as it is. */
  readonly spares?: (key: Locator) => boolean
  /**
   * {@link Store.newest} of the kind when the list was begun. No server that was asked after that answers with an
   * older list, unless its database was restored. Default: the version of the newest list.
   */
  readonly since?: string | undefined
  /** It came by a way on which lists overtake each other: one older than another is late, and no reset. */
  readonly mayBeLate?: boolean
  /** The kind is not known any more where it was listed: all that came with a version is gone, at the newest version known. */
  readonly isAbsent?: boolean
}

/** What one transaction did. */
export interface Applied {
  readonly accepted: number
  /** Older than what is held, or than its tombstone. */
  readonly stale: number
  /** The version that is held already. */
  readonly duplicate: number
  /** Unknown keys at or below their kind's floor: read them back before believing them. */
  readonly hints: readonly Locator[]
  /** Kinds whose list was older than the newest one seen: adopted whole (etcd was restored). */
  readonly resets: readonly KindId[]
  /** Kinds of which a list that may be late was older than what is known: late, or the first word of a restored etcd. */
  readonly late: readonly KindId[]
  /** `accepted`, for each kind that has any. */
  readonly byKind: Readonly<Record<KindId, number>>
}

export type Update =
  | { readonly type: 'create'; readonly locator: Locator; readonly newObject: KubeObject }
  | {
      readonly type: 'update'
      readonly locator: Locator
      readonly oldObject: KubeObject
      readonly newObject: KubeObject
    }
  | { readonly type: 'delete'; readonly locator: Locator; readonly oldObject: KubeObject }

/** The whole state at one moment; persistent: hold it as long as you like. */
export interface Snapshot {
  /** Counts transactions that changed something. */
  readonly revision: number
  readonly size: number
  get(locator: Locator): KubeObject | undefined
  /** The objects of a kind, in locator order. */
  list(kind: KindId): readonly KubeObject[]
  count(kind: KindId): number
  kinds(): readonly KindId[]
}

export interface Notice {
  readonly snapshot: Snapshot
  /** From the snapshot this subscriber saw last to this one, ordered per object. */
  readonly updates: readonly Update[]
}

export interface Store {
  apply(events: readonly StoreEvent[]): Applied
  replace(list: KindList): Applied
  /** All lists in one transaction. */
  replaceAll(lists: readonly KindList[]): Applied
  /**
   * The same without holding the event loop: a few hundred objects at a time, awaiting `pause` between. Subscribers
   * are told once, at the end, of this and of whatever else was taken meanwhile; `snapshot` shows what has been taken.
   */
  replaceInSlices(lists: readonly KindList[], pause: () => Promise<void>): Promise<Applied>
  /** The newest version that any fact of the kind came with, since the kind was last reset. */
  newest(kind: KindId): string | undefined
  snapshot(): Snapshot
  /** Whether every listener has been told of all that the store holds, and is done with it. */
  isHeard(): boolean
  /**
   * The first notice holds everything as creates. A listener that returns a promise is given the next notice,
   * with all updates merged since, when the promise settles. Returns its undo.
   */
  subscribe(listener: (notice: Notice) => void | Promise<void>): () => void
}
