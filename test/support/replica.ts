import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { KindId } from '../../src/core/index.js'
import type { KubeClient } from '../../src/kube/index.js'
import { createServer, type Server } from '../../src/server/index.js'
import { createReceiver, type Hint, type Receiver } from '../../src/sources/index.js'
import { createStore, type Store } from '../../src/store/index.js'
import { validate } from '../../src/kinds/index.js'
import type { KubeObject } from '../../src/core/index.js'
import { aWorld } from '../server/context.js'

/**
 * What happens to one POST on its way, if anything: it is answered with a status and headers, hangs, or comes through although its
 * sender is told nothing.
 */
export type Trouble =
  'none' | { readonly status: number; readonly headers?: Record<string, string> } | 'hang' | 'unanswered'

export interface ReplicaOptions {
  readonly client: KubeClient
  /** What it lists for itself when it begins anew. */
  readonly kinds: readonly KindId[]
  /** Told whenever something has come. */
  readonly onNews: () => void
  readonly host?: string
  readonly port?: number
}

interface Inside {
  readonly store: Store
  readonly receiver: Receiver
  readonly server: Server
  readonly address: string
}

/**
 * A serving replica as a relay sees it: the real server, receiver and store, behind a door that can be shut. What it is
 * hinted at it lists itself.
 */
export class Replica {
  readonly hints: Hint[] = []
  /** Bodies of the POSTs that came to the door. */
  readonly bodies: string[] = []
  /** What the next POSTs meet; the last one stays while it is `forever`. */
  readonly troubles: Trouble[] = []
  forever: Trouble | undefined
  readonly counts = { accepted: 0, stale: 0, duplicate: 0, rejected: 0 }
  readonly #onNews: () => void
  readonly #client: KubeClient
  readonly #kinds: readonly KindId[]
  #inside!: Inside
  #door: ReturnType<typeof createHttpServer> | undefined
  #port: number
  readonly #host: string
  #isClosed = false

  private constructor({ client, kinds, onNews, host = '127.0.0.1', port = 0 }: ReplicaOptions) {
    this.#client = client
    this.#kinds = kinds
    this.#onNews = onNews
    this.#host = host
    this.#port = port
  }

  static async start(options: ReplicaOptions): Promise<Replica> {
    const replica = new Replica(options)
    replica.#inside = await replica.#open()
    await replica.up()
    return replica
  }

  get url(): string {
    return `http://${this.#host}:${this.#port}`
  }

  get port(): number {
    return this.#port
  }

  get store(): Store {
    return this.#inside.store
  }

  async up(): Promise<void> {
    this.#door = createHttpServer((request, answer) => void this.#pass(request, answer))
    this.#door.listen(this.#port, this.#host)
    await once(this.#door, 'listening')
    this.#port = (this.#door.address() as AddressInfo).port
  }

  async down(): Promise<void> {
    const door = this.#door
    this.#door = undefined
    const closed = new Promise(resolve => (door ? door.close(resolve) : resolve(undefined)))
    door?.closeAllConnections()
    await closed
  }

  /** Loses all its state; lists for itself, as a new process does. */
  async restart(): Promise<void> {
    const old = this.#inside
    this.#inside = await this.#open()
    old.receiver.close()
    await old.server.close()
    for (const kind of this.#kinds) void this.#list(kind)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.down()
    this.#inside.receiver.close()
    await this.#inside.server.close()
  }

  async #open(): Promise<Inside> {
    const store = createStore({ freeze: true })
    const onHint = (hint: Hint) => {
      this.hints.push(hint)
      if (hint.kind !== 'secret') void this.#list(hint.kind)
    }
    const receiver = createReceiver({ store, onHint })
    const { context } = aWorld({ receive: messages => receiver.receive(messages) })
    const server = await createServer(context)
    return { store, receiver, server, address: await server.listen('127.0.0.1:0') }
  }

  /** Until it succeeds. */
  async #list(kind: KindId): Promise<void> {
    const { store } = this.#inside
    while (!this.#isClosed && store === this.#inside.store) {
      const since = store.newest(kind)
      const list = await this.#client.list(kind).catch(() => undefined)
      if (list === undefined) {
        await new Promise(resolve => setImmediate(resolve))
        continue
      }
      if (list === 'absent') store.replace({ kind, items: [], isAbsent: true })
      else {
        const items = list.items.map(item => validate(item as KubeObject).object as KubeObject)
        store.replace({ kind, items, version: list.version, since })
      }
      this.#onNews()
      return
    }
  }

  async #pass(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts).toString()
    this.bodies.push(body)
    const trouble = this.troubles.shift() ?? this.forever
    if (typeof trouble === 'object') answer.writeHead(trouble.status, trouble.headers).end()
    else if (trouble !== 'hang') await this.#deliver(request, body, answer, trouble)
    this.#onNews()
  }

  async #deliver(
    { url = '', headers }: IncomingMessage,
    body: string,
    answer: ServerResponse,
    trouble: 'unanswered' | 'none' | undefined,
  ): Promise<void> {
    const taken = await fetch(`http://${this.#inside.address}${url}`, {
      ...{ method: 'POST', body, headers: { 'content-type': headers['content-type'] ?? '' } },
    }).catch(() => undefined)
    const text = (await taken?.text()) ?? ''
    if (taken?.ok === true) this.#count(text)
    if (taken === undefined || trouble === 'unanswered') answer.socket?.destroy()
    else answer.writeHead(taken.status, { 'content-type': 'application/json' }).end(text)
  }

  #count(text: string): void {
    const received = JSON.parse(text) as Omit<typeof this.counts, 'rejected'> & { rejected: unknown[] }
    for (const name of ['accepted', 'stale', 'duplicate'] as const) this.counts[name] += received[name]
    this.counts.rejected += received.rejected.length
  }
}
