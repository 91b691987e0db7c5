import type { KindId, KubeObject } from '../../src/core/index.js'
import { groups, kinds, type KindRow } from '../../src/kinds/index.js'

/** What a path is about. */
/** Objects of a kind. */
export type KindTarget = Extract<Target, { what: 'kind' }>

export type Target =
  | { readonly what: 'ready' | 'review' | 'unknown' }
  | { readonly what: 'document'; readonly document: object }
  | {
      readonly what: 'kind'
      readonly row: KindRow
      readonly version: string
      readonly namespace: string | undefined
    }

const unknown: Target = { what: 'unknown' }

export function route(path: string, installed: ReadonlySet<KindId>): Target {
  if (path === '/readyz') return { what: 'ready' }
  if (/\/(tokenreviews|subjectaccessreviews)$/.test(path)) return { what: 'review' }
  const match =
    /^\/(?:api\/(v1)|apis\/([^/]+)(?:\/([^/]+))?)(?:\/namespaces\/([^/]+)(?=\/))?(?:\/([^/]+))?$/.exec(path)
  if (!match) return unknown
  const [, core, group = '', version = core, namespace, plural] = match
  const rows = kinds.filter(row => row.group === group && installed.has(row.id))
  if (rows.length === 0) return unknown
  if (version === undefined) return { what: 'document', document: groupDocument(group, rows) }
  const served = rows.filter(({ versions }) => versions.includes(version))
  if (served.length === 0) return unknown
  if (plural === undefined) return { what: 'document', document: resourceDocument(served) }
  const row = served.find(each => each.plural === plural)
  return row === undefined ? unknown : { what: 'kind', row, version, namespace }
}

function groupDocument(group: string, rows: readonly KindRow[]): object {
  const versions = [...new Set(rows.flatMap(row => row.versions))]
  return { kind: 'APIGroup', name: group, versions: versions.map(version => ({ version })) }
}

function resourceDocument(rows: readonly KindRow[]): object {
  return { kind: 'APIResourceList', resources: rows.map(({ plural, kind }) => ({ name: plural, kind })) }
}

/** A list as the real one sends it: items of builtin kinds do not say what they are. */
export function asList(
  { group, kind }: KindRow,
  version: string,
  objects: readonly KubeObject[],
  resourceVersion: string,
  next: string | undefined,
  partial: boolean,
): object {
  const isBuiltin = group === '' || group === groups.discovery
  const items = objects.map(object => (partial ? asMetadata(object) : isBuiltin ? untyped(object) : object))
  return {
    apiVersion: partial ? 'meta.k8s.io/v1' : group === '' ? version : `${group}/${version}`,
    kind: partial ? 'PartialObjectMetadataList' : `${kind}List`,
    metadata: { resourceVersion, ...(next !== undefined && { continue: next }) },
    items,
  }
}

function untyped(object: KubeObject): object {
  return Object.fromEntries(
    Object.entries(object).filter(([name]) => name !== 'kind' && name !== 'apiVersion'),
  )
}

export function asMetadata({ metadata }: KubeObject): object {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata }
}

export function statusBody(code: number, reason: string, message: string): object {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message, metadata: {} }
}
