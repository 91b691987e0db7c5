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
  const { listeners } = gateway.spec
  return listeners.map(listener => {
    const refused = checks.map(check => check(listener, listeners)).find(reason => reason !== undefined)
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
type Check = (listener: GatewayListener, all: readonly GatewayListener[]) => Refusal | undefined

const checks: readonly Check[] = [whyProtocolUnsupported, whyProtocolConflicts, whyHostnameConflicts]

function whyProtocolUnsupported({ protocol }: GatewayListener): Refusal | undefined {
  if (carried[protocol]) return undefined
  return {
    reason: 'UnsupportedProtocol',
    message: `protocol ${protocol} is not supported; use ${Object.keys(carried).join(' or ')}`,
    conflicted: false,
  }
}

/** Listeners of an unsupported protocol take no part in conflicts: they bind nothing. */
function rivals(listener: GatewayListener, all: readonly GatewayListener[]): readonly GatewayListener[] {
  return all.filter(other => other !== listener && other.port === listener.port && carried[other.protocol])
}

function whyProtocolConflicts(
  listener: GatewayListener,
  all: readonly GatewayListener[],
): Refusal | undefined {
  const others = rivals(listener, all).filter(other => other.protocol !== listener.protocol)
  if (others.length === 0) return undefined
  return {
    reason: 'ProtocolConflict',
    message: `port ${listener.port} is ${listener.protocol} here and ${others[0]?.protocol ?? ''} in listener ${names(others)}`,
    conflicted: true,
  }
}

function whyHostnameConflicts(
  listener: GatewayListener,
  all: readonly GatewayListener[],
): Refusal | undefined {
  const hostname = hostnameOf(listener)
  const others = rivals(listener, all).filter(other => hostnameOf(other) === hostname)
  if (others.length === 0) return undefined
  return {
    reason: 'HostnameConflict',
    message: `port ${listener.port} has the same hostname (${hostname ?? 'none'}) in listener ${names(others)}`,
    conflicted: true,
  }
}

function names(listeners: readonly GatewayListener[]): string {
  return listeners.map(listener => listener.name).join(', ')
}
