import type { KindId, KubeObject } from '../../core/index.js'
import { kindId, kindIdOf, locator } from '../../core/index.js'
import { groups, ids, intersect, selects } from '../../kinds/index.js'
import type { GatewayListener, Namespace } from '../../kinds/index.js'
import type { Listening, Parent, Route } from './references.js'
import { nameOf, namespaceOf } from './references.js'
import type { Surroundings } from './surroundings.js'
import type { Finding } from './types.js'

/** Route kinds by the protocols that carry them (GatewaySpec.listeners). */
const carried: Readonly<Record<string, readonly KindId[]>> = {
  HTTP: [ids.HTTPRoute, ids.GRPCRoute],
  HTTPS: [ids.HTTPRoute, ids.GRPCRoute],
  TLS: [ids.TLSRoute, ids.TCPRoute],
  TCP: [ids.TCPRoute],
  UDP: [ids.UDPRoute],
}

/** One attempt of a route to attach to an object with listeners through one of its parentRefs. */
export interface Attempt {
  readonly route: Route
  readonly parent: Parent
  readonly to: Listening
}

/** The listeners that take the route, hostnames aside, or what keeps it from all of them. */
export function takers(attempt: Attempt, around: Surroundings): readonly GatewayListener[] | Finding {
  let left = attempt.to.spec.listeners
  for (const { takes, finding } of steps) {
    left = left.filter(listener => takes(listener, attempt, around) !== false)
    if (left.length === 0) return finding(attempt)
  }
  return left
}

/** Whether the listener takes the route, hostnames aside; undefined where that cannot be told. */
export function isTaker(
  listener: GatewayListener,
  attempt: Attempt,
  around: Surroundings,
): boolean | undefined {
  const answers = steps.map(({ takes }) => takes(listener, attempt, around))
  return answers.includes(false) ? false : answers.includes(undefined) ? undefined : true
}

interface Step {
  readonly takes: (listener: GatewayListener, attempt: Attempt, around: Surroundings) => boolean | undefined
  /** What is said where no listener that got this far takes it. */
  readonly finding: (attempt: Attempt) => Finding
}

const steps: readonly Step[] = [
  {
    takes: ({ name }, { parent: { sectionName } }) => sectionName === undefined || sectionName === name,
    finding: ({ parent }) => ({
      path: `${parent.path}.sectionName`,
      message: `${nameOf(parent)} has no listener "${parent.sectionName ?? ''}"`,
    }),
  },
  {
    takes: (listener, { parent: { port } }) => port === undefined || port === listener.port,
    finding: ({ parent }) => ({
      path: `${parent.path}.port`,
      message: `${nameOf(parent)} has no such listener on port ${parent.port ?? ''}`,
    }),
  },
  {
    takes: (listener, { route }) => kindsOf(listener).includes(kindIdOf(route)),
    finding: ({ parent, route }) => ({
      path: parent.path,
      message: `no listener of ${nameOf(parent)} takes ${route.kind}s`,
    }),
  },
  {
    takes: isNamespaceAllowed,
    finding: ({ parent, route }) => ({
      path: parent.path,
      message: `no listener of ${nameOf(parent)} takes routes of namespace ${namespaceOf(route)}`,
    }),
  },
]

function kindsOf({ protocol, allowedRoutes }: GatewayListener): readonly KindId[] {
  const able = carried[protocol] ?? []
  const asked = allowedRoutes?.kinds ?? []
  if (asked.length === 0) return able
  const askedIds = asked.map(({ group, kind }) => kindId(group ?? groups.gatewayApi, kind))
  return able.filter(id => askedIds.includes(id))
}

function isNamespaceAllowed(
  { allowedRoutes }: GatewayListener,
  { route, to }: Attempt,
  around: Surroundings,
): boolean | undefined {
  const { from = 'Same', selector = {} } = allowedRoutes?.namespaces ?? {}
  if (from === 'All') return true
  if (from === 'Same') return namespaceOf(route) === namespaceOf(to)
  if (from !== 'Selector') return false
  const namespace = around.get(locator(ids.Namespace, undefined, namespaceOf(route)))
  return namespace && selects(selector, labelsOf(namespace))
}

function labelsOf({ metadata }: Namespace | KubeObject): Readonly<Record<string, string>> {
  return { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name }
}

/** `*` for one that names no host. */
export const hostnameOf = ({ hostname = '' }: GatewayListener) =>
  hostname === '' ? '*' : hostname.toLowerCase()

/** `*` for a route that names none. */
export function hostnamesOf({ spec: { hostnames = [] } }: Route): readonly string[] {
  return hostnames.length === 0 ? ['*'] : hostnames.map(hostname => hostname.toLowerCase())
}

/** The hosts of one hostname of a route that a listener serves. */
export const metAt = (listener: GatewayListener, hostname: string) =>
  intersect(hostnameOf(listener), hostname)
