import { kindId, locator, section, locatorOf, type KindId } from '../core/index.js'
import type { Collection, Engine } from '../collections/index.js'
import { controllerName, ids, type Gateway, type GatewayClass, type GatewayListener } from '../kinds/index.js'
import type { Listener } from './types.js'

/** Route kinds by the protocols that carry them (GatewaySpec.listeners). Other protocols are unsupported. */
const carried: Readonly<Record<string, readonly KindId[]>> = {
  HTTP: [ids.HTTPRoute],
  HTTPS: [ids.HTTPRoute],
}

/** The GatewayClasses that name this controller. */
export function ownClasses(engine: Engine, classes: Collection<GatewayClass>): Collection<GatewayClass> {
  return engine.derive('own classes', classes, gatewayClass =>
    gatewayClass.spec.controllerName === controllerName ? gatewayClass : undefined,
  )
}

/** The Gateways whose class is ours. */
export function ownGateways(
  engine: Engine,
  gateways: Collection<Gateway>,
  classes: Collection<GatewayClass>,
): Collection<Gateway> {
  return engine.derive('own gateways', gateways, (gateway, context) =>
    context.get(classes, locator(ids.GatewayClass, undefined, gateway.spec.gatewayClassName))
      ? gateway
      : undefined,
  )
}

/** All listeners of one Gateway in the order of its spec, with the conflicts between them. */
export function listenersOf(gateway: Gateway): Listener[] {
  const { spec } = gateway
  return spec.listeners.map(listener => {
    const refused = checks.map(check => check(listener, spec)).find(reason => reason !== undefined)
    return { ...acceptedListener(gateway, listener), ...(refused && { refused }) }
  })
}

export function keyOf(listener: Listener): string {
  return section(listener.gateway, listener.name)
}

function acceptedListener(gateway: Gateway, listener: GatewayListener): Listener {
  const asked = listener.allowedRoutes?.kinds ?? []
  const able = carried[listener.protocol] ?? []
  const askedIds = asked.map(({ group, kind }) => kindId(group ?? 'gateway.networking.k8s.io', kind))
  const namespaces = listener.allowedRoutes?.namespaces
  return {
    gateway: locatorOf(gateway),
    name: listener.name,
    port: listener.port,
    protocol: listener.protocol,
    ...(hostnameOf(listener) !== undefined && { hostname: hostnameOf(listener) as string }),
    namespaces: {
      from: namespaces?.from ?? 'Same',
      ...(namespaces?.selector && { selector: namespaces.selector }),
    },
    kinds: asked.length === 0 ? able : able.filter(id => askedIds.includes(id)),
    invalidKinds: asked.filter((_, i) => !able.includes(askedIds[i] as KindId)).map(({ kind }) => kind),
  }
}

function hostnameOf(listener: GatewayListener): string | undefined {
  return listener.hostname === '' ? undefined : listener.hostname?.toLowerCase()
}

type Refusal = NonNullable<Listener['refused']>
type Spec = Gateway['spec']
type Check = (listener: GatewayListener, spec: Spec) => Refusal | undefined

const checks: readonly Check[] = [
  whyProtocolUnsupported,
  whyProtocolConflicts,
  whyHostnameConflicts,
  whyClientsUnverified,
]

function whyProtocolUnsupported({ protocol }: GatewayListener): Refusal | undefined {
  if (carried[protocol]) return undefined
  return {
    reason: 'UnsupportedProtocol',
    message: `protocol ${protocol} is not supported; use ${Object.keys(carried).join(' or ')}`,
    conflicted: false,
  }
}

/** Listeners of an unsupported protocol take no part in conflicts: they bind nothing. */
function rivals(listener: GatewayListener, { listeners }: Spec): readonly GatewayListener[] {
  return listeners.filter(
    other => other !== listener && other.port === listener.port && carried[other.protocol],
  )
}

function whyProtocolConflicts(listener: GatewayListener, spec: Spec): Refusal | undefined {
  const others = rivals(listener, spec).filter(other => other.protocol !== listener.protocol)
  if (others.length === 0) return undefined
  return {
    reason: 'ProtocolConflict',
    message: `port ${listener.port} is ${listener.protocol} here and ${others[0]?.protocol ?? ''} in listener ${names(others)}`,
    conflicted: true,
  }
}

function whyHostnameConflicts(listener: GatewayListener, spec: Spec): Refusal | undefined {
  const hostname = hostnameOf(listener)
  const others = rivals(listener, spec).filter(other => hostnameOf(other) === hostname)
  if (others.length === 0) return undefined
  return {
    reason: 'HostnameConflict',
    message: `port ${listener.port} has the same hostname (${hostname ?? 'none'}) in listener ${names(others)}`,
    conflicted: true,
  }
}

/**
 * Certificates of clients are not verified here. A listener that must is refused, since serving it would let in
 * everybody (GatewayTLSConfig.frontend; what is said for a port replaces the default).
 */
function whyClientsUnverified({ port, protocol }: GatewayListener, { tls }: Spec): Refusal | undefined {
  if (protocol !== 'HTTPS') return undefined
  const { perPort = [], default: common } = tls?.frontend ?? {}
  const own = perPort.find(each => each.port === port)
  if (!(own ? own.tls : common)?.validation) return undefined
  return {
    reason: 'UnsupportedValue',
    message: `tls.frontend asks for certificates of the clients of port ${port}, which is not supported`,
    conflicted: false,
  }
}

function names(listeners: readonly GatewayListener[]): string {
  return listeners.map(listener => listener.name).join(', ')
}
