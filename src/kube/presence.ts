import type { KindRow } from '../kinds/index.js'
import type { Answer, Connection } from './connection.js'
import { kubeErrorOf } from './errors.js'
import { groupPath, versionPath } from './resources.js'

interface ResourceList {
  readonly resources?: readonly { readonly name?: string }[]
}

type Ask = (path: string) => Promise<Answer>

/**
 * Whether the API server itself says that no version of the kind is installed. A 404 alone does not: one that is only
 * starting gives it for custom resources that are there. Rejects when it cannot be told.
 */
export async function isAbsent(connection: Connection, row: KindRow, signal?: AbortSignal): Promise<boolean> {
  const ask: Ask = path => connection.ask({ method: 'GET', path, ...(signal && { signal }) })
  const group = groupPath(row)
  if (group === undefined) return false
  if (await isThere(ask, group)) {
    for (const version of row.versions) {
      if (await isListed(ask, versionPath(row, version), row.plural)) return false
    }
    return true
  }
  const { status, body } = await ask('/readyz')
  // Whoever may not ask is answered by a server that is up.
  if (status === 200 || status === 401 || status === 403) return true
  throw kubeErrorOf(status, body, 'GET /readyz')
}

async function isThere(ask: Ask, path: string): Promise<boolean> {
  const { status, body } = await ask(path)
  if (status === 200 || status === 404) return status === 200
  throw kubeErrorOf(status, body, `GET ${path}`)
}

async function isListed(ask: Ask, path: string, plural: string): Promise<boolean> {
  const { status, body } = await ask(path)
  if (status === 404) return false
  if (status !== 200) throw kubeErrorOf(status, body, `GET ${path}`)
  return (body as ResourceList | undefined)?.resources?.some(({ name }) => name === plural) === true
}
