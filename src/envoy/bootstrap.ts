import { adsAwaited, socketAddress } from './config-source.js'
import type {
  Address,
  ApiConfigSource,
  Bootstrap,
  Cluster,
  LayeredRuntime,
  OverloadManager,
  StatsConfig,
} from './types.gen.js'

export interface BootstrapOptions {
  /** Envoy's `node`: `cluster` says which Gateway the proxy belongs to. */
  readonly node: { readonly id: string; readonly cluster: string }
  /** `host:port` of the control plane. */
  readonly xdsAddress: string
  /** `host:port` of the admin page: loopback, since it asks nobody who they are. */
  readonly adminAddress: string
  /** Default `delta`. */
  readonly protocol?: 'delta' | 'sotw'
  /** `ip:port` of the DNS server to ask; default: the machine's. */
  readonly dns?: string
}

const XDS_CLUSTER = 'gatewright'

/**
 * What a proxy of ours starts with, in Envoy's JSON (envoy.config.bootstrap.v3.Bootstrap): all else comes over one ADS
 * stream. Until the control plane has said what it serves, the proxy is not live.
 */
export function bootstrap(options: BootstrapOptions): Bootstrap {
  const { node, xdsAddress, adminAddress, protocol = 'delta', dns } = options
  return {
    ...common,
    node: { id: node.id, cluster: node.cluster },
    admin: { address: parseAddress(adminAddress) },
    dynamic_resources: { ads_config: adsConfig(protocol), lds_config: adsAwaited, cds_config: adsAwaited },
    static_resources: { clusters: [xdsCluster(xdsAddress)] },
    ...(dns !== undefined && { typed_dns_resolver_config: resolver(dns) }),
  }
}

function resolver(address: string): NonNullable<Bootstrap['typed_dns_resolver_config']> {
  const type = 'envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig'
  return {
    name: 'envoy.network.dns_resolver.cares',
    typed_config: { '@type': `type.googleapis.com/${type}`, resolvers: [parseAddress(address)] },
  }
}

function adsConfig(protocol: 'delta' | 'sotw'): ApiConfigSource {
  return {
    api_type: protocol === 'delta' ? 'DELTA_GRPC' : 'GRPC',
    transport_api_version: 'V3',
    set_node_on_first_message_only: true,
    grpc_services: [
      {
        envoy_grpc: {
          cluster_name: XDS_CLUSTER,
          retry_policy: { retry_back_off: { base_interval: '0.1s', max_interval: '2s' } },
        },
      },
    ],
  }
}

function xdsCluster(address: string): Cluster {
  const options = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'
  const endpoint = { endpoint: { address: parseAddress(address) } }
  return {
    name: XDS_CLUSTER,
    type: isAddress(hostOf(address)) ? 'STATIC' : 'STRICT_DNS',
    connect_timeout: '1s',
    load_assignment: { cluster_name: XDS_CLUSTER, endpoints: [{ lb_endpoints: [endpoint] }] },
    typed_extension_protocol_options: {
      [options]: {
        '@type': `type.googleapis.com/${options}`,
        explicit_http_config: {
          http2_protocol_options: { connection_keepalive: { interval: '30s', timeout: '5s' } },
        },
      },
    },
  }
}

const clusterStats = [
  'upstream_rq_([2-5]xx|active|timeout|retry)',
  'upstream_cx_(active|connect_fail)',
  'membership_healthy',
]

/**
 * Ten series a cluster at most, some sets a port, and what says how the proxy itself is. Times are kept by port: a
 * histogram is twenty series. Cluster names have no dots here (`alt_stat_name`).
 */
const stats: StatsConfig = {
  stats_matcher: {
    inclusion_list: {
      patterns: [
        { prefix: 'control_plane.' },
        { prefix: 'cluster_manager.' },
        { prefix: 'listener_manager.' },
        { prefix: 'server.' },
        { prefix: 'http.' },
        {
          safe_regex: {
            regex: 'listener\\..*\\.(downstream_cx_(total|active)|ssl\\.(connection_error|handshake))',
          },
        },
        { safe_regex: { regex: `cluster\\.[^.]+\\.(${clusterStats.join('|')})` } },
      ],
    },
  },
}

/** Envoy refuses regular expressions of more than 100 instructions by default; RE2 takes linear time for any. */
const layers: LayeredRuntime = {
  layers: [
    {
      name: 'static',
      static_layer: {
        're2.max_program_size.error_level': 1_000_000,
        're2.max_program_size.warn_level': 10_000,
      },
    },
  ],
}

const overload: OverloadManager = {
  resource_monitors: [
    {
      name: 'envoy.resource_monitors.global_downstream_max_connections',
      typed_config: {
        '@type':
          'type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig',
        max_active_downstream_connections: 50_000,
      },
    },
  ],
}

/** What every proxy has, whomever it asks. */
export const common: Bootstrap = {
  stats_config: stats,
  deferred_stat_options: { enable_deferred_creation_stats: true },
  layered_runtime: layers,
  overload_manager: overload,
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1')
}

function isAddress(host: string): boolean {
  return /^\d+\.\d+\.\d+\.\d+$/.test(host) || host.includes(':')
}

/** `127.0.0.1:9901`, `[::1]:9901` or `name:9901`. Throws on anything else. */
function parseAddress(address: string): Address {
  const port = Number(address.slice(address.lastIndexOf(':') + 1))
  const host = hostOf(address)
  if (host === '' || !/:\d+$/.test(address) || port > 65_535) throw new Error(`not host:port: ${address}`)
  return socketAddress(host, port)
}
