import * as http from 'node:http'
import * as https from 'node:https'
import type { IncomingMessage, OutgoingHttpHeaders, RequestOptions } from 'node:http'
import type { KubeConfig } from '@kubernetes/client-node'
import { Fault, callFault } from '../core/index.js'

/** One request to the API server. */
export interface Call {
  readonly method: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  readonly accept?: string
  readonly body?: object
  readonly signal?: AbortSignal
  /** On a connection of its own, that lists do not wait for. */
  readonly long?: boolean
}

/** A whole answer. */
export interface Answer {
  readonly status: number
  /** undefined where it is no JSON. */
  readonly body: unknown
  readonly bytes: number
}

/** A kept connection failed: the server may have closed it before the request came. */
class Stale extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** The API server of one context of a kubeconfig, over connections that are kept. */
export class Connection {
  readonly server: URL
  readonly #config: KubeConfig
  readonly #short: http.Agent
  readonly #long: http.Agent
  /** What a kubeconfig comes to: exec plugins and token files are not asked for every call. */
  #credentials: { readonly options: Promise<RequestOptions>; readonly until: number } | undefined

  constructor(config: KubeConfig, server: URL) {
    this.#config = config
    this.server = server
    const { Agent } = server.protocol === 'https:' ? https : http
    const settings = { keepAlive: true, keepAliveMsecs: 15_000, scheduling: 'lifo' } as const
    this.#short = new Agent({ ...settings, maxSockets: 32 })
    this.#long = new Agent({ ...settings, maxSockets: Infinity })
  }

  /** The answer's head; its body is still to come. Rejects with a Fault UNREACHABLE_API_SERVER. */
  async send({ method, path, accept, body, signal, long }: Call): Promise<IncomingMessage> {
    signal?.throwIfAborted()
    const credentials = await this.#authenticated()
    const request = this.server.protocol === 'https:' ? https.request : http.request
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      accept: accept ?? 'application/json',
      ...(text !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      }),
    }
    const options = {
      ...credentials,
      method,
      agent: long === true ? this.#long : this.#short,
      headers: { 'user-agent': 'gatewright', ...headersOf(credentials), ...headers },
      ...(signal && { signal }),
    }
    const url = new URL(path, this.server)
    const once = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const call = request(url, options, resolve)
        call.on('error', cause => reject(call.reusedSocket ? new Stale(cause) : cause))
        call.end(text)
      })
    try {
      const answer = await again(once, signal)
      if (answer.statusCode === 401) this.#credentials = undefined
      return answer
    } catch (cause) {
      throw this.unreachable(method, path, cause)
    }
  }

  /** The whole answer, parsed. */
  async ask(call: Call): Promise<Answer> {
    const answer = await this.send(call)
    const parts: Buffer[] = []
    try {
      for await (const part of answer) parts.push(part as Buffer)
    } catch (cause) {
      throw this.unreachable(call.method, call.path, cause)
    }
    const whole = Buffer.concat(parts)
    return { status: answer.statusCode ?? 0, body: parsed(whole.toString()), bytes: whole.length }
  }

  close(): void {
    this.#short.destroy()
    this.#long.destroy()
  }

  unreachable(method: string, path: string, cause: unknown): Fault {
    if (cause instanceof Fault) return cause
    const what = `${method} ${path.split('?', 1)[0] ?? ''} at ${this.server.origin} failed (${whyFailed(cause)})`
    return callFault('UNREACHABLE_API_SERVER', what, cause)
  }

  #authenticated(): Promise<RequestOptions> {
    if (this.#credentials === undefined || this.#credentials.until < Date.now()) {
      const options = this.#readCredentials()
      this.#credentials = { options, until: Date.now() + 10_000 }
      options.catch(() => (this.#credentials = undefined))
    }
    return this.#credentials.options
  }

  async #readCredentials(): Promise<RequestOptions> {
    const options: https.RequestOptions = {}
    try {
      await this.#config.applyToHTTPSOptions(options)
    } catch (cause) {
      const user = this.#config.getCurrentUser()?.name ?? ''
      const what = `the credentials of user ${user} for ${this.server.origin} cannot be had (${whyNoCredentials(cause)})`
      // Without its cause: what a plugin printed may hold a token.
      throw new Fault('UNREACHABLE_API_SERVER', what)
    }
    // Connections are this class's own to keep.
    delete options.agent
    return options
  }
}

/** Every call may be repeated: none changes anything. On a new connection a failure is one. */
async function again<T>(ask: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof Stale)) throw error
      if (signal?.aborted === true) throw error.cause
    }
  }
}

function whyFailed(cause: unknown): string {
  const { name, code, message, cause: deeper } = cause as NodeJS.ErrnoException & { cause?: unknown }
  if (name === 'TimeoutError' || (deeper as Error | undefined)?.name === 'TimeoutError') {
    return 'no answer in time'
  }
  return name === 'AbortError' ? 'given up' : (code ?? message)
}

function whyNoCredentials(cause: unknown): string {
  // A SyntaxError quotes what it could not read.
  if (!(cause instanceof Error) || cause instanceof SyntaxError) return 'they are no JSON'
  return (cause.message.split('\n', 1)[0] ?? '').slice(0, 200)
}

function headersOf({ headers }: RequestOptions): OutgoingHttpHeaders {
  return headers === undefined || Array.isArray(headers) ? {} : (headers as OutgoingHttpHeaders)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
