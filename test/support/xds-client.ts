import { fromBinary } from '@bufbuild/protobuf'
import { Client, credentials } from '@grpc/grpc-js'
import type { ClientDuplexStream, StatusObject } from '@grpc/grpc-js'
import { descriptorOf } from '../../src/envoy/descriptors.js'
import { encode, typeUrls } from '../../src/envoy/index.js'
import type { ResourceType } from '../../src/envoy/index.js'

export type Protocol = 'sotw' | 'delta'

/** A response of either protocol, decoded by the library and Envoy's own descriptors. */
export interface Answer {
  readonly type: ResourceType
  readonly nonce: string
  /** SotW: of the response. */
  readonly version: string
  /** Versions (SotW: bytes as hex) by name; resources without a body are under `beats`. */
  readonly resources: ReadonlyMap<string, string>
  readonly bodies: ReadonlyMap<string, Uint8Array>
  readonly names: readonly string[]
  readonly removed: readonly string[]
  readonly beats: readonly string[]
}

export interface Ask {
  readonly names?: readonly string[]
  readonly unsubscribe?: readonly string[]
  readonly initialVersions?: Readonly<Record<string, string>>
  readonly version?: string
  readonly nonce?: string
  readonly error?: string
  readonly typeUrl?: string
  readonly node?: false
}

const nouns = {
  cluster: 'Clusters',
  endpoint: 'Endpoints',
  listener: 'Listeners',
  route: 'Routes',
  secret: 'Secrets',
}
const discovery = 'envoy.service.discovery.v3'
const path = (protocol: Protocol, only: ResourceType | undefined) => {
  const verb = protocol === 'sotw' ? 'Stream' : 'Delta'
  if (only === undefined) return `/${discovery}.AggregatedDiscoveryService/${verb}AggregatedResources`
  const noun = nouns[only]
  return `/envoy.service.${only}.v3.${noun.slice(0, -1)}DiscoveryService/${verb}${noun}`
}

export interface ClientOptions {
  readonly protocol: Protocol
  readonly gateway: string
  readonly node?: string
  /** A separate service in place of ADS. */
  readonly only?: ResourceType
}

/** One stream that does what its script says, and no more: it acknowledges nothing by itself. */
export class XdsClient {
  readonly protocol: Protocol
  readonly #client: Client
  readonly #stream: ClientDuplexStream<Uint8Array, Uint8Array>
  readonly #node: { id: string; cluster: string }
  readonly #inbox: Answer[] = []
  readonly #waiting: (() => void)[] = []
  #first = true
  /** SotW: what was asked last and accepted last, by type, as a client repeats it. */
  readonly #names = new Map<ResourceType, readonly string[]>()
  readonly #versions = new Map<ResourceType, string>()
  readonly ended: Promise<StatusObject>

  readonly address: string
  readonly options: ClientOptions

  constructor(address: string, options: ClientOptions, client?: Client) {
    this.address = address
    this.options = options
    this.protocol = options.protocol
    this.#node = { id: options.node ?? 'a-proxy', cluster: options.gateway }
    this.#client = client ?? new Client(address, credentials.createInsecure())
    const asIs = (bytes: Uint8Array) => Buffer.from(bytes)
    this.#stream = this.#client.makeBidiStreamRequest(path(options.protocol, options.only), asIs, asIs)
    this.#stream.on('data', (bytes: Uint8Array) => {
      this.#inbox.push(decodeAnswer(this.protocol, bytes))
      for (const wake of this.#waiting.splice(0)) wake()
    })
    this.#stream.on('error', () => undefined)
    this.ended = new Promise(resolve => this.#stream.once('status', resolve))
  }

  /** Sends a request; in SotW the names and version of before are repeated where none are given. */
  ask(type: ResourceType, ask: Ask = {}): void {
    const node = this.#first && ask.node !== false ? { node: this.#node } : {}
    this.#first = false
    const common = {
      ...node,
      type_url: ask.typeUrl ?? typeUrls[type],
      response_nonce: ask.nonce ?? '',
      ...(ask.error !== undefined && { error_detail: { code: 13, message: ask.error } }),
    }
    const own = this.protocol === 'delta' ? deltaFields(ask) : this.#sotwFields(type, ask)
    const message = this.protocol === 'delta' ? 'DeltaDiscoveryRequest' : 'DiscoveryRequest'
    this.#stream.write(encode(`${discovery}.${message}`, { ...common, ...own }))
  }

  #sotwFields(type: ResourceType, ask: Ask) {
    const names = ask.names ?? this.#names.get(type) ?? []
    this.#names.set(type, names)
    return { resource_names: names, version_info: ask.version ?? this.#versions.get(type) ?? '' }
  }

  accept(answer: Answer, ask: Ask = {}): void {
    this.#versions.set(answer.type, answer.version)
    this.ask(answer.type, { nonce: answer.nonce, ...ask })
  }

  refuse(answer: Answer, error: string): void {
    this.ask(answer.type, { nonce: answer.nonce, error })
  }

  /** The next response, of that type when one is given. Rejects after 5 s. */
  async next(type?: ResourceType): Promise<Answer> {
    const until = Date.now() + 5000
    for (;;) {
      const at = this.#inbox.findIndex(answer => type === undefined || answer.type === type)
      const [found] = at < 0 ? [] : this.#inbox.splice(at, 1)
      if (found) return found
      if (Date.now() > until) throw new Error(`no response${type ? ` for ${type}` : ''} within 5 s`)
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, 1000)
        this.#waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  /** The next response of the type, accepted. */
  async take(type: ResourceType, ask: Ask = {}): Promise<Answer> {
    const answer = await this.next(type)
    this.accept(answer, ask)
    return answer
  }

  /**
   * What came and was not read, once the server has answered all that it was asked before. A second stream on the
   * same connection is asked and answered after them: no sleep is needed.
   */
  async unread(): Promise<readonly Answer[]> {
    for (let round = 0; round < 4; round++) {
      const probe = new XdsClient(
        this.address,
        { ...this.options, node: 'the-probe', only: 'cluster' },
        this.#client,
      )
      probe.ask('cluster', { typeUrl: 'none.such' })
      await probe.ended
    }
    return this.#inbox.splice(0)
  }

  /** Closes this side only, as a client that leaves in order does. */
  halfClose(): void {
    this.#stream.end()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  close(): void {
    this.#stream.cancel()
    this.#client.close()
  }
}

const deltaFields = (ask: Ask) => ({
  resource_names_subscribe: ask.names ?? [],
  resource_names_unsubscribe: ask.unsubscribe ?? [],
  ...(ask.initialVersions && { initial_resource_versions: ask.initialVersions }),
})

interface AnyMessage {
  readonly typeUrl: string
  readonly value: Uint8Array
}
interface Wrapped {
  readonly name: string
  readonly version: string
  readonly resource?: AnyMessage
}

/** The library's own decoder over Envoy's own descriptors is the oracle of what the server writes by hand. */
const read = (message: string, bytes: Uint8Array): unknown => fromBinary(descriptorOf(message), bytes)

const typeOf = (url: string) => Object.entries(typeUrls).find(([, each]) => each === url)?.[0] as ResourceType

function answerOf(
  response: { typeUrl: string; nonce: string },
  version: string,
  wrapped: readonly Wrapped[],
  removed: readonly string[],
): Answer {
  const whole = wrapped.filter(one => one.resource !== undefined)
  return {
    type: typeOf(response.typeUrl),
    nonce: response.nonce,
    version,
    resources: new Map(whole.map(one => [one.name, one.version])),
    bodies: new Map(whole.map(one => [one.name, one.resource!.value])),
    names: whole.map(one => one.name).sort(),
    removed: [...removed].sort(),
    beats: wrapped.filter(one => one.resource === undefined).map(one => one.name),
  }
}

export function decodeAnswer(protocol: Protocol, bytes: Uint8Array): Answer {
  return protocol === 'sotw' ? sotwAnswer(bytes) : deltaAnswer(bytes)
}

function deltaAnswer(bytes: Uint8Array): Answer {
  const response = read(`${discovery}.DeltaDiscoveryResponse`, bytes) as {
    typeUrl: string
    nonce: string
    resources: Wrapped[]
    removedResources: string[]
  }
  return answerOf(response, '', response.resources, response.removedResources)
}

function sotwAnswer(bytes: Uint8Array): Answer {
  const response = read(`${discovery}.DiscoveryResponse`, bytes) as {
    typeUrl: string
    nonce: string
    versionInfo: string
    resources: AnyMessage[]
  }
  const wrapped = response.resources.map(any => unwrapped(any))
  return answerOf(response, response.versionInfo, wrapped, [])
}

function unwrapped(any: AnyMessage): Wrapped {
  if (any.typeUrl.endsWith(`${discovery}.Resource`))
    return read(`${discovery}.Resource`, any.value) as Wrapped
  const message = read(any.typeUrl.split('/')[1]!, any.value) as { name?: string; clusterName?: string }
  return {
    name: message.clusterName ?? message.name ?? '',
    version: Buffer.from(any.value).toString('hex'),
    resource: any,
  }
}
