import type { KubeObject, Locator } from '../../core/index.js'
import { groupOf, kindId, kindIdOf, locator } from '../../core/index.js'
import { controllerName, groups, ids } from '../../kinds/index.js'
import type {
  BackendObjectReference,
  Gateway,
  GatewayClass,
  GatewayListener,
  HTTPRouteFilter,
  ParentReference,
  ReferenceGrant,
  SecretReference,
} from '../../kinds/index.js'
import type { Lookup, Surroundings } from './surroundings.js'

/** A reference to an object, complete. */
export interface Reference {
  readonly path: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly port?: number | undefined
}

export type Parent = Reference & { readonly sectionName?: string | undefined }

/** Any kind of route, as far as its references go; {@link routeKinds}. */
export interface Route extends KubeObject {
  readonly spec: {
    readonly parentRefs?: readonly ParentReference[]
    readonly hostnames?: readonly string[]
    readonly rules?: readonly RouteRule[]
  }
}

interface RouteRule {
  readonly filters?: readonly HTTPRouteFilter[]
  readonly backendRefs?: readonly (BackendObjectReference & {
    readonly filters?: readonly HTTPRouteFilter[]
  })[]
}

export const routeKinds = [ids.HTTPRoute, ids.GRPCRoute, ids.TLSRoute, ids.TCPRoute, ids.UDPRoute]

export const namespaceOf = ({ metadata }: KubeObject) => metadata.namespace ?? ''

/** `Service shop/cart`: how a message calls what is referred to. */
export const nameOf = ({ kind, namespace, name }: Reference) => `${kind} ${namespace}/${name}`

export const keyOf = ({ group, kind, namespace, name }: Reference): Locator =>
  locator(kindId(group, kind), namespace, name)

/** The Gateways and ListenerSets that a route names; anything else as a parent (a Service) is somebody else's. */
export function parentsOf(route: Route): readonly Parent[] {
  return (route.spec.parentRefs ?? [])
    .map((ref, position) => parentAt(route, ref, `spec.parentRefs[${position}]`))
    .filter(
      ({ group, kind }) => group === groups.gatewayApi && (kind === 'Gateway' || kind === 'ListenerSet'),
    )
}

export function parentAt(from: KubeObject, ref: ParentReference, path: string): Parent {
  return {
    ...referenceAt(from, ref, path, { group: groups.gatewayApi, kind: 'Gateway' }),
    port: ref.port,
    sectionName: ref.sectionName === '' ? undefined : ref.sectionName,
  }
}

/** Where requests and their copies go. */
export function backendsOf(route: Route): readonly Reference[] {
  return (route.spec.rules ?? []).flatMap(({ filters, backendRefs = [] }, position) => {
    const path = `spec.rules[${position}]`
    const found = backendRefs.flatMap((ref, at) => [
      { ref, path: `${path}.backendRefs[${at}]` },
      ...mirrorsAt(ref.filters, `${path}.backendRefs[${at}]`),
    ])
    return [...found, ...mirrorsAt(filters, path)].map(each => backendAt(route, each.ref, each.path))
  })
}

function mirrorsAt(filters: readonly HTTPRouteFilter[] = [], path: string) {
  return filters.flatMap(({ requestMirror }, at) =>
    requestMirror
      ? [{ ref: requestMirror.backendRef, path: `${path}.filters[${at}].requestMirror.backendRef` }]
      : [],
  )
}

function backendAt(from: KubeObject, ref: BackendObjectReference, path: string): Reference {
  return { ...referenceAt(from, ref, path, { group: '', kind: 'Service' }), port: ref.port }
}

/** A Gateway or a ListenerSet. */
export interface Listening extends KubeObject {
  readonly spec: { readonly listeners: readonly GatewayListener[] }
}

export function certificatesOf(object: Listening): readonly Reference[] {
  return object.spec.listeners.flatMap((listener, position) =>
    (listener.tls?.certificateRefs ?? []).map((ref, at) =>
      secretAt(object, ref, `spec.listeners[${position}].tls.certificateRefs[${at}]`),
    ),
  )
}

export function secretAt(from: KubeObject, ref: SecretReference, path: string): Reference {
  return referenceAt(from, ref, path, { group: '', kind: 'Secret' })
}

/** A reference with what it leaves out. */
function referenceAt(
  from: KubeObject,
  { group, kind, namespace, name }: SecretReference,
  path: string,
  preset: { readonly group: string; readonly kind: string },
): Reference {
  return {
    path,
    group: group ?? preset.group,
    kind: kind ?? preset.kind,
    namespace: namespace ?? namespaceOf(from),
    name,
  }
}

/** Grants by the namespace that they open. */
export const grantsByNamespace: Lookup = {
  kind: ids.ReferenceGrant,
  keysOf: grant => [namespaceOf(grant)],
}

/** Why nothing may follow the reference (GEP-709); undefined within one namespace and where a grant allows it. */
export function whyNotGranted(from: KubeObject, to: Reference, around: Surroundings): string | undefined {
  if (to.namespace === namespaceOf(from)) return undefined
  const grants = around.near(grantsByNamespace, to.namespace) as readonly ReferenceGrant[]
  return grants.some(grant => allows(grant, from, to))
    ? undefined
    : `no ReferenceGrant in namespace ${to.namespace} allows it`
}

function allows({ spec }: ReferenceGrant, source: KubeObject, to: Reference): boolean {
  const isFrom = spec.from.some(
    from =>
      from.group === groupOf(source.apiVersion) &&
      from.kind === source.kind &&
      from.namespace === namespaceOf(source),
  )
  const isTo = ({ group, kind, name }: ReferenceGrant['spec']['to'][number]) =>
    group === to.group && kind === to.kind && (name === undefined || name === '' || name === to.name)
  return isFrom && spec.to.some(isTo)
}

/** Whether another controller serves it: then nothing here is ours to say. Unknown classes may still become ours. */
export function isForeign(gateway: Gateway, around: Surroundings): boolean {
  const key = locator(ids.GatewayClass, undefined, gateway.spec.gatewayClassName)
  const gatewayClass = around.get(key) as GatewayClass | undefined
  return gatewayClass !== undefined && gatewayClass.spec.controllerName !== controllerName
}

/** The Gateway that a parent is or belongs to, where it is there. */
export function gatewayOf(parent: Parent, around: Surroundings): Gateway | undefined {
  const object = around.get(keyOf(parent))
  if (!object || kindIdOf(object) === ids.Gateway) return object as Gateway | undefined
  const { parentRef } = (object as unknown as { readonly spec: { readonly parentRef: ParentReference } }).spec
  return around.get(keyOf(parentAt(object, parentRef, ''))) as Gateway | undefined
}

/** The parents of a route that may be ours. */
export function ownParentsOf(route: Route, around: Surroundings): readonly Parent[] {
  return parentsOf(route).filter(parent => {
    const gateway = gatewayOf(parent, around)
    return gateway === undefined || !isForeign(gateway, around)
  })
}

/** Whether everything that a route is attached to is somebody else's. */
export function isForeignRoute(route: Route, around: Surroundings): boolean {
  return (route.spec.parentRefs ?? []).length > 0 && ownParentsOf(route, around).length === 0
}
