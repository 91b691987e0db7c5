import { StringDecoder } from 'node:string_decoder'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../core/index.js'
import type { KindRow } from '../kinds/index.js'
import type { Connection } from './connection.js'
import { kubeErrorOf, KubeError } from './errors.js'
import { metadataOnly, typed } from './list.js'
import { collectionPath, queryOf } from './resources.js'
import type { WatchEvent, WatchOptions } from './types.js'

/** ms without a byte after which a connection is taken to be dead: bookmarks come about every minute. */
const patience = 150_000

/** Changes of a kind after a version. Throws a KubeError: 404 too, and 410 where the version is too old. */
export async function* watchChanges(
  connection: Connection,
  row: KindRow,
  version: string,
  options: WatchOptions,
  clock: Clock,
): AsyncGenerator<WatchEvent, void> {
  const { signal, metadataOnly: partial = false, timeoutMs = 300_000 * (0.8 + 0.4 * Math.random()) } = options
  const collection = collectionPath(row, version)
  const query = queryOf({
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion: options.version,
    timeoutSeconds: Math.max(1, Math.round(timeoutMs / 1000)),
  })
  try {
    const answer = await connection.send({
      method: 'GET',
      path: collection + query,
      signal,
      long: true,
      ...(partial && { accept: metadataOnly.watch }),
    })
    if (answer.statusCode !== 200) throw await refusal(answer, collection)
    for await (const line of lines(answer, clock)) yield eventOf(line, row, version)
  } catch (error) {
    if (signal.aborted) return
    throw error instanceof KubeError ? error : connection.unreachable('GET', collection, error)
  }
}

async function refusal(answer: IncomingMessage, collection: string): Promise<KubeError> {
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part as Buffer)
  const text = Buffer.concat(parts).toString()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = { message: text.trim() }
  }
  return kubeErrorOf(answer.statusCode ?? 0, body, `watch ${collection}`)
}

/** Lines as they come; a half one at the end is dropped, for the stream was cut. */
async function* lines(answer: IncomingMessage, clock: Clock): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let guard = (): void => undefined
  const wait = () => {
    guard()
    guard = clock.after(patience, () => answer.destroy(new Error('no byte came for 150 s')))
  }
  try {
    wait()
    for await (const part of answer) {
      wait()
      const complete = (rest + decoder.write(part as Buffer)).split('\n')
      rest = complete.pop() ?? ''
      yield* complete.filter(line => line.trim() !== '')
    }
  } finally {
    guard()
    answer.destroy()
  }
}

interface RawEvent {
  readonly type?: unknown
  readonly object?: {
    readonly metadata?: { readonly resourceVersion?: string }
    readonly code?: number
    readonly reason?: string
    readonly message?: string
  }
}

function eventOf(line: string, row: KindRow, version: string): WatchEvent {
  const { type, object = {} } = JSON.parse(line) as RawEvent
  if (type === 'ERROR') throw kubeErrorOf(object.code ?? 500, object, `watch ${row.plural}`)
  const at = object.metadata?.resourceVersion ?? ''
  if (type === 'BOOKMARK') return { type, version: at }
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') {
    throw new KubeError(500, '', `watch ${row.plural} sent an event of type ${String(type)}`)
  }
  return { type, version: at, object: typed(object, row, version) }
}
