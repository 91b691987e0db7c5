import type { KubeObject } from '../../core/index.js'
import { groupOf, kindId, locator, locatorOf } from '../../core/index.js'
import { groups, ids } from '../../kinds/index.js'
import type { Gateway, HTTPRoute, ParentReference, ReferenceGrant } from '../../kinds/index.js'
import type { Snapshot } from '../../store/index.js'

/** A question about an object among the others: what is odd about it now, though it may be right later. */
export interface CrossCheck {
  readonly name: string
  /** One sentence for each finding, beginning with the field. */
  readonly reasons: (object: KubeObject, snapshot: Snapshot) => readonly string[]
}

/** A reference to an object, complete. */
interface Reference {
  readonly path: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

type Route = HTTPRoute

const isRoute = (object: KubeObject): object is Route =>
  groupOf(object.apiVersion) === groups.gatewayApi && object.kind.endsWith('Route')

const namespaceOf = ({ metadata }: KubeObject) => metadata.namespace ?? ''

function parentsOf(route: Route): readonly (Reference & ParentReference)[] {
  return (route.spec.parentRefs ?? [])
    .map((parentRef, position) => ({
      ...parentRef,
      path: `spec.parentRefs[${position}]`,
      group: parentRef.group ?? groups.gatewayApi,
      kind: parentRef.kind ?? 'Gateway',
      namespace: parentRef.namespace ?? namespaceOf(route),
    }))
    .filter(({ group, kind }) => group === groups.gatewayApi && kind === 'Gateway')
}

function backendsOf(route: Route): readonly Reference[] {
  return (route.spec.rules ?? []).flatMap((rule, position) => {
    const refs = (rule.backendRefs ?? []).map((ref, at) => ({ ref, path: `backendRefs[${at}]` }))
    const mirrors = (rule.filters ?? []).flatMap(({ requestMirror }, at) =>
      requestMirror
        ? [{ ref: requestMirror.backendRef, path: `filters[${at}].requestMirror.backendRef` }]
        : [],
    )
    return [...refs, ...mirrors].map(({ ref, path }) => ({
      path: `spec.rules[${position}].${path}`,
      group: ref.group ?? '',
      kind: ref.kind ?? 'Service',
      namespace: ref.namespace ?? namespaceOf(route),
      name: ref.name,
    }))
  })
}

function certificatesOf(gateway: Gateway): readonly Reference[] {
  return gateway.spec.listeners.flatMap(({ tls }, position) =>
    (tls?.certificateRefs ?? []).map((ref, at) => ({
      path: `spec.listeners[${position}].tls.certificateRefs[${at}]`,
      group: ref.group ?? '',
      kind: ref.kind ?? 'Secret',
      namespace: ref.namespace ?? namespaceOf(gateway),
      name: ref.name,
    })),
  )
}

function targetsOf(object: KubeObject): readonly Reference[] {
  if (isRoute(object)) return backendsOf(object)
  return locatorOf(object).startsWith(`${ids.Gateway}:`) ? certificatesOf(object as Gateway) : []
}

const locatorOfReference = ({ group, kind, namespace, name }: Reference) =>
  locator(kindId(group, kind), namespace, name)

/** Why nothing may follow the reference (GEP-709); undefined within one namespace and where a grant allows it. */
function whyNotGranted(from: KubeObject, to: Reference, snapshot: Snapshot): string | undefined {
  if (to.namespace === namespaceOf(from)) return undefined
  const grants = snapshot.list(ids.ReferenceGrant) as readonly ReferenceGrant[]
  const isGranted = grants.some(grant => grant.metadata.namespace === to.namespace && allows(grant, from, to))
  return isGranted ? undefined : `no ReferenceGrant in namespace ${to.namespace} allows it`
}

function allows({ spec }: ReferenceGrant, source: KubeObject, to: Reference): boolean {
  const isFrom = spec.from.some(
    from =>
      from.group === groupOf(source.apiVersion) &&
      from.kind === source.kind &&
      from.namespace === namespaceOf(source),
  )
  return (
    isFrom &&
    spec.to.some(
      ({ group, kind, name = to.name }) => group === to.group && kind === to.kind && name === to.name,
    )
  )
}

const missingParents: CrossCheck = {
  name: 'parent-exists',
  reasons: (object, snapshot) =>
    !isRoute(object)
      ? []
      : parentsOf(object)
          .filter(parent => snapshot.get(locatorOfReference(parent)) === undefined)
          .map(({ path, namespace, name }) => `${path}: Gateway ${namespace}/${name} does not exist yet`),
}

const missingSections: CrossCheck = {
  name: 'section-exists',
  reasons: (object, snapshot) =>
    !isRoute(object)
      ? []
      : parentsOf(object).flatMap(({ sectionName, ...parent }) => {
          const gateway = snapshot.get(locatorOfReference(parent)) as Gateway | undefined
          if (sectionName === undefined || gateway === undefined) return []
          if (gateway.spec.listeners.some(({ name }) => name === sectionName)) return []
          const of = `Gateway ${parent.namespace}/${parent.name}`
          return [`${parent.path}.sectionName: ${of} has no listener "${sectionName}"`]
        }),
}

/** Says nothing of what is in another namespace that did not open itself. */
const missingBackends: CrossCheck = {
  name: 'backend-exists',
  reasons: (object, snapshot) =>
    !isRoute(object)
      ? []
      : backendsOf(object)
          .filter(({ group, kind }) => [ids.Service, ids.Backend].some(id => id === kindId(group, kind)))
          .filter(target => whyNotGranted(object, target, snapshot) === undefined)
          .filter(target => snapshot.get(locatorOfReference(target)) === undefined)
          .map(
            ({ path, kind, namespace, name }) => `${path}: ${kind} ${namespace}/${name} does not exist yet`,
          ),
}

const missingGrants: CrossCheck = {
  name: 'reference-granted',
  reasons: (object, snapshot) =>
    targetsOf(object).flatMap(target => {
      const why = whyNotGranted(object, target, snapshot)
      return why === undefined ? [] : [`${target.path}: ${why}`]
    }),
}

/** What needs no more than the store's content; all of it may still arrive, so all of it is a warning. */
export const crossChecks: readonly CrossCheck[] = [
  missingParents,
  missingSections,
  missingBackends,
  missingGrants,
]
