import * as http from 'node:http'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Fault, callFault } from '../../core/index.js'
import type { Clock } from '../../core/index.js'
import { hostOf } from './addresses.js'
import type { Destination } from './addresses.js'
import { headersOf } from './credentials.js'
import type { CredentialFiles, TlsFiles } from './credentials.js'

export interface Answer {
  readonly status: number
  /** ms that it asks to wait for. */
  readonly retryAfterMs?: number
  readonly body: string
}

/** So much of an answer is read. */
const mostAnswer = 1 << 20

/** POSTs JSON to one destination, over a connection that is kept. */
export class Caller {
  readonly #destination: Destination
  readonly #credentials: CredentialFiles
  readonly #clock: Clock
  readonly #timeoutMs: number
  #connection: { readonly tls: TlsFiles; readonly agent: http.Agent } | undefined

  constructor(destination: Destination, credentials: CredentialFiles, clock: Clock, timeoutMs: number) {
    this.#destination = destination
    this.#credentials = credentials
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** The answer, whatever its status. Rejects with UNREACHABLE where there is none in time, SECRET_FILE_UNUSABLE. */
  async post(body: string, closing: AbortSignal): Promise<Answer> {
    const late = new AbortController()
    const undo = this.#clock.after(this.#timeoutMs, () => late.abort())
    try {
      return await this.#send(body, AbortSignal.any([late.signal, closing]))
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      const { code, message } = cause as { code?: string; message: string }
      const why = late.signal.aborted ? `no answer within ${this.#timeoutMs} ms` : (code ?? message)
      throw callFault('UNREACHABLE', `POST ${this.#destination.name} failed (${why})`, cause)
    } finally {
      undo()
    }
  }

  close(): void {
    this.#connection?.agent.destroy()
  }

  async #send(body: string, signal: AbortSignal): Promise<Answer> {
    const shown = await this.#credentials.read()
    const { url, address } = this.#destination
    const host = hostOf(url)
    const serverName = this.#credentials.serverName ?? (isIP(host) === 0 ? host : undefined)
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const options: https.RequestOptions = {
        ...{ method: 'POST', agent: this.#agent(shown.tls), signal },
        ...{ host: address ?? host, port: url.port, path: url.pathname },
        headers: {
          host: url.host,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...headersOf(shown, body, this.#clock.now()),
        },
        ...(url.protocol === 'https:' && {
          ...shown.tls,
          ...(serverName !== undefined && { servername: serverName }),
        }),
      }
      const request = (url.protocol === 'https:' ? https : http).request(options, resolve)
      request.on('error', reject)
      request.end(body)
    })
    return { status: answer.statusCode ?? 0, ...retryAfter(answer, this.#clock), body: await textOf(answer) }
  }

  #agent(tls: TlsFiles): http.Agent {
    if (this.#connection?.tls !== tls) {
      this.close()
      const { Agent } = this.#destination.url.protocol === 'https:' ? https : http
      this.#connection = { tls, agent: new Agent({ keepAlive: true, keepAliveMsecs: 15_000, maxSockets: 1 }) }
    }
    return this.#connection.agent
  }
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function retryAfter({ headers }: IncomingMessage, clock: Clock): { readonly retryAfterMs?: number } {
  const text = headers['retry-after']
  if (text === undefined) return {}
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - clock.now()
  return ms > 0 ? { retryAfterMs: ms } : {}
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of answer) {
    size += (part as Buffer).length
    if (size <= mostAnswer) parts.push(part as Buffer)
  }
  return Buffer.concat(parts).toString()
}
