import type { Collection, Engine } from '../collections/index.js'
import type { Backend, GatewayClass } from '../kinds/index.js'
import { conditionsOf } from './conditions.js'
import { supportedFeatures } from './features.js'
import { whyClassRefused } from './gateway-refusal.js'
import type { ObjectStatus } from './types.js'

/** The status of every GatewayClass of ours. */
export function classStatuses(engine: Engine, classes: Collection<GatewayClass>): Collection<ObjectStatus> {
  return engine.derive('class statuses', classes, (gatewayClass): ObjectStatus => {
    const accepted = { reason: 'Accepted', message: 'Gateways of this class are served' }
    return {
      kind: 'GatewayClass',
      conditions: [conditionsOf(gatewayClass).holds('Accepted', accepted, whyClassRefused(gatewayClass))],
      supportedFeatures,
    }
  })
}

/** The status of every Backend; all are ours. */
export function backendStatuses(engine: Engine, backends: Collection<Backend>): Collection<ObjectStatus> {
  return engine.derive('backend statuses', backends, (backend): ObjectStatus => {
    const accepted = { reason: 'Accepted', message: 'routes may refer to it' }
    const none = backend.spec.endpoints.every(({ weight }) => weight === 0)
    const against = none
      ? { reason: 'Invalid', message: 'it has no endpoint with a positive weight' }
      : undefined
    return { kind: 'Backend', conditions: [conditionsOf(backend).holds('Accepted', accepted, against)] }
  })
}
