import { status } from '@grpc/grpc-js'
import type { ServerDuplexStream } from '@grpc/grpc-js'
import type { Locator } from '../core/index.js'
import { typeUrls } from '../envoy/index.js'
import type { ResourceType } from '../envoy/index.js'
import type { Caller, Identify } from './identity.js'
import type { Protocol } from './meters.js'
import type { DeltaRequest, Node, SotwRequest } from './wire.js'

/** One gRPC stream: bytes in and out, and who is at the other end. */
export interface Stream {
  /** Counts streams of this process. */
  readonly id: number
  readonly protocol: Protocol
  /** The one type it carries; `undefined` = all (ADS). */
  readonly only: ResourceType | undefined
  readonly node: Node
  readonly gateway: Locator
  readonly address: string
  /** Milliseconds since the epoch. */
  readonly connectedAt: number
  /** False while the client reads slower than it is written to. */
  readonly writable: boolean
  write(bytes: Buffer): void
  /** Ends it in order: the proxy keeps what it has and connects again. */
  end(): void
}

export type AnyRequest = SotwRequest | DeltaRequest
export type Call = ServerDuplexStream<AnyRequest, Buffer>

/** What becomes of a stream. */
export interface StreamEvents {
  opened(stream: Stream): void
  request(stream: Stream, type: ResourceType, request: AnyRequest): void
  drained(stream: Stream): void
  closed(stream: Stream): void
}

export interface StreamKind {
  readonly id: number
  readonly protocol: Protocol
  readonly only: ResourceType | undefined
  readonly now: () => number
  readonly identify: Identify
}

const typesByUrl = new Map<string, ResourceType>(
  Object.entries(typeUrls).map(([type, url]) => [url, type as ResourceType]),
)

/** Serves the call until it ends; returns a way to end it. */
export function serveStream(call: Call, kind: StreamKind, events: StreamEvents): () => void {
  const served = new Served(call, kind, events)
  call.on('data', request => served.take(request as AnyRequest))
  call.on('drain', () => served.drained())
  call.on('end', () => served.end())
  for (const end of ['cancelled', 'error', 'close']) call.on(end, () => served.close())
  return () => served.end()
}

class Served {
  readonly #call: Call
  readonly #kind: StreamKind
  readonly #events: StreamEvents
  #stream: Stream | undefined
  #over = false
  /** Requests that came before the caller was identified. */
  #early: AnyRequest[] | undefined

  constructor(call: Call, kind: StreamKind, events: StreamEvents) {
    this.#call = call
    this.#kind = kind
    this.#events = events
  }

  take(request: AnyRequest): void {
    if (this.#over) return
    if (this.#stream) this.#request(this.#stream, request)
    else if (this.#early) this.#early.push(request)
    else this.#open(request)
  }

  drained(): void {
    if (this.#stream && !this.#over) this.#events.drained(this.#stream)
  }

  end(): void {
    this.close()
    this.#call.end()
  }

  close(): void {
    if (this.#over) return
    this.#over = true
    if (this.#stream) this.#events.closed(this.#stream)
  }

  #fail(code: status, details: string): void {
    this.close()
    this.#call.emit('error', { code, details })
  }

  #request(stream: Stream, request: AnyRequest): void {
    const type = typeOf(request, this.#kind.only)
    if (type === 'none') this.#fail(status.INVALID_ARGUMENT, whyNoType(request, this.#kind.only))
    // A type of another control plane's is left unanswered, and the stream lives.
    else if (type !== 'unknown') this.#events.request(stream, type, request)
  }

  #open(request: AnyRequest): void {
    const { node } = request
    if (node === undefined) {
      this.#fail(status.INVALID_ARGUMENT, 'the first request of a stream has to carry a node')
      return
    }
    this.#early = [request]
    const answer = this.#kind.identify(callerOf(this.#call, node))
    if (!(answer instanceof Promise)) {
      this.#enter(node, answer)
      return
    }
    answer.then(
      known => this.#enter(node, known),
      () => this.#fail(status.UNAVAILABLE, 'the caller could not be identified now'),
    )
  }

  #enter(node: Node, answer: Awaited<ReturnType<Identify>>): void {
    if (this.#over) return
    if (typeof answer !== 'string') {
      this.#fail(status.PERMISSION_DENIED, answer.refused)
      return
    }
    this.#stream = this.#streamOf(node, answer)
    this.#events.opened(this.#stream)
    const early = this.#early ?? []
    this.#early = undefined
    for (const request of early) this.take(request)
  }

  #streamOf(node: Node, gateway: Locator): Stream {
    const [call, kind] = [this.#call, this.#kind]
    return {
      id: kind.id,
      protocol: kind.protocol,
      only: kind.only,
      node,
      gateway,
      address: call.getPeer(),
      connectedAt: kind.now(),
      get writable() {
        return !call.writableNeedDrain
      },
      write: bytes => void call.write(bytes),
      end: () => this.end(),
    }
  }
}

function typeOf({ typeUrl }: AnyRequest, only: ResourceType | undefined): ResourceType | 'none' | 'unknown' {
  if (only === undefined) return typeUrl === '' ? 'none' : (typesByUrl.get(typeUrl) ?? 'unknown')
  return typeUrl === '' || typeUrl === typeUrls[only] ? only : 'none'
}

function whyNoType({ typeUrl }: AnyRequest, only: ResourceType | undefined): string {
  if (only === undefined) return 'type_url is empty: on an aggregated stream every request has to carry it'
  return `type_url is ${typeUrl}, but this service carries ${typeUrls[only]}`
}

function callerOf(call: Call, node: Node): Caller {
  const values = Object.entries(call.metadata.getMap())
  const headers = Object.fromEntries(
    values.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : [])),
  )
  return { headers, address: call.getPeer(), node }
}
