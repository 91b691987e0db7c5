import type { KubeObject } from './object.js'

/** `lower(kind)[.group]`, for example `httproute.gateway.networking.k8s.io` or `service`. */
export type KindId = string

/**
 * The one identity of an object, a store key and a topology node alike:
 * `<KindId>:[<namespace>/]<name>`; a section adds `#<section>`
 * (`gateway.gateway.networking.k8s.io:shop/public#https`).
 */
export type Locator = string

/** The API group of `apiVersion`; `''` is the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

export function kindId(group: string, kind: string): KindId {
  return group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`
}

export function locator(id: KindId, namespace: string | undefined, name: string): Locator {
  return namespace === undefined || namespace === '' ? `${id}:${name}` : `${id}:${namespace}/${name}`
}

export function kindIdOf(object: KubeObject): KindId {
  return kindId(groupOf(object.apiVersion), object.kind)
}

export function locatorOf(object: KubeObject): Locator {
  return locator(kindIdOf(object), object.metadata.namespace, object.metadata.name)
}

export function section(parent: Locator, name: string): Locator {
  return `${parent}#${name}`
}

export interface LocatorParts {
  readonly kind: KindId
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string
  readonly name: string
  readonly section?: string
}

/** The parts of a locator. Throws on a text that is none (a bug: locators are made, never typed). */
export function parseLocator(text: Locator): LocatorParts {
  const match = /^([^:]+):(?:([^/#]+)\/)?([^#]+)(?:#(.*))?$/.exec(text)
  if (!match) throw new Error(`not a locator: ${text}`)
  const [, kind, namespace, name, sectionName] = match
  return {
    kind: kind as string,
    name: name as string,
    ...(namespace !== undefined && { namespace }),
    ...(sectionName !== undefined && { section: sectionName }),
  }
}
