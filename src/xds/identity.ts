import type { Locator } from '../core/index.js'
import type { Node } from './wire.js'

/** Who opened a stream. */
export interface Caller {
  /** gRPC metadata, names in lower case; binary values are left out. */
  readonly headers: Readonly<Record<string, string>>
  /** `address:port` of the peer. */
  readonly address: string
  /** What the proxy says of itself: it selects, it proves nothing. */
  readonly node: Node
}

/** Why a stream is ended at once. */
export interface Refused {
  readonly refused: string
}

/** Decides which Gateway's resources a caller is given. */
export type Identify = (caller: Caller) => Locator | Refused | Promise<Locator | Refused>

/** For sockets bound to loopback: `node.cluster` is the Gateway's locator, and nobody is asked for a proof. */
export const byNodeCluster: Identify = ({ node }) =>
  node.cluster === ''
    ? { refused: 'node.cluster is empty: give it the locator of a Gateway (envoy --service-cluster)' }
    : node.cluster
