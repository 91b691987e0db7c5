import type { KubeObject, Locator } from '../core/index.js'
import { kindId, locator } from '../core/index.js'
import type { BackendObjectReference, HTTPRouteFilter, ParentReference } from '../kinds/index.js'
import { groups, ids } from '../kinds/index.js'
import type { Node, Reference } from './node.js'
import { numbered } from './node.js'

const parentField = numbered('spec.parentRefs')
const backendField = numbered('.backendRefs')

/** Any route kind, as far as its links go. */
export interface Route extends KubeObject {
  readonly spec: { readonly parentRefs?: readonly ParentReference[]; readonly rules?: readonly Rule[] }
}

export interface Rule {
  readonly name?: string
  readonly filters?: readonly HTTPRouteFilter[]
  readonly backendRefs?: readonly BackendRef[]
}

interface BackendRef extends BackendObjectReference {
  readonly filters?: readonly HTTPRouteFilter[]
}

/** A parent's locator: a Gateway unless it says otherwise, beside the route unless it says otherwise. */
export function parentOf(ref: ParentReference, namespace: string | undefined): Locator {
  return locator(
    kindId(ref.group ?? groups.gatewayApi, ref.kind ?? 'Gateway'),
    ref.namespace ?? namespace,
    ref.name,
  )
}

/**
 * A parentRef means a listener by name, all on a port, or all. Equal ones count once; a Service as parent (a mesh)
 * is no link here.
 */
export function listenersNamed({ object, namespace }: Node): Reference[] {
  const references: Reference[] = []
  const parentRefs = (object as Route).spec.parentRefs ?? []
  parentRefs.forEach((ref, i) => {
    if (ref.kind !== undefined && ref.kind !== 'Gateway' && ref.kind !== 'ListenerSet') return
    const to = parentOf(ref, namespace)
    const section = listenerOf(ref)
    const held = references.some(other => other.to === to && other.section === section)
    if (!held) references.push({ to, section, field: parentField(i) })
  })
  return references
}

function listenerOf({ sectionName = '', port }: ParentReference): string {
  const name = sectionName === '' ? '*' : sectionName
  return port === undefined ? name : `${name}:${port}`
}

export function backendsOf({ payload, namespace, field }: Node): Reference[] {
  const { backendRefs = [] } = payload as Rule
  return backendRefs.map((ref, i) => backendOf(ref, namespace, `${field}${backendField(i)}`))
}

/** With a port it is the Service's port of that number, else the Service. */
function backendOf(ref: BackendObjectReference, namespace: string | undefined, field: string): Reference {
  const { group = groups.core, kind = 'Service', name, port } = ref
  const isService = group === groups.core && kind === 'Service'
  const to = locator(isService ? ids.Service : kindId(group, kind), ref.namespace ?? namespace, name)
  return { to, section: isService && port !== undefined ? `*:${port}` : undefined, field }
}

export function mirrorsOf({ payload, namespace, field }: Node): Reference[] {
  return mirrorRefs(payload as Rule, field as string).map(({ ref, at }) => backendOf(ref, namespace, at))
}

export interface Found {
  readonly ref: BackendObjectReference
  readonly at: string
}

/** The mirrors among a rule's filters and among those of its backends. */
export function mirrorRefs({ filters, backendRefs = [] }: Rule, field: string): Found[] {
  const found = filters ? mirrorsIn(filters, field) : []
  backendRefs.forEach((backend, i) => {
    if (backend.filters) found.push(...mirrorsIn(backend.filters, `${field}.backendRefs[${i}]`))
  })
  return found
}

function mirrorsIn(filters: readonly HTTPRouteFilter[], field: string): Found[] {
  return filters.flatMap(({ requestMirror }, i) =>
    requestMirror
      ? [{ ref: requestMirror.backendRef, at: `${field}.filters[${i}].requestMirror.backendRef` }]
      : [],
  )
}
