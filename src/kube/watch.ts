import { StringDecoder } from 'node:string_decoder'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../core/index.js'
import type { KindRow } from '../kinds/index.js'
import type { Call, Connection } from './connection.js'
import { kubeErrorOf, KubeError } from './errors.js'
import { bare, metadataOnly, typed, type Metadata } from './list.js'
import { collectionPath, queryOf } from './resources.js'
import type { WatchEvent, WatchOptions } from './types.js'

/** ms until the answer begins. */
const patience = 30_000
/**
 * ms beyond the time when the server was to end the watch. Silence until then is nothing bad: of a kind that does not
 * change there is no bookmark either. Probes of TCP find a peer that is gone sooner.
 */
const grace = 30_000
const probeAfter = 15_000

/** Cuts a connection on which nothing comes while somebody waits. */
class Guard {
  readonly #clock: Clock
  readonly #cut = new AbortController()
  #stop = (): void => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get signal(): AbortSignal {
    return this.#cut.signal
  }

  async within<T>(ms: number, wait: Promise<T>): Promise<T> {
    this.#stop = this.#clock.after(ms, () => this.#cut.abort(new Error(`nothing came for ${ms / 1000} s`)))
    try {
      return await wait
    } finally {
      this.#stop()
    }
  }
}

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
  const guard = new Guard(clock)
  const call: Call = {
    method: 'GET',
    path: collection + query,
    signal: AbortSignal.any([signal, guard.signal]),
    long: true,
    ...(partial && { accept: metadataOnly.watch }),
  }
  try {
    const answer = await guard.within(patience, connection.send(call))
    if (answer.statusCode !== 200) throw await guard.within(patience, refusal(answer, collection))
    for await (const line of lines(answer, guard, timeoutMs + grace))
      yield eventOf(line, row, version, partial)
  } catch (error) {
    if (signal.aborted) return
    if (guard.signal.aborted) throw connection.unreachable('GET', collection, guard.signal.reason)
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
async function* lines(answer: IncomingMessage, guard: Guard, silence: number): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8')
  const parts = (answer as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let rest = ''
  answer.socket.setKeepAlive(true, probeAfter)
  try {
    for (;;) {
      const part = await guard.within(silence, parts.next())
      if (part.done === true) return
      const complete = (rest + decoder.write(part.value)).split('\n')
      rest = complete.pop() ?? ''
      yield* complete.filter(line => line.trim() !== '')
    }
  } finally {
    answer.destroy()
  }
}

interface RawEvent {
  readonly type?: unknown
  readonly object?: {
    readonly metadata?: Metadata
    readonly code?: number
    readonly reason?: string
    readonly message?: string
  }
}

function eventOf(line: string, row: KindRow, version: string, partial: boolean): WatchEvent {
  const { type, object = {} } = parsed(line, row)
  if (type === 'ERROR') throw kubeErrorOf(object.code ?? 500, object, `watch ${row.plural}`)
  const at = object.metadata?.resourceVersion ?? ''
  if (type === 'BOOKMARK') return { type, version: at }
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') {
    throw new KubeError(500, '', `watch ${row.plural} sent an event of type ${String(type)}`)
  }
  return { type, version: at, object: typed(partial ? bare(object.metadata) : object, row, version) }
}

/** Without the line in the message: it may hold what is secret. */
function parsed(line: string, { plural }: KindRow): RawEvent {
  try {
    return JSON.parse(line) as RawEvent
  } catch {
    throw new KubeError(500, '', `watch ${plural} sent a line of ${line.length} characters that is no JSON`)
  }
}
