import type { Clock, KindId, Locator, Log, Metrics } from '../../core/index.js'
import type { KubeClient } from '../../kube/index.js'
import type { Store } from '../../store/index.js'
import type { Hint } from '../hint.js'
import type { ListReport } from './list.js'

/** Which Secrets and ConfigMaps are referenced now: an output of the model. All other objects of these kinds stay outside. */
export interface Wanted {
  has(key: Locator): boolean
  keys(): Iterable<Locator>
  /** Told when keys came or went. Returns its undo. */
  subscribe(
    listener: (change: { readonly came: readonly Locator[]; readonly went: readonly Locator[] }) => void,
  ): () => void
}

export interface ClusterOptions {
  readonly client: KubeClient
  readonly store: Store
  readonly kinds: readonly KindId[]
  readonly wanted: Wanted
  /** ms between full lists, ± 10 %. */
  readonly periodMs: number
  /** ms until the first. Default 0. */
  readonly firstMs?: number
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
}

/** The state of a cluster, taken into a store by full lists and hints. It holds no watch. */
export interface Cluster {
  /**
   * True once every kind has been listed (or found absent) and every wanted object read (or found missing). It falls
   * while what was listed first is still being heard by the store's listeners, for from it follows what is wanted; after
   * that never.
   */
  complete(): boolean
  /** What `complete` waits for, a sentence each. */
  waitingFor(): readonly string[]
  /** Kinds whose last list failed: they stay as they were. */
  degraded(): readonly { readonly source: string; readonly message: string }[]
  /** Lists everything (or some kinds) now and takes what came in one transaction. Calls during a list share the next one. */
  reconcile(kinds?: readonly KindId[]): Promise<ListReport>
  /** Reads back what a hint is about. Never throws; a lost hint is repaired by the next full list. */
  hint(hint: Hint): void
  /** Told after every list, with its report, and after a referenced object was read or could not be. Returns its undo. */
  subscribe(listener: (report?: ListReport) => void): () => void
  close(): void
}
