import type { Collection, Context, Engine, Index } from '../collections/index.js'
import { covers, ids, type Condition, type Gateway } from '../kinds/index.js'
import { keyOf, type Listener, type Reason, type References } from '../topology/index.js'
import type { ListenerCertificates } from './certificates.js'
import { conditionsOf, type Conditions } from './conditions.js'
import { whyGatewayRefused } from './gateway-refusal.js'
import type { ListenerStatus, ObjectStatus } from './types.js'

export interface GatewayAddress {
  readonly type: string
  readonly value: string
}

export interface GatewayStatusInputs {
  readonly references: References
  readonly listenerCertificates: Collection<ListenerCertificates>
  readonly attached: Index<readonly string[]>
  readonly addressesOf: (gateway: string, context: Context) => readonly GatewayAddress[]
}

/** The status of every Gateway of ours. */
export function gatewayStatuses(engine: Engine, inputs: GatewayStatusInputs): Collection<ObjectStatus> {
  const { references, listenerCertificates, attached } = inputs
  return engine.derive('gateway statuses', references.gateways, (gateway, context, key): ObjectStatus => {
    const all = context.get(references.gatewayListeners, key) ?? []
    const views = all.map((listener): ListenerView => {
      const id = keyOf(listener)
      const problems = listener.protocol === 'HTTPS' ? context.get(listenerCertificates, id) : undefined
      return {
        listener,
        attachedRoutes: context.count(attached, id),
        refProblems: problems?.problems ?? [],
        certificates: problems?.names.length ?? 0,
        overlaps: overlapping(listener, all),
      }
    })
    const refused = whyGatewayRefused(gateway, context, references)
    return gatewayStatus(gateway, views, inputs.addressesOf(key, context), refused)
  })
}

interface ListenerView {
  readonly listener: Listener
  readonly attachedRoutes: number
  readonly refProblems: readonly Reason[]
  readonly certificates: number
  /** Names of other HTTPS listeners of the port whose hostnames overlap. */
  readonly overlaps: readonly string[]
}

function overlapping(listener: Listener, all: readonly Listener[]): string[] {
  if (listener.protocol !== 'HTTPS' || listener.refused) return []
  const host = listener.hostname ?? '*'
  const others = all.filter(other => other !== listener && !other.refused && other.port === listener.port)
  return others
    .filter(({ hostname = '*' }) => covers(host, hostname) || covers(hostname, host))
    .map(({ name }) => name)
}

function gatewayStatus(
  gateway: Gateway,
  views: readonly ListenerView[],
  addresses: readonly GatewayAddress[],
  refused: Reason | undefined,
): ObjectStatus {
  const make = conditionsOf(gateway)
  const listeners = views.map(view => listenerStatus(view, make, refused))
  const usable = usableAddresses(gateway, addresses)
  const unusable =
    refused ?? whyListenersInvalid(views) ?? whyNoneProgrammed(listeners) ?? whyNoAddress(gateway, addresses)
  const unresolved = listeners.filter(({ conditions }) => isFalse(conditions, 'ResolvedRefs'))
  return {
    kind: 'Gateway',
    addresses: usable,
    conditions: [
      acceptance(views, make, refused),
      make.holds(
        'Programmed',
        { reason: 'Programmed', message: 'the configuration is made' },
        unusable && asProgrammed(unusable),
      ),
      make.holds(
        'ResolvedRefs',
        { reason: 'ResolvedRefs', message: 'the references of every listener are resolved' },
        unresolved.length > 0
          ? {
              reason: 'ListenersNotResolved',
              message: `listeners with unresolved references: ${unresolved.map(({ name }) => name).join(', ')}`,
            }
          : undefined,
      ),
    ],
    listeners,
  }
}

/** Requested addresses that are there; with none requested, all there are (GatewaySpec.addresses). */
function usableAddresses({ spec }: Gateway, addresses: readonly GatewayAddress[]): readonly GatewayAddress[] {
  const wanted = requested(spec.addresses)
  return wanted.length === 0 ? addresses : addresses.filter(({ value }) => wanted.includes(value))
}

function requested(addresses: Gateway['spec']['addresses'] = []): string[] {
  return addresses.flatMap(({ value = '' }) => (value === '' ? [] : [value]))
}

function acceptance(
  views: readonly ListenerView[],
  make: Conditions,
  refused: Reason | undefined,
): Condition {
  const bad = views.filter(({ listener }) => listener.refused)
  const none = refused ?? whyListenersInvalid(views)
  if (none || bad.length === 0) {
    return make.holds('Accepted', { reason: 'Accepted', message: 'the Gateway is served' }, none)
  }
  return make.isTrue('Accepted', {
    reason: 'ListenersNotValid',
    message: `served without these listeners: ${badText(bad)}`,
  })
}

function badText(bad: readonly ListenerView[]): string {
  return bad.map(({ listener }) => `${listener.name} (${listener.refused?.reason ?? ''})`).join(', ')
}

function whyListenersInvalid(views: readonly ListenerView[]): Reason | undefined {
  const bad = views.filter(({ listener }) => listener.refused)
  if (bad.length < views.length) return undefined
  return { reason: 'ListenersNotValid', message: `no listener is accepted: ${badText(bad)}` }
}

function whyNoneProgrammed(listeners: readonly ListenerStatus[]): Reason | undefined {
  if (listeners.some(({ conditions }) => !isFalse(conditions, 'Programmed'))) return undefined
  return { reason: 'Invalid', message: 'no listener can be programmed' }
}

function whyNoAddress({ spec }: Gateway, addresses: readonly GatewayAddress[]): Reason | undefined {
  const missing = requested(spec.addresses).filter(
    value => !addresses.some(address => address.value === value),
  )
  if (missing.length > 0) {
    return { reason: 'AddressNotUsable', message: `not to be had here: ${missing.join(', ')}` }
  }
  return addresses.length > 0
    ? undefined
    : { reason: 'AddressNotAssigned', message: 'no address is assigned yet' }
}

/** Reasons of Accepted that have no place in Programmed become Invalid there. */
function asProgrammed({ reason, message }: Reason): Reason {
  return { reason: reason.startsWith('Address') ? reason : 'Invalid', message }
}

function isFalse(conditions: readonly Condition[], type: string): boolean {
  return conditions.some(condition => condition.type === type && condition.status === 'False')
}

function listenerStatus(
  view: ListenerView,
  make: Conditions,
  gatewayRefused: Reason | undefined,
): ListenerStatus {
  const { listener, attachedRoutes } = view
  const { refused } = listener
  const idle = gatewayRefused ?? refused ?? whyNoCertificate(view)
  const conflict = refused?.conflicted ? refused : undefined
  const conditions = [
    make.holds('Accepted', { reason: 'Accepted', message: 'the listener is accepted' }, refused),
    make.holds(
      'Programmed',
      { reason: 'Programmed', message: 'the configuration is made' },
      idle && { reason: 'Invalid', message: idle.message },
    ),
    make.holds(
      'ResolvedRefs',
      { reason: 'ResolvedRefs', message: 'every reference is resolved' },
      whyUnresolved(view),
    ),
    conflict
      ? make.isTrue('Conflicted', conflict)
      : make.isFalse('Conflicted', { reason: 'NoConflicts', message: 'no other listener claims the same' }),
  ]
  if (view.overlaps.length > 0) {
    const message = `its hostname overlaps with listener ${view.overlaps.join(', ')}; misdirected requests are answered 421`
    conditions.push(make.isTrue('OverlappingTLSConfig', { reason: 'OverlappingHostnames', message }))
  }
  return { name: listener.name, supportedKinds: supportedKinds(listener), attachedRoutes, conditions }
}

function whyNoCertificate({ listener, certificates, refProblems }: ListenerView): Reason | undefined {
  return listener.protocol === 'HTTPS' && certificates === 0 ? refProblems[0] : undefined
}

function whyUnresolved({ listener, refProblems }: ListenerView): Reason | undefined {
  const [first] = refProblems
  if (first) return { reason: first.reason, message: refProblems.map(({ message }) => message).join('; ') }
  if (listener.invalidKinds.length === 0) return undefined
  return {
    reason: 'InvalidRouteKinds',
    message: `protocol ${listener.protocol} carries no ${listener.invalidKinds.join(', ')}`,
  }
}

const kindNames: Readonly<Record<string, string>> = { [ids.HTTPRoute]: 'HTTPRoute' }

function supportedKinds({ kinds }: Listener): ListenerStatus['supportedKinds'] {
  return kinds.map(id => ({ group: parseGroup(id), kind: kindNames[id] ?? id }))
}

function parseGroup(id: string): string {
  return id.slice(id.indexOf('.') + 1)
}
