import { locatorOf, parseLocator } from '../core/index.js'
import type { KubeObject, Locator, ObjectMeta } from '../core/index.js'
import type { Condition } from '../kinds/index.js'
import type { Status, StatusRow } from './types.js'

/** Finds the status of an object, if it has one. */
export type StatusLookup = (locator: Locator) => Status | undefined

/** A Kubernetes List (v1). */
export interface ObjectList {
  readonly apiVersion: 'v1'
  readonly kind: 'List'
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly KubeObject[]
}

/** The objects that have a status, as a List with `status` exactly as Kubernetes would hold it. */
export function statusList(objects: readonly KubeObject[], lookup: StatusLookup): ObjectList {
  const items = objects.filter(object => lookup(locatorOf(object)) !== undefined)
  return objectList(items, lookup)
}

/** All the objects as a List, each with its status where it has one; what is secret in them is left out. */
export function objectList(objects: readonly KubeObject[], lookup: StatusLookup): ObjectList {
  const items = objects.map(object => publicObject(object, lookup(locatorOf(object))))
  return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items }
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * The object as it may be shown: without a Secret's data, without the copy of it that `kubectl apply` leaves in
 * an annotation, without managed fields, and with `status` in place of its own where one is given.
 */
export function publicObject(object: KubeObject, status?: Status): KubeObject {
  const isSecret = object.apiVersion === 'v1' && object.kind === 'Secret'
  const shown = isSecret ? without(object, 'data', 'stringData') : object
  return { ...shown, metadata: publicMetadata(object.metadata), ...(status && { status }) }
}

function publicMetadata(metadata: ObjectMeta): ObjectMeta {
  const shown = without(metadata, 'managedFields')
  if (!shown.annotations) return shown
  return { ...shown, annotations: without(shown.annotations, lastApplied) }
}

function without<T extends object>(value: T, ...names: readonly string[]): T {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) as T
}

/** One row per condition, in the order of the objects and, within one, of its status. */
export function statusTable(objects: readonly KubeObject[], lookup: StatusLookup): StatusRow[] {
  return objects.flatMap(object => {
    const status = lookup(locatorOf(object))
    return status ? statusRows(object, status) : []
  })
}

function statusRows(object: KubeObject, status: Status): StatusRow[] {
  const row = (condition: Condition, part?: string): StatusRow => ({
    kind: object.kind,
    ...(object.metadata.namespace !== undefined && { namespace: object.metadata.namespace }),
    name: object.metadata.name,
    ...(part !== undefined && { part }),
    ...condition,
  })
  return [
    ...(status.conditions ?? []).map(condition => row(condition)),
    ...(status.listeners ?? []).flatMap(listener =>
      listener.conditions.map(condition => row(condition, `listener ${listener.name}`)),
    ),
    ...(status.parents ?? []).flatMap(parent =>
      parent.conditions.map(condition => row(condition, parentName(parent.parentRef))),
    ),
  ]
}

interface ParentName {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  readonly sectionName?: string
  readonly port?: number
}

/** `parent Gateway infra/public#https:8443`, as far as the reference says it. */
function parentName(parentRef: object): string {
  const { kind = 'Gateway', namespace, name = '', sectionName, port } = parentRef as ParentName
  const section = sectionName === undefined ? '' : `#${sectionName}`
  const at = port === undefined ? '' : `:${port}`
  return `parent ${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}${section}${at}`
}

/** What narrows a list of objects; every part that is given must hold. */
export interface ObjectFilter {
  /** `HTTPRoute`, `httproute` or `httproute.gateway.networking.k8s.io`; any of them. */
  readonly kind?: readonly string[]
  readonly namespace?: string
  readonly name?: string
}

/** Whether an object's locator passes the filter. */
export function passes(filter: ObjectFilter, locator: Locator): boolean {
  const { kind, namespace, name } = parseLocator(locator)
  return (
    (filter.kind === undefined || filter.kind.some(asked => isKind(kind, asked.toLowerCase()))) &&
    (filter.namespace === undefined || filter.namespace === namespace) &&
    (filter.name === undefined || filter.name === name)
  )
}

function isKind(kind: string, asked: string): boolean {
  return kind === asked || kind.split('.', 1)[0] === asked
}
