import type { Condition } from '../kinds/index.js'
import type { ListenerStatus, ObjectStatus } from '../model/index.js'
import { refusalOf, refusalText } from './refusal.js'
import { withTimes } from './times.js'
import type { Address, Runtime, Status, Times } from './types.js'

type GatewayModel = Extract<ObjectStatus, { kind: 'Gateway' }>
type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>

/**
 * The status of an object as Kubernetes would hold it: the model's conditions, what only the running system
 * knows (`Programmed` of a Gateway and of its listeners, Gateway API v1 GatewayConditionProgrammed), and times.
 * `lastTransitionTime` moves only when a condition's `status` does. Returns `times.previous` itself when nothing
 * differs from it.
 */
export function statusOf(model: ObjectStatus, runtime: Runtime, times: Times): Status {
  const untimed = model.kind === 'Gateway' ? gatewayStatus(model, runtime) : bare(model)
  return withTimes(untimed, times)
}

/** The status before anything runs: what it will be once the proxies serve what follows from the objects. No times. */
export function foretold(model: ObjectStatus): Status {
  if (model.kind !== 'Gateway') return bare(model)
  const { addresses, conditions, listeners } = model
  return { addresses, conditions, listeners }
}

function bare(model: Exclude<ObjectStatus, GatewayModel>): Status {
  if (model.kind === 'HTTPRoute') return { parents: model.parents }
  const { conditions } = model
  return model.kind === 'GatewayClass'
    ? { conditions, supportedFeatures: model.supportedFeatures }
    : { conditions }
}

function gatewayStatus(model: GatewayModel, runtime: Runtime): Status {
  const addresses = model.addresses.length > 0 ? model.addresses : (runtime.addresses ?? [])
  const verdict = whyNotProgrammed(runtime, addresses) ?? programmed
  return {
    addresses,
    conditions: withProgrammed(model.conditions, verdict),
    listeners: model.listeners.map(listener => listenerStatus(listener, verdict)),
  }
}

function listenerStatus(listener: ListenerStatus, verdict: Verdict): ListenerStatus {
  return { ...listener, conditions: withProgrammed(listener.conditions, verdict) }
}

const programmed: Verdict = {
  status: 'True',
  reason: 'Programmed',
  message: 'every connected proxy serves the published configuration',
}

function whyNotProgrammed(runtime: Runtime, addresses: readonly Address[]): Verdict | undefined {
  const not = (reason: string, message: string): Verdict => ({ status: 'False', reason, message })
  if (!runtime.published) return not('Pending', 'the configuration has not been published yet')
  if (runtime.proxies.length === 0) return not('Pending', 'no proxy is connected')
  const refusal = refusalOf(runtime.proxies)
  if (refusal) return not('Invalid', refusalText(refusal, runtime.proxies.length))
  if (addresses.length === 0) return not('AddressNotAssigned', 'no address has been assigned yet')
  return undefined
}

/** The model's own refusal stands: what is invalid cannot be programmed, whatever the proxies say. */
function withProgrammed(conditions: readonly Condition[], verdict: Verdict): readonly Condition[] {
  const own = conditions.find(condition => condition.type === 'Programmed')
  if (own?.status === 'False') return conditions
  const observed = own ?? conditions.find(condition => condition.type === 'Accepted')
  const next: Condition = {
    type: 'Programmed',
    ...verdict,
    ...(observed?.observedGeneration !== undefined && { observedGeneration: observed.observedGeneration }),
  }
  return own ? conditions.map(condition => (condition === own ? next : condition)) : [...conditions, next]
}
