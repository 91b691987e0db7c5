import { createHash } from 'node:crypto'
import { encode, typeUrls } from '../../src/envoy/index.js'
import type { Resource, ResourceType } from '../../src/envoy/index.js'
import type { Publication } from '../../src/xds/index.js'

/** A resource of any type as its JSON says; its version is the hash of its bytes. */
export function aResource(
  type: ResourceType,
  name: string,
  json: object,
  more: Partial<Resource> = {},
): Resource {
  const bytes = encode(typeUrls[type], json)
  const version = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  return { type, name, version, bytes, ...more }
}

const ads = { ads: {}, resource_api_version: 'V3' }

/** An EDS cluster; `revision` makes another version of it, `endpoints` names other endpoints than its own. */
export function aCluster(
  name: string,
  revision = 1,
  endpoints = name,
  more: Partial<Resource> = {},
): Resource {
  const json = {
    name,
    type: 'EDS',
    connect_timeout: `${revision}s`,
    eds_cluster_config: { eds_config: ads, service_name: endpoints },
  }
  return aResource('cluster', name, json, { edsName: endpoints, ...more })
}

/** A cluster that resolves a name, and is not usable before it has. */
export function aDnsCluster(name: string, revision = 1): Resource {
  const json = { name, type: 'STRICT_DNS', connect_timeout: `${revision}s` }
  return aResource('cluster', name, json, { warms: true })
}

const socket = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } })

export function someEndpoints(name: string, port = 80): Resource {
  const lb_endpoints = [{ endpoint: { address: socket(port) } }]
  return aResource('endpoint', name, {
    cluster_name: name,
    endpoints: [{ locality: { region: 'here' }, load_balancing_weight: 1, lb_endpoints }],
  })
}

/** A route configuration that sends everything to one cluster. */
export function aRoute(name: string, cluster: string): Resource {
  const routes = [{ match: { prefix: '/' }, route: { cluster } }]
  return aResource('route', name, { name, virtual_hosts: [{ name: 'all', domains: ['*'], routes }] })
}

export function aListener(name: string, port = 0, route = name): Resource {
  const manager = {
    '@type':
      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    stat_prefix: name,
    rds: { config_source: ads, route_config_name: route },
    http_filters: [
      {
        name: 'envoy.filters.http.router',
        typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
      },
    ],
  }
  return aResource('listener', name, {
    name,
    address: socket(port),
    filter_chains: [{ filters: [{ name: 'http', typed_config: manager }] }],
  })
}

export function aSecret(name: string, text = 'one'): Resource {
  return aResource('secret', name, { name, generic_secret: { secret: { inline_string: text } } })
}

/** What publishes these resources and takes back those, for one Gateway. */
export function aPublication(
  gateway: string,
  resources: readonly Resource[],
  removed: readonly (readonly [ResourceType, string])[] = [],
): Publication {
  return {
    gateway,
    changes: [
      ...resources.map(resource => ({ type: resource.type, name: resource.name, resource })),
      ...removed.map(([type, name]) => ({ type, name, resource: undefined })),
    ],
  }
}
