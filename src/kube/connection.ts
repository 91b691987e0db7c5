import * as http from 'node:http'
import * as https from 'node:https'
import type { IncomingMessage, OutgoingHttpHeaders, RequestOptions } from 'node:http'
import type { KubeConfig } from '@kubernetes/client-node'
import { Fault } from '../core/index.js'

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
      headers: { ...headersOf(credentials), ...headers },
      ...(signal && { signal }),
    }
    const url = new URL(path, this.server)
    return new Promise((resolve, reject) => {
      const call = request(url, options, resolve)
      call.on('error', cause => reject(this.unreachable(method, path, cause)))
      call.end(text)
    })
  }

  /** The whole answer, parsed. */
  async ask(call: Call): Promise<{ readonly status: number; readonly body: unknown }> {
    const answer = await this.send(call)
    const parts: Buffer[] = []
    try {
      for await (const part of answer) parts.push(part as Buffer)
    } catch (cause) {
      throw this.unreachable(call.method, call.path, cause)
    }
    return { status: answer.statusCode ?? 0, body: parsed(Buffer.concat(parts).toString()) }
  }

  close(): void {
    this.#short.destroy()
    this.#long.destroy()
  }

  unreachable(method: string, path: string, cause: unknown): Fault {
    const { code, message } = cause as { code?: string; message?: string }
    const what = `${method} ${path.split('?', 1)[0] ?? ''} at ${this.server.origin} failed (${code ?? message ?? 'no reason'})`
    return new Fault('UNREACHABLE_API_SERVER', what, { cause })
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
    await this.#config.applyToHTTPSOptions(options)
    // Connections are this class's own to keep.
    delete options.agent
    return options
  }
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
