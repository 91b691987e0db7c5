import type { Collection, Engine } from '../collections/index.js'
import type { Cluster, Model, Port } from '../model/index.js'
import { clusterResource } from './clusters.js'
import { registry } from './descriptors.js'
import { endpointsResource, noEndpoints } from './endpoints.js'
import { listenerResource } from './listener.js'
import { placeKey, placedName } from './names.js'
import { samePart } from './parts.js'
import { chunkPart, chunksOf, routeResource, virtualHostPart } from './routes.js'
import { secretResource } from './secrets.js'
import type { Placed, Resource } from './types.js'

/** What of the model becomes resources; keys as its types say. */
export type DataPlanes = Pick<
  Model,
  'ports' | 'routeTables' | 'hosts' | 'clusters' | 'endpoints' | 'certificates'
>

export interface ResourceOptions {
  /** Where proxies bind their ports; default `0.0.0.0`. */
  readonly listenerAddress?: string
  /** One proxy has a port for itself: right where several run on one machine. Default: false. */
  readonly exclusivePorts?: boolean
  /** Keys the versions of secrets; all replicas must have the same. Default: the empty key, see {@link secretVersionOf}. */
  readonly versionKey?: string
}

/** Every resource of every Gateway, keyed `<gateway>|<type>|<name>`. */
export interface Resources {
  readonly placed: Collection<Placed>
}

/**
 * The Envoy resources of the model, encoded as they change. A rule costs its own route's encoding and the joining of
 * its host and table; endpoints and certificates are encoded once for all Gateways that use them.
 */
export function createResources(engine: Engine, model: DataPlanes, options: ResourceOptions = {}): Resources {
  // On first use it holds the event loop for 0.1 s: better now than when somebody waits.
  registry()
  return {
    placed: engine.union('resources', [
      placeListeners(engine, model.ports, options),
      placeRoutes(engine, model),
      placeClusters(engine, model.clusters),
      placeEndpoints(engine, model),
      placeSecrets(engine, model, options.versionKey ?? ''),
    ]),
  }
}

const samePlaced = {
  equal: (a: Placed, b: Placed) => a.gateway === b.gateway && sameResource(a.resource, b.resource),
}

function sameResource(a: Resource, b: Resource): boolean {
  return samePart(a, b) && a.edsName === b.edsName && a.warms === b.warms
}

/** A resource's own entry: its key and where it belongs. */
function place(gateway: string, resource: Resource): [string, Placed] {
  return [placeKey(gateway, resource.type, resource.name), { gateway, resource }]
}

function placeListeners(
  engine: Engine,
  ports: Collection<Port>,
  options: ResourceOptions,
): Collection<Placed> {
  const { listenerAddress = '0.0.0.0', exclusivePorts } = options
  return engine.expand(
    'listener resources',
    ports,
    port => [place(port.gateway, listenerResource(port, listenerAddress, exclusivePorts))],
    samePlaced,
  )
}

/** Host → chunk of hosts → route table: an edit of a rule encodes its host and joins one chunk and one table. */
function placeRoutes(engine: Engine, { routeTables, hosts }: DataPlanes): Collection<Placed> {
  const present = <V>(values: readonly (V | undefined)[]) => values.filter(value => value !== undefined)
  const hostParts = engine.derive('virtual host bytes', hosts, virtualHostPart, { equal: samePart })
  const cut = engine.derive('chunks of tables', routeTables, table => ({
    table,
    chunks: chunksOf(table.hosts),
  }))
  const chunks = engine.expand('chunks', cut, table =>
    table.chunks.map(keys => [keys[0] as string, keys] as const),
  )
  const chunkParts = engine.derive(
    'chunk bytes',
    chunks,
    (keys, context) => chunkPart(present(keys.map(key => context.get(hostParts, key)))),
    { equal: samePart },
  )
  return engine.expand(
    'route resources',
    cut,
    ({ table, chunks: own }, context) => {
      const parts = own.map(([first]) => context.get(chunkParts, first as string))
      return [place(table.gateway, routeResource(table, present(parts)))]
    },
    samePlaced,
  )
}

function placeClusters(engine: Engine, clusters: Collection<Cluster>): Collection<Placed> {
  return engine.expand(
    'cluster resources',
    clusters,
    cluster => [place(cluster.gateway, clusterResource(cluster))],
    samePlaced,
  )
}

/** Endpoints are where a cluster names them; a cluster whose endpoints nobody knows is told that it has none. */
function placeEndpoints(engine: Engine, { clusters, endpoints }: DataPlanes): Collection<Placed> {
  const encoded = engine.derive('endpoint bytes', endpoints, endpointsResource, { equal: sameResource })
  const users = engine.index('clusters by endpoints', clusters, ({ gateway, endpoints: from }) =>
    from.kind === 'eds' ? [placeKey(gateway, 'endpoint', from.name)] : [],
  )
  return engine.group(
    'endpoint resources',
    users,
    (key, [cluster], context) => {
      const name = placedName(key)
      return (
        cluster && { gateway: cluster.gateway, resource: context.get(encoded, name) ?? noEndpoints(name) }
      )
    },
    samePlaced,
  )
}

/** Secrets are where a port lists them. */
function placeSecrets(engine: Engine, { ports, certificates }: DataPlanes, key: string): Collection<Placed> {
  const encoded = engine.derive('secret bytes', certificates, each => secretResource(each, key), {
    equal: sameResource,
  })
  const users = engine.index('ports by certificate', ports, ({ gateway, chains }) =>
    chains.flatMap(chain => chain.certificates.map(name => placeKey(gateway, 'secret', name))),
  )
  return engine.group(
    'secret resources',
    users,
    (place, [port], context) => {
      const resource = context.get(encoded, placedName(place))
      return port && resource && { gateway: port.gateway, resource }
    },
    samePlaced,
  )
}
