import type { Locator } from '../core/index.js'
import type { Resource, ResourceType } from '../envoy/index.js'

/** What changed for the proxies of one Gateway. */
export interface Publication {
  readonly gateway: Locator
  readonly changes: readonly {
    readonly type: ResourceType
    readonly name: string
    readonly resource: Resource | undefined
  }[]
}

/** One proxy's view of one resource type. */
export interface TypeState {
  readonly protocol: 'sotw' | 'delta'
  /** `*` stands for the wildcard. */
  readonly subscribed: number | '*'
  readonly sentNonce: string
  readonly state: 'synced' | 'waiting' | 'refused' | 'idle'
  /** The proxy's own words for its last refusal, secrets removed. */
  readonly refusal?: { readonly message: string; readonly at: number; readonly resources: readonly string[] }
}

/** One connected proxy. */
export interface ClientState {
  /** Counts streams of this process. */
  readonly id: number
  readonly node: string
  readonly gateway: Locator
  readonly address: string
  readonly connectedAt: number
  readonly types: Readonly<Partial<Record<ResourceType, TypeState>>>
}

/** Says when a cluster that must warm can take requests; rejects or never settles when nobody knows. */
export type Warmth = (gateway: Locator, cluster: string) => Promise<void>

export interface XdsServer {
  /**
   * Replaces or removes resources. The first call is the first complete state: before it no proxy is answered.
   * A Gateway that nobody published is never answered either.
   */
  publish(publications: readonly Publication[]): void
  /** Forgets a Gateway and ends its streams. */
  forget(gateway: Locator): void
  clients(): readonly ClientState[]
  /** Published resources, in order of type and name. */
  resources(gateway: Locator): readonly Resource[]
  gateways(): readonly Locator[]
  /** Called after a proxy came, went, acknowledged or refused. Returns its undo. */
  subscribe(listener: (gateway: Locator) => void): () => void
  /** Binds `host:port` (port 0 = any free one) and answers the address bound. */
  listen(address: string): Promise<string>
  close(): Promise<void>
}
