import type { KubeObject } from '../../core/index.js'
import { ids } from '../../kinds/index.js'
import type { GatewayListener, ParentReference } from '../../kinds/index.js'
import type { Attempt } from './attachment.js'
import { hostnamesOf, metAt, takers } from './attachment.js'
import type { Listening, Parent, Route } from './references.js'
import { gatewayOf, isForeign, keyOf, nameOf, ownParentsOf, parentAt, routeKinds } from './references.js'
import type { Surroundings } from './surroundings.js'
import type { CrossCheck, Finding } from './types.js'

const missing = (reference: Parent): Finding => ({
  path: reference.path,
  message: `${nameOf(reference)} does not exist yet`,
})

const missingParents: CrossCheck = {
  name: 'parent-exists',
  kinds: routeKinds,
  find: (object, around) =>
    ownParentsOf(object as Route, around)
      .filter(parent => around.get(keyOf(parent)) === undefined)
      .map(missing),
}

interface ListenerSet extends KubeObject {
  readonly spec: { readonly parentRef: ParentReference }
}

const missingGateways: CrossCheck = {
  name: 'gateway-exists',
  kinds: [ids.ListenerSet],
  find(object, around) {
    const parent = parentAt(object, (object as ListenerSet).spec.parentRef, 'spec.parentRef')
    return around.get(keyOf(parent)) === undefined ? [missing(parent)] : []
  },
}

/** Every parent that is there and ours, with the route that names it. */
function attempts(object: KubeObject, around: Surroundings): readonly Attempt[] {
  const route = object as Route
  return ownParentsOf(route, around).flatMap(parent => {
    const to = around.get(keyOf(parent)) as Listening | undefined
    return to ? [{ route, parent, to }] : []
  })
}

const unattached: CrossCheck = {
  name: 'listener-takes-route',
  kinds: routeKinds,
  find: (object, around) =>
    attempts(object, around).flatMap(attempt => {
      const found = takers(attempt, around)
      return isFinding(found) ? [found] : strangers(attempt, found)
    }),
}

const isFinding = (found: readonly GatewayListener[] | Finding): found is Finding => 'path' in found

/** Hostnames of the route that no listener which takes it has. */
function strangers({ route, parent }: Attempt, listeners: readonly GatewayListener[]): readonly Finding[] {
  const hostnames = hostnamesOf(route)
  const unmet = hostnames
    .map((hostname, position) => ({ hostname, position }))
    .filter(({ hostname }) => listeners.every(listener => metAt(listener, hostname) === undefined))
  const where = `${listeners.length === 1 ? `listener "${listeners[0]?.name ?? ''}"` : 'any listener'} of ${nameOf(parent)}`
  if (unmet.length === hostnames.length) {
    return [{ path: parent.path, message: `no hostname of the route is one of ${where}` }]
  }
  return unmet.map(({ hostname, position }) => ({
    path: `spec.hostnames[${position}]`,
    message: `${hostname} is not a hostname of ${where}`,
  }))
}

const unserved: CrossCheck = {
  name: 'kind-served',
  kinds: routeKinds.filter(kind => kind !== ids.HTTPRoute),
  find(object, around) {
    const isOurs = ownParentsOf(object as Route, around).some(parent => {
      const gateway = gatewayOf(parent, around)
      return gateway !== undefined && !isForeign(gateway, around)
    })
    return isOurs
      ? [{ path: 'kind', message: `${object.kind} is only validated: this version does not serve it` }]
      : []
  },
}

/** What a route or a ListenerSet hangs on. */
export const parentChecks: readonly CrossCheck[] = [missingParents, missingGateways, unattached, unserved]
