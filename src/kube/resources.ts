import type { KindId } from '../core/index.js'
import { kindById } from '../kinds/index.js'
import type { KindRow } from '../kinds/index.js'

/** The row of a kind. Throws for a kind that is not in the table: a bug. */
export function rowOf(kind: KindId): KindRow {
  const row = kindById(kind)
  if (row === undefined) throw new Error(`${kind} is not in the table of kinds`)
  return row
}

export function apiVersionOf({ group }: KindRow, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

/** The document that says which versions a group has; undefined for the core group, which is always there. */
export function groupPath({ group }: KindRow): string | undefined {
  return group === '' ? undefined : `/apis/${group}`
}

/** The document that says which resources a version of a group has. */
export function versionPath(row: KindRow, version: string): string {
  return row.group === '' ? `/api/${version}` : `/apis/${row.group}/${version}`
}

/** Where the objects of a kind are. */
export function collectionPath(row: KindRow, version: string, namespace?: string): string {
  const within = row.namespaced && namespace !== undefined ? `/namespaces/${namespace}` : ''
  return `${versionPath(row, version)}${within}/${row.plural}`
}

export function queryOf(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
