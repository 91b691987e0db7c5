import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { typeUrls } from '../envoy/index.js'
import type { Resource, ResourceType } from '../envoy/index.js'

/**
 * The few messages of envoy/service/discovery/v3/discovery.proto, by hand: requests are small, and a response is
 * resources that were encoded long ago with a frame around them. The numbers are the fields' of that file.
 */

/** envoy.config.core.v3.Node, the part that selects what a proxy is given. */
export interface Node {
  readonly id: string
  readonly cluster: string
}

interface Request {
  /** Absent but in a stream's first request. */
  readonly node: Node | undefined
  readonly typeUrl: string
  readonly nonce: string
  /** `error_detail.message`: the request refuses the response of `nonce`. */
  readonly refusal: string | undefined
}

export interface SotwRequest extends Request {
  readonly version: string
  readonly names: readonly string[]
}

export interface DeltaRequest extends Request {
  readonly subscribe: readonly string[]
  readonly unsubscribe: readonly string[]
  readonly initialVersions: ReadonlyMap<string, string>
}

type Field = (reader: BinaryReader) => void

/** Reads one message: `fields` by number, the others are skipped. Throws on bytes that are no message. */
function read(bytes: Uint8Array, fields: Readonly<Record<number, Field>>): void {
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag()
    const field = fields[number]
    if (field && wireType === WireType.LengthDelimited) field(reader)
    else reader.skip(wireType, number)
  }
}

function readNode(bytes: Uint8Array): Node {
  const node = { id: '', cluster: '' }
  read(bytes, { 1: r => void (node.id = r.string()), 2: r => void (node.cluster = r.string()) })
  return node
}

/** google.rpc.Status. */
function readRefusal(bytes: Uint8Array): string {
  let message = ''
  read(bytes, { 2: r => void (message = r.string()) })
  return message
}

function readVersion(bytes: Uint8Array): readonly [name: string, version: string] {
  let [name, version] = ['', '']
  read(bytes, { 1: r => void (name = r.string()), 2: r => void (version = r.string()) })
  return [name, version]
}

export function decodeSotwRequest(bytes: Uint8Array): SotwRequest {
  const names: string[] = []
  const request = { version: '', names, typeUrl: '', nonce: '' }
  let node: Node | undefined
  let refusal: string | undefined
  read(bytes, {
    1: r => void (request.version = r.string()),
    2: r => void (node = readNode(r.bytes())),
    3: r => void names.push(r.string()),
    4: r => void (request.typeUrl = r.string()),
    5: r => void (request.nonce = r.string()),
    6: r => void (refusal = readRefusal(r.bytes())),
  })
  return { ...request, node, refusal }
}

export function decodeDeltaRequest(bytes: Uint8Array): DeltaRequest {
  const [subscribe, unsubscribe]: [string[], string[]] = [[], []]
  const initialVersions = new Map<string, string>()
  const request = { typeUrl: '', nonce: '' }
  let node: Node | undefined
  let refusal: string | undefined
  read(bytes, {
    1: r => void (node = readNode(r.bytes())),
    2: r => void (request.typeUrl = r.string()),
    3: r => void subscribe.push(r.string()),
    4: r => void unsubscribe.push(r.string()),
    5: r => void initialVersions.set(...readVersion(r.bytes())),
    6: r => void (request.nonce = r.string()),
    7: r => void (refusal = readRefusal(r.bytes())),
  })
  return { ...request, subscribe, unsubscribe, initialVersions, node, refusal }
}

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return [...bytes, rest]
}

/** The tag and length that stand before `length` bytes of a field. */
function head(field: number, length: number): Uint8Array {
  return Uint8Array.from([...varint(field * 8 + WireType.LengthDelimited), ...varint(length)])
}

type Parts = readonly Uint8Array[]

const sizeOf = (parts: Parts) => parts.reduce((size, part) => size + part.length, 0)

/** A field that holds the message made of `parts`. */
const message = (field: number, parts: Parts): Parts => [head(field, sizeOf(parts)), ...parts]

const text = (field: number, value: string): Parts =>
  value === '' ? [] : message(field, [Buffer.from(value, 'utf8')])

function byType<V>(make: (typeUrl: string) => V): Readonly<Record<ResourceType, V>> {
  const entries = Object.entries(typeUrls).map(([type, url]) => [type, make(url)] as const)
  return Object.fromEntries(entries) as Record<ResourceType, V>
}
const anyTypeUrl = byType(url => Buffer.concat(text(1, url)))
const responseTypeUrl = byType(url => Buffer.concat(text(4, url)))
const wrapperTypeUrl = Buffer.concat(text(1, 'type.googleapis.com/envoy.service.discovery.v3.Resource'))

/** The fields of a google.protobuf.Any around the resource. */
const anyOf = ({ type, bytes }: Resource): Parts => [anyTypeUrl[type], ...message(2, [bytes])]

/** google.protobuf.Duration. */
function duration(field: number, ms: number): Parts {
  const [seconds, nanos] = [Math.floor(ms / 1000), (ms % 1000) * 1e6]
  return message(field, [Uint8Array.from([8, ...varint(seconds), 16, ...varint(nanos)])])
}

/** The fields of an envoy.service.discovery.v3.Resource; without its body it is a heartbeat of its TTL. */
function wrapped(resource: Resource, version: string, body: boolean): Parts {
  return [
    ...text(1, version),
    ...(body ? message(2, anyOf(resource)) : []),
    ...text(3, resource.name),
    ...(resource.ttlMs === undefined ? [] : duration(6, resource.ttlMs)),
  ]
}

/** A DiscoveryResponse but for its nonce. `beats` leaves out the bodies of resources that have a TTL. */
export function sotwBody(
  type: ResourceType,
  version: string,
  resources: readonly Resource[],
  beats = false,
): Uint8Array {
  const parts: Uint8Array[] = [...text(1, version), responseTypeUrl[type]]
  for (const resource of resources) {
    const any =
      resource.ttlMs === undefined
        ? anyOf(resource)
        : [wrapperTypeUrl, ...message(2, wrapped(resource, version, !beats))]
    parts.push(...message(2, any))
  }
  return Buffer.concat(parts)
}

/** A DeltaDiscoveryResponse but for its nonce. */
export function deltaBody(
  type: ResourceType,
  set: readonly Resource[],
  removed: readonly string[],
  beats = false,
): Uint8Array {
  const parts: Uint8Array[] = [responseTypeUrl[type]]
  for (const resource of set) parts.push(...message(2, wrapped(resource, resource.version, !beats)))
  for (const name of removed) parts.push(...text(6, name))
  return Buffer.concat(parts)
}

/** The whole response. `nonce` is field 5 of both messages. */
export function withNonce(body: Uint8Array, nonce: string): Buffer {
  return Buffer.concat([body, ...text(5, nonce)])
}
