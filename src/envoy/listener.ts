import type { Chain, Port } from '../model/index.js'
import { adsAwaited, socketAddress } from './config-source.js'
import { connectionManager } from './hcm.js'
import { listenerName } from './names.js'
import { resourceOf } from './resource.js'
import type { FilterChain, ListenerFilter, TransportSocket } from './types.gen.js'
import type { Resource } from './types.js'

const tlsInspector: ListenerFilter = {
  name: 'envoy.filters.listener.tls_inspector',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector',
  },
}

/**
 * A bound port. It depends on ports, hostnames, certificates' names and TLS settings only: whatever else changed here
 * would drain connections. An exclusive one is refused while another process has the port, instead of sharing it.
 */
export function listenerResource(port: Port, address: string, exclusive = false): Resource {
  const name = listenerName(port.gateway, port.port)
  const tls = port.protocol === 'HTTPS'
  return resourceOf('listener', name, {
    name,
    address: socketAddress(address, port.port),
    per_connection_buffer_limit_bytes: 32_768,
    ...(exclusive && { enable_reuse_port: false }),
    listener_filters: tls ? [tlsInspector] : undefined,
    filter_chains: port.chains.map(chain => filterChain(chain, port)),
  })
}

function filterChain(chain: Chain, { protocol, port }: Port): FilterChain {
  const statPrefix = `${protocol.toLowerCase()}-${port}`
  return {
    name: chain.routeTable,
    filter_chain_match: chain.serverNames.length > 0 ? { server_names: chain.serverNames } : undefined,
    filters: [
      {
        name: 'envoy.filters.network.http_connection_manager',
        typed_config: connectionManager(chain.routeTable, statPrefix),
      },
    ],
    transport_socket: protocol === 'HTTPS' ? tlsSocket(chain.certificates) : undefined,
  }
}

function tlsSocket(certificates: readonly string[]): TransportSocket {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
        tls_certificate_sds_secret_configs: certificates.map(name => ({ name, sds_config: adsAwaited })),
        alpn_protocols: ['h2', 'http/1.1'],
      },
    },
  }
}
