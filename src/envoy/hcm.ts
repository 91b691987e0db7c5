import { adsAwaited } from './config-source.js'
import type { Any, HttpConnectionManager, HttpFilter } from './types.gen.js'

const MANAGER =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'

/** Names that routes use to switch a filter on (`typed_per_filter_config`). */
export const filterNames = { cors: 'envoy.filters.http.cors' } as const

/**
 * The chain of every port, in this order. All but the router are disabled until a route configures them, so that no
 * route edit touches a listener.
 */
const filters: readonly HttpFilter[] = [
  {
    name: filterNames.cors,
    typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors' },
    disabled: true,
  },
  {
    name: 'envoy.filters.http.router',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
      suppress_envoy_headers: true,
    },
  },
]

/** What holds for every request unless told otherwise (docs/adr/0008); nothing here depends on a route. */
const edge: HttpConnectionManager = {
  codec_type: 'AUTO',
  http_filters: filters,
  use_remote_address: true,
  server_header_transformation: 'PASS_THROUGH',
  normalize_path: true,
  merge_slashes: true,
  path_with_escaped_slashes_action: 'UNESCAPE_AND_REDIRECT',
  common_http_protocol_options: { idle_timeout: '3600s' },
  http_protocol_options: { accept_http_10: true },
  http2_protocol_options: {
    max_concurrent_streams: 100,
    initial_stream_window_size: 65_536,
    initial_connection_window_size: 1_048_576,
  },
  stream_idle_timeout: '300s',
  request_headers_timeout: '30s',
  upgrade_configs: [{ upgrade_type: 'websocket' }],
}

/** A connection manager that takes its routes from RDS and waits for them. */
export function connectionManager(routeTable: string, statPrefix: string): Any {
  return {
    '@type': MANAGER,
    ...edge,
    stat_prefix: statPrefix,
    rds: { config_source: adsAwaited, route_config_name: routeTable },
  }
}
