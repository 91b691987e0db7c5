import { kindId, locator, type Locator } from '../core/index.js'
import type { Collection, Context } from '../collections/index.js'
import {
  ids,
  type Backend,
  type BackendObjectReference,
  type HTTPRoute,
  type HTTPRouteRule,
  type Service,
} from '../kinds/index.js'
import { whyNotGranted, type Grants } from './grants.js'
import type { BackendReference, BackendTarget, Reason, RouteBackends } from './types.js'

export interface BackendInputs {
  readonly services: Collection<Service>
  readonly backends: Collection<Backend>
  readonly grants: Grants
}

/** Where every backendRef of a route leads, mirrors included. */
export function resolveBackends(
  route: HTTPRoute,
  key: Locator,
  context: Context,
  inputs: BackendInputs,
): RouteBackends {
  const namespace = route.metadata.namespace ?? ''
  const references: BackendReference[] = []
  for (const [rule, spec] of (route.spec.rules ?? []).entries()) {
    for (const [path, ref] of refsOf(spec)) {
      const target = resolve(ref, namespace, context, inputs)
      references.push({ path: `spec.rules[${rule}].${path}`, rule, ref, target })
    }
  }
  return { route: key, references }
}

function* refsOf(rule: HTTPRouteRule): Iterable<[path: string, ref: BackendObjectReference]> {
  for (const [i, ref] of (rule.backendRefs ?? []).entries()) yield [`backendRefs[${i}]`, ref]
  for (const [i, filter] of (rule.filters ?? []).entries()) {
    if (filter.requestMirror)
      yield [`filters[${i}].requestMirror.backendRef`, filter.requestMirror.backendRef]
  }
}

function resolve(
  ref: BackendObjectReference,
  local: string,
  context: Context,
  inputs: BackendInputs,
): BackendTarget {
  const kind = kindId(ref.group ?? '', ref.kind ?? 'Service')
  const namespace = ref.namespace ?? local
  const target = locator(kind, namespace, ref.name)
  const invalid = ({ reason, message }: Reason): BackendTarget => ({
    kind: 'invalid',
    target,
    reason,
    message,
  })
  if (kind !== ids.Service && kind !== ids.Backend) return invalid(unknownKind(ref))
  const from = { kind: ids.HTTPRoute, namespace: local }
  const denied = whyNotGranted(context, inputs.grants, from, { kind, namespace, name: ref.name })
  if (denied) return invalid(denied)
  if (kind === ids.Backend) {
    return context.get(inputs.backends, target) ? { kind: 'backend', target } : invalid(notFound(target))
  }
  const service = context.get(inputs.services, target)
  if (!service) return invalid(notFound(target))
  const refused = whyServiceRefused(service, ref.port)
  return refused ? invalid(refused) : servicePort(service, target, ref.port)
}

function unknownKind({ group = '', kind = 'Service' }: BackendObjectReference): Reason {
  const message = `${kind}${group === '' ? '' : `.${group}`} is no kind of backend: use Service or Backend.gatewright.io`
  return { reason: 'InvalidKind', message }
}

function notFound(target: Locator): Reason {
  return { reason: 'BackendNotFound', message: `${target} does not exist` }
}

type ServiceCheck = (service: Service, port: number | undefined) => Reason | undefined

const serviceChecks: readonly ServiceCheck[] = [whyExternal, whyNoPort, whyNotTcp, whyNotSpoken]

/** The reason why a port of a Service cannot take HTTP requests, or nothing. */
export function whyServiceRefused(service: Service, port: number | undefined): Reason | undefined {
  for (const check of serviceChecks) {
    const reason = check(service, port)
    if (reason) return reason
  }
  return undefined
}

/**
 * A Service of type ExternalName can point anywhere, also to what its author may not reach (CVE-2021-25740); the
 * specification says SHOULD NOT. A Backend names an outside host openly.
 */
function whyExternal({ spec }: Service): Reason | undefined {
  if (spec.type !== 'ExternalName') return undefined
  const message = 'a Service of type ExternalName is not followed: use a Backend.gatewright.io'
  return { reason: 'UnsupportedValue', message }
}

function portOf(service: Service, port: number | undefined) {
  return service.spec.ports?.find(candidate => candidate.port === port)
}

function whyNoPort(service: Service, port: number | undefined): Reason | undefined {
  if (portOf(service, port)) return undefined
  const message =
    port === undefined
      ? 'a reference to a Service needs a port'
      : `Service ${service.metadata.name} has no port ${port}`
  return { reason: 'BackendNotFound', message }
}

function whyNotTcp(service: Service, port: number | undefined): Reason | undefined {
  const protocol = portOf(service, port)?.protocol ?? 'TCP'
  if (protocol === 'TCP') return undefined
  return { reason: 'UnsupportedProtocol', message: `port ${port ?? ''} is ${protocol}, not TCP` }
}

/** Protocols that begin with TLS: speaking plain HTTP to them cannot work. */
const overTls = new Set(['https', 'kubernetes.io/wss'])

function whyNotSpoken(service: Service, port: number | undefined): Reason | undefined {
  const { appProtocol } = portOf(service, port) ?? {}
  if (appProtocol === undefined || !overTls.has(appProtocol)) return undefined
  const message = `appProtocol ${appProtocol} of port ${port ?? ''} needs TLS to the backend, which is not supported`
  return { reason: 'UnsupportedProtocol', message }
}

function servicePort(service: Service, target: Locator, port: number | undefined): BackendTarget {
  const found = portOf(service, port)
  return {
    kind: 'service',
    target,
    port: port as number,
    portName: found?.name ?? '',
    ...(found?.appProtocol !== undefined && { appProtocol: found.appProtocol }),
  }
}
