import type { KubeObject } from '../../core/index.js'
import { kindId, locator } from '../../core/index.js'
import { ids } from '../../kinds/index.js'
import type { Service } from '../../kinds/index.js'
import type { Listening, Reference, Route } from './references.js'
import {
  backendsOf,
  certificatesOf,
  isForeignRoute,
  keyOf,
  nameOf,
  namespaceOf,
  routeKinds,
  whyNotGranted,
} from './references.js'
import type { Surroundings } from './surroundings.js'
import type { CrossCheck, Finding } from './types.js'

/** Says nothing of what is in another namespace that did not open itself. */
const backends: CrossCheck = {
  name: 'backend-exists',
  kinds: routeKinds,
  find: (object, around) =>
    ownBackendsOf(object, around)
      .filter(target => whyNotGranted(object, target, around) === undefined)
      .flatMap(target => whyNoBackend(target, around) ?? []),
}

function ownBackendsOf(object: KubeObject, around: Surroundings): readonly Reference[] {
  const route = object as Route
  return isForeignRoute(route, around) ? [] : backendsOf(route)
}

function whyNoBackend(target: Reference, around: Surroundings): Finding | undefined {
  const kind = kindId(target.group, target.kind)
  if (kind !== ids.Service && kind !== ids.Backend) return undefined
  const object = around.get(keyOf(target))
  if (!object) return { path: target.path, message: `${nameOf(target)} does not exist yet` }
  if (kind === ids.Backend || target.port === undefined) return undefined
  const { type, ports = [] } = (object as Service).spec
  if (type === 'ExternalName' || ports.some(({ port }) => port === target.port)) return undefined
  return { path: `${target.path}.port`, message: `${nameOf(target)} has no port ${target.port}` }
}

const grants: CrossCheck = {
  name: 'reference-granted',
  kinds: [...routeKinds, ids.ListenerSet],
  find(object, around) {
    const targets =
      'listeners' in (object as Listening).spec
        ? certificatesOf(object as Listening)
        : ownBackendsOf(object, around)
    return ungranted(object, targets, around)
  },
}

/** What may not be followed. */
export function ungranted(
  object: KubeObject,
  targets: readonly Reference[],
  around: Surroundings,
): readonly Finding[] {
  return targets.flatMap(target => {
    const message = whyNotGranted(object, target, around)
    return message === undefined ? [] : [{ path: target.path, message }]
  })
}

interface BackendTLSPolicy extends KubeObject {
  readonly spec: {
    readonly targetRefs: readonly {
      readonly group: string
      readonly kind: string
      readonly name: string
      readonly sectionName?: string
    }[]
  }
}

/** Its targets are beside it; a section of a Service is a port by name. */
const policyTargets: CrossCheck = {
  name: 'target-exists',
  kinds: [ids.BackendTLSPolicy],
  find: (object, around) =>
    (object as BackendTLSPolicy).spec.targetRefs.flatMap(({ group, kind, name, sectionName }, position) => {
      if (kindId(group, kind) !== ids.Service) return []
      const path = `spec.targetRefs[${position}]`
      const service = around.get(locator(ids.Service, namespaceOf(object), name)) as Service | undefined
      const called = `Service ${namespaceOf(object)}/${name}`
      if (!service) return [{ path, message: `${called} does not exist yet` }]
      if (sectionName === undefined || service.spec.ports?.some(port => port.name === sectionName)) return []
      return [{ path: `${path}.sectionName`, message: `${called} has no port named "${sectionName}"` }]
    }),
}

/** Where requests go. */
export const backendChecks: readonly CrossCheck[] = [backends, grants, policyTargets]
