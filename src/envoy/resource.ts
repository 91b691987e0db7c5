import { versionOf } from './hash.js'
import type { Cluster, ClusterLoadAssignment, Listener, Secret } from './types.gen.js'
import { typeUrls, type Resource } from './types.js'
import { encode } from './wire.js'

/** The messages that are encoded whole, by their short names. */
export interface Messages {
  readonly cluster: Cluster
  readonly endpoint: ClusterLoadAssignment
  readonly listener: Listener
  readonly secret: Secret
}

/** Encodes a message and gives it its version. */
export function resourceOf<T extends keyof Messages>(type: T, name: string, message: Messages[T]): Resource {
  const bytes = encode(typeUrls[type], message)
  return { type, name, version: versionOf(bytes), bytes }
}
