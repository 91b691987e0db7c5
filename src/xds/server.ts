import { Server, ServerCredentials } from '@grpc/grpc-js'
import { Fault, createMetrics, silentLog, systemClock } from '../core/index.js'
import type { Clock, Log, Metrics } from '../core/index.js'
import { bind, isLoopback } from './address.js'
import type { Identify } from './identity.js'
import { byNodeCluster } from './identity.js'
import type { Protocol } from './meters.js'
import { createMeters } from './meters.js'
import { Registry } from './registry.js'
import { services } from './services.js'
import type { Call } from './stream.js'
import { serveStream } from './stream.js'
import type { Warmth, XdsServer } from './types.js'

/** Everything has a default. Times in milliseconds, sizes in bytes. */
export interface XdsOptions {
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
  /** Default: nobody knows, so that clusters that warm are given {@link XdsOptions.warmMs}. */
  readonly warmth?: Warmth
  /** Default: {@link byNodeCluster}. */
  readonly identify?: Identify
  /** Takes secret values out of a proxy's words. */
  readonly redact?: (text: string) => string
  /** How long listeners and routes wait for clusters, endpoints and secrets. Default 5,000. */
  readonly warmMs?: number
  /** How long removed resources are kept after the proxy stopped naming them. Default 15,000. */
  readonly removalDelayMs?: number
  /** A Delta response is split above this. Default 4 MiB. */
  readonly maxResponseBytes?: number
  /** Streams are ended at this age ± 10 %, so that proxies spread over replicas. Default 0 = never. */
  readonly maxStreamAgeMs?: number
  /** In [0, 1). */
  readonly random?: () => number
  /** Serve everybody who can reach the address, unproven and unencrypted. Never in a cluster. */
  readonly exposed?: boolean
}

/** How long {@link XdsServer.close} lets connections end by themselves. */
const CLOSE_MS = 1000

const grpcOptions = {
  // Envoy reads messages of any size; 10,000 names and versions in one request come to some megabytes.
  'grpc.max_send_message_length': -1,
  'grpc.max_receive_message_length': 32 << 20,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 20_000,
}

const nobodyKnows: Warmth = () => Promise.reject(new Error('nobody can say when a cluster is warm'))

const defaults = {
  clock: systemClock,
  log: silentLog,
  warmth: nobodyKnows,
  identify: byNodeCluster,
  redact: (text: string) => text,
  warmMs: 5000,
  removalDelayMs: 15_000,
  maxResponseBytes: 4 << 20,
  maxStreamAgeMs: 0,
  random: Math.random,
  exposed: false,
}

/** An xDS server: ADS and the separate services, SotW and Delta. It answers nobody before the first publish. */
export function createXds(options: XdsOptions = {}): XdsServer {
  const chosen = { ...defaults, ...options }
  const { clock, warmMs, removalDelayMs: removalMs, exposed } = chosen
  const meters = createMeters(options.metrics ?? createMetrics())
  const limits = { warmMs, removalMs }
  const registry = new Registry({ ...chosen, meters, limits, maxBytes: chosen.maxResponseBytes })
  const server = new Server(grpcOptions)
  addServices(server, registry, { ...chosen, now: () => clock.now() })
  return {
    publish: publications => registry.publish(publications),
    forget: gateway => registry.forget(gateway),
    clients: () => registry.clients(),
    resources: gateway => registry.resources(gateway),
    gateways: () => registry.gateways(),
    subscribe: listener => registry.subscribe(listener),
    async listen(address) {
      if (!isLoopback(address) && !exposed && options.identify === undefined) {
        throw new Fault('CREDENTIALS_MISSING', `xDS does not listen on ${address}`)
      }
      return bind(server, address, ServerCredentials.createInsecure())
    },
    close: () => closed(server, registry),
  }
}

type Serving = Pick<typeof defaults, 'clock' | 'identify' | 'maxStreamAgeMs' | 'random'> & {
  now: () => number
}

function addServices(server: Server, registry: Registry, serving: Serving): void {
  const { clock, maxStreamAgeMs, random } = serving
  let streams = 0
  for (const { only, definition } of services) {
    const serve = (protocol: Protocol) => (call: Call) => {
      const end = serveStream(call, { ...serving, id: ++streams, protocol, only }, registry)
      if (maxStreamAgeMs === 0) return
      call.once('close', clock.after(maxStreamAgeMs * (0.9 + 0.2 * random()), end))
    }
    server.addService(definition, { sotw: serve('sotw'), delta: serve('delta') })
  }
}

function closed(server: Server, registry: Registry): Promise<void> {
  return new Promise(resolve => {
    const force = setTimeout(() => {
      server.forceShutdown()
      resolve()
    }, CLOSE_MS)
    server.tryShutdown(() => {
      clearTimeout(force)
      resolve()
    })
    registry.end()
  })
}
