import type { ClusterAccess } from './cli/index.js'
import type { Closing } from './closing.js'
import { credentialsOf } from './credentials.js'
import type { Clock, KindId, KubeObject, Locator, Log, Metrics } from './core/index.js'
import { connect, connectLater, type KubeClient } from './kube/index.js'
import {
  createCluster,
  createForwarder,
  listNamed,
  type Cluster,
  type Hint,
  type Wanted,
} from './sources/index.js'
import type { Store } from './store/index.js'

export interface ClusterParts {
  readonly access: ClusterAccess
  /** What is read. */
  readonly kinds: readonly KindId[]
  readonly wanted: Wanted
  /** ms until the API server is asked for the first time; default: at once. */
  readonly firstMs?: number
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** A cluster that is followed, and the ways to ask it and to tell the other replicas. */
export interface OpenCluster {
  readonly client: KubeClient
  readonly cluster: Cluster
  /** Reads one object as it is now. */
  read(key: Locator, signal: AbortSignal): Promise<KubeObject | undefined>
  /** Tells every serving replica that an object may have changed. */
  tell(hint: Hint): void
}

/** Connects to the API server of `access` and follows it. Throws NO_CLUSTER where none is configured. */
export async function openCluster(parts: ClusterParts, closing: Closing): Promise<OpenCluster> {
  const { access, kinds, wanted, store, firstMs = 0, ...shell } = parts
  const { api, periodMs, peers, peerCredentials } = access
  const options = { ...shell, ...api }
  const client = firstMs === 0 ? await connect(options) : connectLater(options)
  closing.add(() => client.close())
  const cluster = createCluster({ client, store, kinds, wanted, periodMs, firstMs, ...shell })
  closing.add(() => cluster.close())
  const forwarder = createForwarder({ peers, credentials: credentialsOf(client, peerCredentials), ...shell })
  closing.add(() => forwarder.close())
  return {
    client,
    cluster,
    tell: hint => forwarder.send(hint),
    async read(key, signal) {
      const found = await listNamed(client, key, signal)
      return found === 'absent' ? undefined : (found.items[0] as KubeObject | undefined)
    },
  }
}
