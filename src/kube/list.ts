import type { KindRow } from '../kinds/index.js'
import type { Connection } from './connection.js'
import { kubeErrorOf, KubeError } from './errors.js'
import { apiVersionOf, collectionPath, queryOf } from './resources.js'
import type { KubeList, ListOptions } from './types.js'

export const metadataOnly = {
  list: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  watch: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
}

const largestPage = 500
/** Small, for how large the objects are shows only now. */
const firstPage = 100
/** What is parsed at once: 2 MiB hold the event loop for some 20 ms. */
const pageBytes = 2 * 1024 * 1024

interface Page {
  readonly metadata?: {
    readonly resourceVersion?: string
    readonly continue?: string
  }
  readonly items?: readonly { readonly metadata?: Metadata }[] | null
}

/** What is read of meta/v1 ObjectMeta here. */
export interface Metadata {
  readonly resourceVersion?: string
  readonly annotations?: Readonly<Record<string, unknown>>
}

/** All pages at one version, or nothing. Rejects with a KubeError, of 404 too. */
export async function listPages(
  connection: Connection,
  row: KindRow,
  version: string,
  options: ListOptions,
): Promise<KubeList> {
  const items: unknown[] = []
  let at: string | undefined
  let more: string | undefined
  const { pageSize = largestPage } = options
  let limit = Math.min(pageSize, options.pageSize ?? firstPage)
  do {
    const part = { limit, continue: more }
    const { page, bytes } = await readPage(
      connection,
      collectionPath(row, version, options.namespace),
      options,
      part,
    )
    limit = Math.min(pageSize, Math.max(1, Math.floor((limit * pageBytes) / bytes)))
    const { resourceVersion = '', continue: next } = page.metadata ?? {}
    if (at !== undefined && at !== resourceVersion) {
      throw new KubeError(
        410,
        'Expired',
        `the pages of ${row.plural} are of versions ${at} and ${resourceVersion}`,
      )
    }
    at = resourceVersion
    more = next === '' ? undefined : next
    const partial = options.metadataOnly === true
    for (const item of page.items ?? []) items.push(typed(partial ? bare(item.metadata) : item, row, version))
  } while (more !== undefined)
  return { items, version: at }
}

async function readPage(
  connection: Connection,
  collection: string,
  { name, labelSelector, metadataOnly: partial = false, signal }: ListOptions,
  part: { readonly limit: number; readonly continue: string | undefined },
): Promise<{ readonly page: Page; readonly bytes: number }> {
  const query = queryOf({
    ...part,
    fieldSelector: name === undefined ? undefined : `metadata.name=${name}`,
    labelSelector,
  })
  const { status, body, bytes } = await connection.ask({
    method: 'GET',
    path: collection + query,
    ...(partial && { accept: metadataOnly.list }),
    ...(signal && { signal }),
  })
  if (status !== 200) throw kubeErrorOf(status, body, `GET ${collection}`)
  const page = body as Page | undefined
  if (page?.metadata?.resourceVersion === undefined) {
    throw new KubeError(status, '', `GET ${collection} answered something that is no list`)
  }
  return { page, bytes }
}

/** Items of a list do not say what they are; those of metadata alone say that they are metadata. */
export function typed(item: object, row: KindRow, version: string): object {
  return { ...item, apiVersion: apiVersionOf(row, version), kind: row.kind }
}

/** Metadata without the copy of the whole object, Secrets' data too, that `kubectl apply` leaves in it, nor who set what. */
export function bare(of: Metadata = {}): object {
  const metadata: Record<string, unknown> = { ...of }
  delete metadata['managedFields']
  if (of.annotations) {
    const annotations = { ...of.annotations }
    delete annotations['kubectl.kubernetes.io/last-applied-configuration']
    metadata['annotations'] = annotations
  }
  return { metadata }
}
