import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

/** One kind of request of a load, with what may answer it. */
export interface Shot {
  /** Default 127.0.0.1. */
  readonly address?: string
  readonly port: number
  readonly host: string
  readonly path: string
  readonly tls?: boolean
  /** Why an answer is wrong, or nothing. */
  readonly wrong: (status: number, body: string) => string | undefined
}

export interface LoadReport {
  readonly sent: number
  /** Transport errors and answers other than 200, by text. */
  readonly failed: Readonly<Record<string, number>>
  /** Answers of 200 from a backend that must not have had the request, by text. */
  readonly misrouted: Readonly<Record<string, number>>
}

/** Sends each request once, on kept connections; nothing is tried again. */
export class Load {
  readonly #http = new HttpAgent({ keepAlive: true, maxSockets: 16 })
  readonly #https = new HttpsAgent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false })
  readonly #failed: Record<string, number> = {}
  readonly #misrouted: Record<string, number> = {}
  readonly #workers: Promise<void>[] = []
  #sent = 0
  #running = true

  /** `workers` loops that go through `shots` in turn, with `pauseMs` between two requests of one loop. */
  start(shots: readonly Shot[], { workers = 4, pauseMs = 5 } = {}): this {
    for (let worker = 0; worker < workers; worker++) this.#workers.push(this.#run(shots, worker, pauseMs))
    return this
  }

  async stop(): Promise<LoadReport> {
    this.#running = false
    await Promise.all(this.#workers)
    this.#http.destroy()
    this.#https.destroy()
    return { sent: this.#sent, failed: this.#failed, misrouted: this.#misrouted }
  }

  get sent(): number {
    return this.#sent
  }

  async #run(shots: readonly Shot[], from: number, pauseMs: number): Promise<void> {
    for (let turn = from; this.#running; turn++) {
      const shot = shots[turn % shots.length] as Shot
      await this.#fire(shot)
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }

  async #fire(shot: Shot): Promise<void> {
    this.#sent++
    try {
      const { status, body } = await send(shot, shot.tls ? this.#https : this.#http)
      if (status !== 200) count(this.#failed, `${shot.host}${shot.path}: ${status} ${body}`.trim())
      else {
        const wrong = shot.wrong(status, body)
        if (wrong !== undefined) count(this.#misrouted, `${shot.host}${shot.path}: ${wrong}`)
      }
    } catch (error) {
      count(
        this.#failed,
        `${shot.host}${shot.path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
      )
    }
  }
}

function count(by: Record<string, number>, text: string): void {
  by[text] = (by[text] ?? 0) + 1
}

export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: NodeJS.Dict<string | string[]>
}

/** One request through a Gateway on loopback. */
export function send(
  shot: Pick<Shot, 'address' | 'port' | 'host' | 'path' | 'tls'> & {
    method?: string
    headers?: Record<string, string>
  },
  agent?: HttpAgent | HttpsAgent,
): Promise<Answer> {
  const options: RequestOptions & { servername?: string; rejectUnauthorized?: boolean } = {
    host: shot.address ?? '127.0.0.1',
    port: shot.port,
    path: shot.path,
    method: shot.method ?? 'GET',
    headers: { host: shot.host, ...shot.headers },
    ...(agent && { agent }),
    ...(shot.tls && { servername: shot.host, rejectUnauthorized: false }),
    timeout: 20_000,
  }
  return new Promise((resolve, reject) => {
    const request = (shot.tls ? httpsRequest : httpRequest)(options, response => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.on('timeout', () =>
      request.destroy(Object.assign(new Error('no answer in 20 s'), { code: 'TIMEOUT' })),
    )
    request.end()
  })
}

/** Asks again every 10 ms until the answer is as wanted; throws with the last one after `withinMs`. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  wanted: (answer: T) => boolean | Promise<boolean>,
  withinMs = 15_000,
): Promise<T> {
  const end = Date.now() + withinMs
  let last: unknown
  for (;;) {
    try {
      const answer = await ask()
      if (await wanted(answer)) return answer
      last = answer
    } catch (error) {
      last = error
    }
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms; the last answer: ${describe(last)}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

function describe(value: unknown): string {
  return value instanceof Error ? value.message : JSON.stringify(value)
}
