import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KindId, KubeObject, Locator } from '../../src/core/index.js'
import { locatorOf } from '../../src/core/index.js'
import { groups, kinds } from '../../src/kinds/index.js'
import { asList, asMetadata, route, statusBody, type KindTarget } from './api-server-wire.js'
import { History, type Change } from './api-server-history.js'

export type Failure = number | 'hang' | 'reset'

/** A request as it came. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly accept: string
}

/** A model of a Kubernetes API server over HTTP: lists by page, watches, reviews, and every way to fail. */
export class ApiServer {
  readonly history = new History()
  readonly requests: Asked[] = []
  /** Bearer tokens that TokenReview knows. */
  readonly tokens = new Map<string, { readonly username: string; readonly groups: readonly string[] }>()
  /** `username verb path` that SubjectAccessReview allows. */
  readonly permitted = new Set<string>()
  /** False: it is only starting, and knows no custom resource yet. */
  ready = true
  readonly #installed = new Set<KindId>(kinds.map(({ id }) => id))
  readonly #failures = new Map<KindId, { how: Failure; times: number }>()
  readonly #watches = new Set<Watch>()
  readonly #directory = mkdtempSync(join(tmpdir(), 'gatewright-api-'))
  #inconsistent = new Set<KindId>()
  #server: Server | undefined
  #port = 0

  static async start(): Promise<ApiServer> {
    const api = new ApiServer()
    await api.up()
    return api
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** A kubeconfig that names this server. */
  get kubeconfig(): string {
    const file = join(this.#directory, 'kubeconfig')
    const named = (name: string, kind: string, value: object) => ({ name, [kind]: value })
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [named('model', 'cluster', { server: this.url, 'insecure-skip-tls-verify': true })],
      users: [named('model', 'user', { token: 'the-token-of-the-model' })],
      contexts: [named('model', 'context', { cluster: 'model', user: 'model' })],
      'current-context': 'model',
    }
    writeFileSync(file, JSON.stringify(config))
    return file
  }

  /** Creates or updates; answers the object as it is stored. */
  put(object: KubeObject): KubeObject {
    return this.#told(this.history.put(object)).object
  }

  remove(key: Locator): void {
    const change = this.history.remove(key)
    if (change) this.#told(change)
  }

  objects(kind: KindId): readonly KubeObject[] {
    return this.history.list(kind)
  }

  /** The next requests about a kind fail: with a status, without an answer, or by a cut connection. */
  fail(kind: KindId, how: Failure, times = Infinity): void {
    this.#failures.set(kind, { how, times })
  }

  heal(kind: KindId): void {
    this.#failures.delete(kind)
  }

  /** The next list of the kind that has more than one page is told that it cannot go on. */
  inconsistentContinue(kind: KindId): void {
    this.#inconsistent.add(kind)
  }

  install(kind: KindId): void {
    this.#installed.add(kind)
  }

  /** As when a CRD is deleted: its objects go too. */
  uninstall(kind: KindId): void {
    for (const object of this.objects(kind)) this.remove(locatorOf(object))
    this.#installed.delete(kind)
    this.dropWatches(kind)
  }

  /** Ends watches as a server does that has had enough of them; the next one goes on. */
  dropWatches(kind?: KindId): void {
    for (const watch of this.#watches) {
      if (kind !== undefined && watch.kind !== kind) continue
      this.#watches.delete(watch)
      watch.answer.end()
    }
  }

  /** Versions before now are compacted away: whoever watches from one is told 410. */
  compact(): void {
    this.history.compact()
    for (const watch of this.#watches) watch.answer.destroy()
  }

  /** An older moment comes back, versions and all, as when etcd is restored. */
  restore(moment: ReturnType<History['moment']>): void {
    this.history.restore(moment)
    for (const watch of this.#watches) watch.answer.destroy()
  }

  async up(): Promise<void> {
    this.#server = createServer((request, answer) => void this.#answer(request, answer))
    await new Promise<void>(resolve => this.#server?.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Gone from its address until `up`. */
  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const closed = new Promise(resolve => server?.close(resolve))
    server?.closeAllConnections()
    if (server) await closed
  }

  async close(): Promise<void> {
    await this.down()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #told(change: Change): Change {
    for (const watch of this.#watches) {
      if (watch.kind === change.kind && change.version > watch.after) this.#send(watch.answer, change)
    }
    return change
  }

  async #answer(request: IncomingMessage, answer: ServerResponse): Promise<unknown> {
    const url = new URL(request.url ?? '/', this.url)
    const query = Object.fromEntries(url.searchParams)
    const accept = request.headers.accept ?? ''
    this.requests.push({ method: request.method ?? '', path: url.pathname, query, accept })
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const target = route(url.pathname, this.ready ? this.#installed : builtins)
    switch (target.what) {
      case 'ready':
        return send(answer, this.ready ? 200 : 500, {})
      case 'document':
        return send(answer, 200, target.document)
      case 'review':
        return send(answer, 201, this.#review(JSON.parse(Buffer.concat(parts).toString()) as Review))
      case 'unknown':
        return send(
          answer,
          404,
          statusBody(404, 'NotFound', 'the server could not find the requested resource'),
        )
      default:
        return this.#serve(target, query, accept.includes('PartialObjectMetadata'), answer)
    }
  }

  #serve(target: KindTarget, query: Query, partial: boolean, answer: ServerResponse): unknown {
    const { kind } = target.row
    const failure = this.#failureOf(target.row.id)
    if (failure === 'hang') return
    if (failure === 'reset') return answer.socket?.destroy()
    if (failure !== undefined) return send(answer, failure, statusBody(failure, 'Failed', `${kind} failed`))
    if (query['watch'] === 'true') return this.#watch(target, query, partial, answer)
    return this.#list(target, query, partial, answer)
  }

  #failureOf(kind: KindId): Failure | undefined {
    const failure = this.#failures.get(kind)
    if (failure === undefined) return undefined
    if (--failure.times <= 0) this.#failures.delete(kind)
    return failure.how
  }

  #list(target: KindTarget, query: Query, partial: boolean, answer: ServerResponse): unknown {
    const { id } = target.row
    const more = query['continue']
    if (more !== undefined && this.#inconsistent.delete(id)) {
      return send(answer, 410, statusBody(410, 'Expired', 'the continue token is too old'))
    }
    const [at, from] = more === undefined ? [this.history.version, 0] : (JSON.parse(more) as [string, number])
    const all = this.history.listAt(id, at)?.filter(object => isAsked(object, target.namespace, query))
    if (all === undefined) return send(answer, 410, statusBody(410, 'Expired', 'too old'))
    const limit = Number(query['limit'] ?? Infinity)
    const items = all.slice(from, from + limit)
    const next = from + limit < all.length ? JSON.stringify([at, from + limit]) : undefined
    send(answer, 200, asList(target.row, target.version, items, at, next, partial))
  }

  #watch(target: KindTarget, query: Query, partial: boolean, answer: ServerResponse): unknown {
    const { id } = target.row
    const since = this.history.since(id, query['resourceVersion'] ?? '0')
    answer.writeHead(200, { 'content-type': 'application/json' })
    if (since === undefined) {
      return answer.end(
        `${JSON.stringify({ type: 'ERROR', object: statusBody(410, 'Expired', 'too old resource version') })}\n`,
      )
    }
    answer.flushHeaders()
    const watch = { kind: id, answer, after: Number(query['resourceVersion'] ?? 0) }
    const seconds = Number(query['timeoutSeconds'] ?? 0)
    if (seconds > 0) setTimeout(() => answer.end(), seconds * 1000).unref()
    this.#partial.set(answer, partial)
    for (const change of since) this.#send(answer, change)
    this.#watches.add(watch)
    answer.on('close', () => this.#watches.delete(watch))
  }

  readonly #partial = new WeakMap<ServerResponse, boolean>()

  #send(answer: ServerResponse, { type, object }: Change): void {
    const shown = this.#partial.get(answer) === true ? asMetadata(object) : object
    answer.write(`${JSON.stringify({ type, object: shown })}\n`)
  }

  /** Tells every watch of a kind how far it has come. */
  bookmark(kind: KindId): void {
    const [row] = kinds.filter(({ id }) => id === kind)
    const object = {
      apiVersion: 'v1',
      kind: row?.kind ?? '',
      metadata: { resourceVersion: this.history.version },
    }
    for (const watch of this.#watches) {
      if (watch.kind === kind) watch.answer.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`)
    }
  }

  #review({ kind, spec }: Review): object {
    if (kind === 'TokenReview') {
      const user = this.tokens.get(spec.token ?? '')
      return { kind, spec, status: { authenticated: user !== undefined, user, audiences: spec.audiences } }
    }
    const { path = '', verb = '' } = spec.nonResourceAttributes ?? {}
    return { kind, spec, status: { allowed: this.permitted.has(`${spec.user ?? ''} ${verb} ${path}`) } }
  }
}

interface Watch {
  readonly kind: KindId
  readonly answer: ServerResponse
  /** The version that was asked for: what is older is not told. */
  readonly after: number
}

const builtins = new Set(
  kinds.filter(({ group }) => group === groups.core || group === groups.discovery).map(({ id }) => id),
)

type Query = Readonly<Record<string, string>>

interface Review {
  readonly kind: string
  readonly spec: {
    readonly token?: string
    readonly audiences?: readonly string[]
    readonly user?: string
    readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string }
  }
}

function isAsked({ metadata }: KubeObject, namespace: string | undefined, query: Query): boolean {
  const name = query['fieldSelector']?.replace('metadata.name=', '')
  const labels = (query['labelSelector'] ?? '').split(',').filter(each => each !== '')
  return (
    (namespace === undefined || metadata.namespace === namespace) &&
    (name === undefined || metadata.name === name) &&
    labels.every(each => metadata.labels?.[each.split('=')[0] ?? ''] === each.split('=')[1])
  )
}

function send(answer: ServerResponse, status: number, body: object): ServerResponse {
  answer.writeHead(status, { 'content-type': 'application/json' })
  return answer.end(JSON.stringify(body))
}
