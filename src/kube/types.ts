import type { Clock, KindId, Log, Metrics } from '../core/index.js'

/** One API server, asked as the identity of a kubeconfig or of the pod's ServiceAccount. */
export interface KubeClient {
  /** Its URL, for messages. */
  readonly server: string
  /** True where the identity is a pod's own: then no socket is exempt from authentication. */
  readonly inCluster: boolean
  /**
   * A whole kind, or the part of it that the options name: resourceVersion unset, every page at one version, items with
   * the apiVersion and kind that the API server leaves out of lists. `absent` when no served version of the kind is
   * installed: a 404 that the group's own document confirms, never a server that is only starting.
   * Rejects with a KubeError (403, 5xx, 410 in the middle of the pages) or a Fault (UNREACHABLE, time-out); what was
   * read until then is thrown away.
   */
  list(kind: KindId, options?: ListOptions): Promise<KubeList | 'absent'>
  /**
   * Changes after a version, until the server ends the watch (the iteration ends), the signal aborts (it ends) or it fails
   * (KubeError; code 410 = the version is too old: list again).
   */
  watch(kind: KindId, options: WatchOptions): AsyncIterable<WatchEvent>
  /** TokenReview (authentication.k8s.io/v1): who the bearer of a token is; undefined when the token is none. */
  reviewToken(token: string, audiences?: readonly string[]): Promise<Caller | undefined>
  /** SubjectAccessReview (authorization.k8s.io/v1): why the caller may not, or nothing. */
  whyNotAllowed(caller: Caller, access: Access): Promise<string | undefined>
  /** Ends what is under way and lets go of the connections. */
  close(): void
}

export interface ListOptions {
  readonly namespace?: string
  /** `metadata.name=…`: a list of at most one object, which has a version even when it is empty. */
  readonly name?: string
  readonly labelSelector?: string
  /** Only metadata (PartialObjectMetadataList); items carry the kind's own apiVersion and kind, and nothing but
   * metadata, without managedFields and kubectl's last-applied-configuration, which holds the whole object. */
  readonly metadataOnly?: boolean
  /** Objects for each page, fewer where they are large. Default 100 for the first page, then up to 500. */
  readonly pageSize?: number
  readonly signal?: AbortSignal
  /** ms for all pages together. Default 30,000. */
  readonly timeoutMs?: number
}

export interface KubeList {
  readonly items: readonly unknown[]
  /** metadata.resourceVersion of the list. */
  readonly version: string
}

export interface WatchOptions {
  readonly version: string
  readonly metadataOnly?: boolean
  readonly signal: AbortSignal
  /** ms after which the server is asked to end the watch. Default 300,000 ± 20 %. */
  readonly timeoutMs?: number
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: unknown; readonly version: string }
  | { readonly type: 'BOOKMARK'; readonly version: string }

export interface Caller {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** A non-resource URL and the verb (lower-case HTTP method) on it. */
export interface Access {
  readonly path: string
  readonly verb: string
}

export interface ConnectOptions {
  /** Path of a kubeconfig. Default: the pod's ServiceAccount in a pod, else KUBECONFIG, else ~/.kube/config. */
  readonly kubeconfig?: string
  readonly context?: string
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
}
