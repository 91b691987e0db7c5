import { common } from './bootstrap.js'
import { decodeSecrets } from './decode.js'
import { INVALID_CLUSTER } from './names.js'
import { typeUrls, type Resource, type ResourceType } from './types.js'

/** Decoded messages are walked as plain JSON here. */
type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type Message = Record<string, Json>

/**
 * A bootstrap that holds the resources of one Gateway's proxies in itself, so that `envoy --mode validate` reads every
 * one of them: routes stand in their listeners, endpoints in their clusters, secrets beside them. It is made from the
 * encoded bytes, and **its private keys are readable**: for a file that is deleted, never for output.
 */
export function staticBootstrap(resources: readonly Resource[]): object {
  const routes = byName(resources, 'route')
  const endpoints = byName(resources, 'endpoint')
  return {
    ...common,
    static_resources: {
      listeners: [...byName(resources, 'listener').values()].map(each => inline(each, routes)),
      clusters: [...byName(resources, 'cluster').values()].map(each => withEndpoints(each, endpoints)),
      secrets: [...byName(resources, 'secret').values()],
    },
  }
}

function byName(resources: readonly Resource[], type: ResourceType): Map<string, Message> {
  return new Map(
    resources
      .filter(resource => resource.type === type)
      .map(({ name, bytes }) => [name, decodeSecrets(typeUrls[type], bytes) as Message]),
  )
}

/** Replaces what a listener would ask for: `rds` by the routes, SDS by the secret of that name in the same file. */
function inline(value: Json, routes: ReadonlyMap<string, Message>): Json {
  if (Array.isArray(value)) return value.map(item => inline(item, routes))
  if (typeof value !== 'object' || value === null) return value
  const { rds, sds_config: sds, ...rest } = value
  const others = Object.fromEntries(Object.entries(rest).map(([name, item]) => [name, inline(item, routes)]))
  if (sds !== undefined || rds === undefined) return others
  return { ...others, route_config: routeConfig(rds as Message, routes) }
}

function routeConfig(rds: Message, routes: ReadonlyMap<string, Message>): Json {
  const name = rds['route_config_name'] as string
  const config = routes.get(name)
  if (!config) throw new Error(`no routes of the name ${name}`)
  // Inline routes must lead to clusters that exist; the share of an invalid backend leads to none on purpose.
  return JSON.stringify(config).includes(INVALID_CLUSTER) ? { ...config, validate_clusters: false } : config
}

function withEndpoints(cluster: Message, endpoints: ReadonlyMap<string, Message>): Message {
  if (cluster['type'] !== 'EDS') return cluster
  const { eds_cluster_config: eds, ...rest } = cluster
  const name = (eds as Message)['service_name'] as string
  const assignment = endpoints.get(name)
  if (!assignment) throw new Error(`no endpoints of the name ${name}`)
  return { ...rest, type: 'STATIC', load_assignment: assignment }
}
