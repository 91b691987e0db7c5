import type { Cluster as ModelCluster } from '../model/index.js'
import { ads, socketAddress } from './config-source.js'
import { statName } from './names.js'
import { resourceOf } from './resource.js'
import type { AnyTypes, CircuitBreakers, Cluster, ClusterLoadAssignment } from './types.gen.js'
import type { Resource } from './types.js'

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'

type HttpOptions = AnyTypes[`type.googleapis.com/${typeof HTTP_OPTIONS}`]

/** Envoy's own limit is 1,024 requests a cluster, which a gateway in production meets; back-pressure is policy. */
const unlimited: CircuitBreakers = {
  thresholds: [
    {
      max_connections: 1_000_000,
      max_pending_requests: 1_000_000,
      max_requests: 1_000_000,
      max_retries: 1024,
    },
  ],
}

const protocols: Readonly<Record<ModelCluster['protocol'], HttpOptions>> = {
  http1: { explicit_http_config: { http_protocol_options: {} } },
  h2c: {
    explicit_http_config: {
      http2_protocol_options: {
        initial_stream_window_size: 65_536,
        initial_connection_window_size: 1_048_576,
      },
    },
  },
}

/** A backend and its connection settings. One that resolves names is usable only some time after its ACK. */
export function clusterResource(cluster: ModelCluster): Resource {
  const { name, endpoints } = cluster
  const resource = resourceOf('cluster', name, {
    ...discovery(name, endpoints),
    name,
    alt_stat_name: name.includes('.') ? statName(name) : undefined,
    connect_timeout: '5s',
    per_connection_buffer_limit_bytes: 32_768,
    lb_policy: 'LEAST_REQUEST',
    circuit_breakers: unlimited,
    // A host that endpoint discovery took away is gone, whatever else is known of its health.
    ignore_health_on_host_removal: true,
    typed_extension_protocol_options: {
      [HTTP_OPTIONS]: { '@type': `type.googleapis.com/${HTTP_OPTIONS}`, ...protocols[cluster.protocol] },
    },
  })
  return endpoints.kind === 'eds' ? { ...resource, edsName: endpoints.name } : { ...resource, warms: true }
}

function discovery(name: string, endpoints: ModelCluster['endpoints']): Cluster {
  if (endpoints.kind === 'eds') {
    return { type: 'EDS', eds_cluster_config: { eds_config: ads, service_name: endpoints.name } }
  }
  return {
    cluster_type: {
      name: 'envoy.clusters.dns',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster',
        dns_refresh_rate: '5s',
        respect_dns_ttl: true,
        dns_lookup_family: 'V4_PREFERRED',
      },
    },
    load_assignment: dnsAssignment(name, endpoints.hosts),
  }
}

type DnsHosts = Extract<ModelCluster['endpoints'], { kind: 'dns' }>['hosts']

function dnsAssignment(name: string, hosts: DnsHosts): ClusterLoadAssignment {
  return {
    cluster_name: name,
    endpoints: [
      {
        lb_endpoints: hosts.map(({ host, port, weight }) => ({
          endpoint: { address: socketAddress(host, port) },
          load_balancing_weight: weight,
        })),
      },
    ],
  }
}
