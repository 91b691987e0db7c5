import type { Locator } from '../core/index.js'
import type { Collection, Context, Engine } from '../collections/index.js'
import type { Objects } from '../store/index.js'
import type { References } from '../topology/index.js'
import { buildCertificates } from './certificates.js'
import { placeClusters } from './placement.js'
import { buildEndpoints } from './endpoints.js'
import { gatewayStatuses, type GatewayAddress } from './gateway-status.js'
import { buildHosts } from './hosts.js'
import { planRoutes } from './plan.js'
import { buildPorts } from './ports.js'
import { indexAttached, routeStatuses } from './route-status.js'
import { placeListeners } from './sites.js'
import { backendStatuses, classStatuses } from './statuses.js'
import type { Certificate, Cluster, Endpoints, ObjectStatus, Port, RouteTable, VirtualHost } from './types.js'

export interface ModelOptions {
  /** The addresses Gateways can be reached at: the same for all, or by the Gateway's locator. Default: none. */
  readonly addresses?: readonly GatewayAddress[] | Collection<readonly GatewayAddress[]>
}

/** The data planes of all Gateways, and what is to be said of every object. Keys: see the types. */
export interface Model {
  readonly ports: Collection<Port>
  readonly routeTables: Collection<RouteTable>
  readonly hosts: Collection<VirtualHost>
  readonly clusters: Collection<Cluster>
  readonly endpoints: Collection<Endpoints>
  readonly certificates: Collection<Certificate>
  /** By locator; GatewayClasses, Gateways and HTTPRoutes that lead to us, and every Backend. */
  readonly statuses: Collection<ObjectStatus>
  /** Locators of the Secrets (and later ConfigMaps) that must be read whole; key and value are the same. */
  readonly wanted: Collection<Locator>
}

/**
 * The model as collections: a pure function of the objects, without memory. A change of one route recomputes its
 * own plan, the hosts it is in and its status; of one EndpointSlice, the endpoints of its Service alone.
 */
export function createModel(
  engine: Engine,
  objects: Objects,
  references: References,
  options: ModelOptions = {},
): Model {
  const gatewaySites = placeListeners(engine, references)
  const { certificates, listenerCertificates, secrets } = buildCertificates(
    engine,
    objects.secrets,
    references,
  )
  const plans = planRoutes(engine, objects, references)
  const placed = placeClusters(engine, references, plans)
  const attached = indexAttached(engine, references.attachments, plans)
  const addressesOf = addressReader(options.addresses ?? [])
  return {
    ...buildHosts(engine, references, plans, gatewaySites),
    ports: buildPorts(engine, gatewaySites, listenerCertificates),
    clusters: engine.derive('clusters', placed, ({ cluster }) => cluster),
    endpoints: buildEndpoints(engine, objects, placed),
    certificates,
    statuses: engine.union('statuses', [
      classStatuses(engine, references.classes),
      gatewayStatuses(engine, { references, listenerCertificates, attached, addressesOf }),
      routeStatuses(engine, objects.httpRoutes, references.attachments, plans),
      backendStatuses(engine, objects.backends),
    ]),
    wanted: secrets,
  }
}

function addressReader(addresses: NonNullable<ModelOptions['addresses']>) {
  if (!('get' in addresses)) return () => addresses
  return (gateway: Locator, context: Context) => context.get(addresses, gateway) ?? []
}
