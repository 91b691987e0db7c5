import type { Collection, Engine } from '../collections/index.js'
import type { Gateway, GatewayClass } from '../kinds/index.js'
import type { Objects } from '../store/index.js'
import { attach } from './attachment.js'
import { resolveBackends } from './backends.js'
import { indexGrants, type Grants } from './grants.js'
import { keyOf, listenersOf, ownClasses, ownGateways } from './listeners.js'
import type { Listener, RouteAttachments, RouteBackends } from './types.js'

/** Every reference of the Gateway API, followed to its end. */
export interface References {
  /** GatewayClasses that name this controller, by locator. */
  readonly classes: Collection<GatewayClass>
  /** Gateways of those classes, by locator. */
  readonly gateways: Collection<Gateway>
  /** The listeners of each of those Gateways in the order of its spec, by the Gateway's locator. */
  readonly gatewayListeners: Collection<readonly Listener[]>
  /** The same, one by one, by `section(gateway, name)`. */
  readonly listeners: Collection<Listener>
  /** By route; only routes that name a Gateway of ours. */
  readonly attachments: Collection<RouteAttachments>
  /** By route; only routes that name a Gateway of ours. */
  readonly backends: Collection<RouteBackends>
  readonly grants: Grants
}

/** Follows parentRefs, backendRefs and grants. Objects that lead to no Gateway of ours cost one look each. */
export function resolveReferences(engine: Engine, objects: Objects): References {
  const grants = indexGrants(engine, objects.referenceGrants)
  const classes = ownClasses(engine, objects.gatewayClasses)
  const gateways = ownGateways(engine, objects.gateways, classes)
  const gatewayListeners = engine.derive('gateway listeners', gateways, listenersOf)
  const listeners = engine.expand('listeners', gatewayListeners, all =>
    all.map(listener => [keyOf(listener), listener] as const),
  )
  const attachments = engine.derive('attachments', objects.httpRoutes, (route, context, key) =>
    attach(route, key, context, { gatewayListeners, namespaces: objects.namespaces }),
  )
  const attachedRoutes = engine.derive('attached routes', attachments, () => true)
  const backends = engine.derive('route backends', objects.httpRoutes, (route, context, key) => {
    if (!context.get(attachedRoutes, key)) return undefined
    const inputs = { services: objects.services, backends: objects.backends, grants }
    return resolveBackends(route, key, context, inputs)
  })
  return { classes, gateways, gatewayListeners, listeners, attachments, backends, grants }
}
