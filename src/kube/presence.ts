import type { KindRow } from '../kinds/index.js'
import type { Connection } from './connection.js'
import { kubeErrorOf } from './errors.js'
import { groupPath, versionPath } from './resources.js'

interface ResourceList {
  readonly resources?: readonly { readonly name?: string }[]
}

/**
 * Whether the API server itself says that no version of the kind is installed. A 404 alone does not: one that is only
 * starting gives it for custom resources that are there. Rejects when it cannot be told.
 */
export async function isAbsent(connection: Connection, row: KindRow, signal?: AbortSignal): Promise<boolean> {
  const ask = (path: string) => connection.ask({ method: 'GET', path, ...(signal && { signal }) })
  const group = groupPath(row)
  if (group !== undefined && (await ask(group)).status === 404) {
    const { status, body } = await ask('/readyz')
    // Whoever may not ask is answered by a server that is up.
    if (status === 200 || status === 401 || status === 403) return true
    throw kubeErrorOf(status, body, 'GET /readyz')
  }
  for (const version of row.versions) {
    const path = versionPath(row, version)
    const { status, body } = await ask(path)
    if (status === 404) continue
    if (status !== 200) throw kubeErrorOf(status, body, `GET ${path}`)
    if ((body as ResourceList | undefined)?.resources?.some(({ name }) => name === row.plural)) return false
  }
  return true
}
