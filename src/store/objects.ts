import type { Collection, Engine, Source } from '../collections/index.js'
import type { KindId, KubeObject } from '../core/index.js'
import { ids } from '../kinds/index.js'
import type {
  Backend,
  ConfigMap,
  EndpointSlice,
  Gateway,
  GatewayClass,
  HTTPRoute,
  Namespace,
  ReferenceGrant,
  Secret,
  Service,
} from '../kinds/index.js'
import { kindOf } from './snapshot.js'
import type { Update } from './types.js'

/** The objects of the store as collections, one for each kind that something is derived from; keys are locators. */
export interface Objects {
  readonly gatewayClasses: Collection<GatewayClass>
  readonly gateways: Collection<Gateway>
  readonly httpRoutes: Collection<HTTPRoute>
  readonly referenceGrants: Collection<ReferenceGrant>
  readonly services: Collection<Service>
  readonly endpointSlices: Collection<EndpointSlice>
  readonly namespaces: Collection<Namespace>
  readonly secrets: Collection<Secret>
  readonly configMaps: Collection<ConfigMap>
  readonly backends: Collection<Backend>
}

export interface Mirror {
  readonly objects: Objects
  /** Brings the collections in line with a notice of the store; takes effect at the engine's next flush. */
  apply(updates: readonly Update[]): void
}

const kindsOf: Readonly<Record<keyof Objects, KindId>> = {
  gatewayClasses: ids.GatewayClass,
  gateways: ids.Gateway,
  httpRoutes: ids.HTTPRoute,
  referenceGrants: ids.ReferenceGrant,
  services: ids.Service,
  endpointSlices: ids.EndpointSlice,
  namespaces: ids.Namespace,
  secrets: ids.Secret,
  configMaps: ids.ConfigMap,
  backends: ids.Backend,
}

/** Makes the collections of `Objects` in `engine`. Objects of other kinds are none of its business. */
export function mirror(engine: Engine): Mirror {
  const sources = new Map<KindId, Source<KubeObject>>()
  const source = <V extends KubeObject>(name: keyof Objects): Collection<V> => {
    // Stored objects are immutable and the store tells only of changes: identity is equality enough.
    const made = engine.source<KubeObject>(name, { equal: (a, b) => a === b })
    sources.set(kindsOf[name], made)
    return made as Source<V>
  }
  return {
    objects: {
      gatewayClasses: source('gatewayClasses'),
      gateways: source('gateways'),
      httpRoutes: source('httpRoutes'),
      referenceGrants: source('referenceGrants'),
      services: source('services'),
      endpointSlices: source('endpointSlices'),
      namespaces: source('namespaces'),
      secrets: source('secrets'),
      configMaps: source('configMaps'),
      backends: source('backends'),
    },
    apply(updates) {
      for (const update of updates) {
        const target = sources.get(kindOf(update.locator))
        if (update.type === 'delete') target?.delete(update.locator)
        else target?.set(update.locator, update.newObject)
      }
    },
  }
}
