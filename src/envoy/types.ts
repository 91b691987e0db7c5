import type { Locator } from '../core/index.js'

/** The xDS resource types Gatewright serves, by their short names. */
export const typeUrls = {
  cluster: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  endpoint: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
  listener: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  route: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
  secret: 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret',
} as const

export type ResourceType = keyof typeof typeUrls

/** One Envoy resource, encoded once. Two resources of equal bytes have equal versions, on every replica. */
export interface Resource {
  readonly type: ResourceType
  readonly name: string
  /** Hash of the content, 16 hexadecimal digits. */
  readonly version: string
  /** The message itself, without Any around it. */
  readonly bytes: Uint8Array
  /** A cluster's EDS service name: who must be answered again when the cluster changes (it warms anew). */
  readonly edsName?: string
  /** A cluster that is usable only some time after its ACK: it resolves names (or, later, checks health). */
  readonly warms?: boolean
  /** How long a proxy keeps it without hearing of it again, in milliseconds (xDS `Resource.ttl`). */
  readonly ttlMs?: number
}

/** A resource's place: which Gateway's proxies are given it. Keyed `<gateway>|<type>|<name>`. */
export interface Placed {
  readonly gateway: Locator
  readonly resource: Resource
}
