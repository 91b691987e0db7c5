import {
  ScalarType,
  equals,
  fromBinary,
  fromJson,
  toBinary,
  type DescField,
  type DescMessage,
} from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import t from 'tap'
import { decode } from '../../src/envoy/decode.js'
import { descriptorOf, registry } from '../../src/envoy/descriptors.js'
import { redactedFields } from '../../src/envoy/redaction.js'
import { encode } from '../../src/envoy/wire.js'
import { randomOf } from '../support/random.js'

type Json = unknown
type Random = () => number

const below = (r: Random, limit: number) => Math.floor(r() * limit)
const pick = <T>(r: Random, items: readonly T[]) => items[below(r, items.length)]!

const INT64 = 1n << 63n
const bits = (r: Random, count: number) => BigInt(Math.floor(r() * 2 ** count))
const wide = (r: Random) => (bits(r, 32) << 32n) | bits(r, 32)
const signed64 = (r: Random) => (wide(r) - INT64).toString()
const unsigned64 = (r: Random) => (r() < 0.5 ? Number(bits(r, 53)) : wide(r).toString())
const signed32 = (r: Random) => Number(bits(r, 32)) - 2 ** 31
const unsigned32 = (r: Random) => Number(bits(r, r() < 0.5 ? 8 : 32))
const alphabet = ['a', 'Z', '0', '.', '/', '"', ' ', '\u0000', 'ä', '€', '😀']
const text = (r: Random) =>
  Array.from({ length: below(r, r() < 0.1 ? 300 : 12) }, () => pick(r, alphabet)).join('')

const scalarOf: Readonly<Record<ScalarType, (r: Random) => Json>> = {
  [ScalarType.BOOL]: r => r() < 0.5,
  [ScalarType.STRING]: text,
  [ScalarType.BYTES]: r => Buffer.from(text(r)).toString('base64'),
  [ScalarType.INT32]: signed32,
  [ScalarType.SINT32]: signed32,
  [ScalarType.SFIXED32]: signed32,
  [ScalarType.UINT32]: unsigned32,
  [ScalarType.FIXED32]: unsigned32,
  [ScalarType.INT64]: r => (r() < 0.5 ? signed32(r) : signed64(r)),
  [ScalarType.SINT64]: signed64,
  [ScalarType.SFIXED64]: signed64,
  [ScalarType.UINT64]: unsigned64,
  [ScalarType.FIXED64]: unsigned64,
  [ScalarType.FLOAT]: r => Math.fround((r() - 0.5) * 10 ** below(r, 30)),
  [ScalarType.DOUBLE]: r => (r() - 0.5) * 10 ** below(r, 300),
}

function json(r: Random, depth = 0): Json {
  const kind = below(r, depth > 2 ? 4 : 6)
  if (kind === 4) return listOf(r, () => json(r, depth + 1))
  if (kind === 5) return struct(r, depth)
  return [null, r() < 0.5, scalarOf[ScalarType.DOUBLE](r), text(r)][kind]
}
const listOf = (r: Random, one: () => Json) => Array.from({ length: below(r, 4) }, one)
const struct = (r: Random, depth = 0) =>
  Object.fromEntries(listOf(r, () => 0).map(() => [text(r), json(r, depth + 1)]))

const wellKnown: Readonly<Record<string, (r: Random) => Json>> = {
  Duration: r =>
    `${pick(r, ['', '-'])}${below(r, 10 ** below(r, 11))}${pick(r, ['', '.5', '.000000001', '.123456'])}s`,
  Timestamp: r => new Date(below(r, 4e12)).toISOString(),
  FieldMask: r => listOf(r, () => pick(r, ['a', 'fooBar', 'a.bC'])).join(','),
  Struct: struct,
  Value: json,
  ListValue: r => listOf(r, () => json(r)),
}
const anyTypes = [...registry()]
  .filter(each => each.kind === 'message' && each.typeName.startsWith('envoy.extensions.') && !each.parent)
  .map(each => each as DescMessage)

/** Maps with other keys than strings are refused: only the syntax trees of CEL have them. */
const isWritable = (field: DescField) => field.fieldKind !== 'map' || field.mapKey === ScalarType.STRING

/** A random message in JSON shape; fields in any order, deeper ones rarer. */
function messageOf(r: Random, descriptor: DescMessage, depth: number): Json {
  if (descriptor.typeName === 'google.protobuf.Any') return anyOf(r, depth)
  if (descriptor.typeName.startsWith('google.protobuf.')) {
    const special = wellKnown[descriptor.name]
    if (special) return special(r)
    const [value] = descriptor.fields
    return value?.fieldKind === 'scalar' ? scalarOf[value.scalar](r) : {}
  }
  const share = Math.min(0.6, 3 / descriptor.fields.length) / (depth + 1)
  const chosen: DescField[] = []
  for (const field of descriptor.fields.filter(isWritable)) {
    if (r() > share || (field.oneof && chosen.some(other => other.oneof === field.oneof))) continue
    chosen.push(field)
  }
  if (r() < 0.5) chosen.reverse()
  return Object.fromEntries(chosen.map(field => [field.name, fieldOf(r, field, depth)]))
}

function anyOf(r: Random, depth: number): Json {
  const descriptor = depth > 2 ? descriptorOf('google.protobuf.Struct') : pick(r, anyTypes)
  const value = messageOf(r, descriptor, depth + 1)
  const url = `type.googleapis.com/${descriptor.typeName}`
  if (descriptor.typeName.startsWith('google.protobuf.')) return { '@type': url, value }
  return { '@type': url, ...(value as object) }
}

function fieldOf(r: Random, field: DescField, depth: number): Json {
  const one = () => {
    if (field.message) return messageOf(r, field.message, depth + 1)
    if (field.enum) return pick(r, field.enum.values).name
    return scalarOf[field.scalar](r)
  }
  if (field.fieldKind === 'list') return listOf(r, one)
  if (field.fieldKind === 'map') return Object.fromEntries(listOf(r, one).map(value => [text(r), value]))
  return one()
}

const byLibrary = (descriptor: DescMessage, value: Json) =>
  toBinary(descriptor, fromJson(descriptor, value as never, { registry: registry() }))

/** Equal bytes; or, where map entries stand in another order, equal messages. */
function sameAsLibrary(descriptor: DescMessage, value: Json): boolean {
  const ours = encode(descriptor.typeName, value as object)
  const theirs = byLibrary(descriptor, value)
  if (Buffer.compare(ours, theirs) === 0) return true
  const options = { registry: registry(), unpackAny: true, unknown: true, extensions: false }
  return equals(descriptor, fromBinary(descriptor, ours), fromBinary(descriptor, theirs), options)
}

t.test('the encoder writes what the library writes, for random messages of every kind', t => {
  const roots = [
    'envoy.config.bootstrap.v3.Bootstrap',
    'envoy.config.cluster.v3.Cluster',
    'envoy.config.endpoint.v3.ClusterLoadAssignment',
    'envoy.config.listener.v3.Listener',
    'envoy.config.route.v3.RouteConfiguration',
  ].map(descriptorOf)
  const types = [...roots, ...anyTypes].map(each => each.typeName)
  let bytes = 0
  fc.assert(
    fc.property(fc.integer(), fc.constantFrom(...types), (seed, name) => {
      const descriptor = descriptorOf(name)
      const value = messageOf(randomOf(seed), descriptor, 0)
      bytes += encode(descriptor.typeName, value as object).length
      return sameAsLibrary(descriptor, value)
    }),
    { numRuns: 1500 },
  )
  t.ok(bytes > 10_000, `${bytes} bytes compared`)
  t.end()
})

t.test('every field of every message of the set is written as the library writes it', t => {
  const seen = new Set<string>()
  for (const descriptor of registry()) {
    if (descriptor.kind !== 'message' || descriptor.typeName.startsWith('google.protobuf.')) continue
    if (descriptor.typeName.endsWith('Entry')) continue
    for (const field of descriptor.fields) {
      if (!isWritable(field)) continue
      const value = { [field.name]: sample(field) }
      seen.add(`${descriptor.typeName}.${field.name}`)
      const ours = Buffer.from(encode(descriptor.typeName, value)).toString('hex')
      if (ours !== Buffer.from(byLibrary(descriptor, value)).toString('hex'))
        t.fail(`${descriptor.typeName}.${field.name}`)
    }
  }
  t.ok(seen.size > 2000, `${seen.size} fields`)
  t.end()
})

/** A value that is not the field's zero. */
function sample(field: DescField): Json {
  const one = () => {
    if (field.message) return sampleOf(field.message)
    if (field.enum) return field.enum.values.at(-1)?.name
    if (field.scalar === ScalarType.STRING) return 'ä'
    if (field.scalar === ScalarType.BYTES) return 'AAE='
    return field.scalar === ScalarType.BOOL ? true : 7
  }
  if (field.fieldKind === 'list') return [one(), one()]
  return field.fieldKind === 'map' ? { b: one(), c: one() } : one()
}

function sampleOf(message: DescMessage): Json {
  const special: Readonly<Record<string, Json>> = {
    'google.protobuf.Any': {
      '@type': 'type.googleapis.com/google.protobuf.Struct',
      value: { a: [1, null, true, 'x', {}] },
    },
    'google.protobuf.Duration': '-1.000000001s',
    'google.protobuf.Timestamp': '2026-01-02T03:04:05.000000006Z',
    'google.protobuf.FieldMask': 'a.bC,d',
    'google.protobuf.Struct': { a: { b: [null] } },
    'google.protobuf.Value': null,
    'google.protobuf.ListValue': [[], 0, ''],
  }
  if (message.typeName in special) return special[message.typeName]
  const [value] = message.fields
  return message.typeName.startsWith('google.protobuf.') && value ? sample(value) : {}
}

t.test('a value that does not fit is refused, with its path', t => {
  const refused = (type: string, value: object, path: string, why: RegExp) =>
    t.throws(() => encode(type, value), { path, message: why }, path)
  const route = 'envoy.config.route.v3.RouteConfiguration'
  const cluster = 'envoy.config.cluster.v3.Cluster'
  const inRoute = (value: object) => ({ virtual_hosts: [{}, { routes: [value] }] })
  refused(
    route,
    inRoute({ match: { prefx: '/' } }),
    `${route}.virtual_hosts[1].routes[0].match.prefx`,
    /no such field/,
  )
  refused(
    route,
    inRoute({ match: { prefix: '/', path: '/' } }),
    `${route}.virtual_hosts[1].routes[0].match.path`,
    /oneof/,
  )
  refused(route, { '@type': 'x' }, `${route}.@type`, /no such field/)
  refused(route, { virtual_hosts: {} }, `${route}.virtual_hosts`, /expected a list/)
  refused(cluster, { connect_timeout: '5' }, `${cluster}.connect_timeout`, /duration/)
  refused(cluster, { connect_timeout: 5 }, `${cluster}.connect_timeout`, /duration/)
  refused(cluster, { lb_policy: 'BEST' }, `${cluster}.lb_policy`, /ROUND_ROBIN/)
  refused(cluster, { lb_policy: 1 }, `${cluster}.lb_policy`, /not 1/)
  refused(cluster, { name: 1 }, `${cluster}.name`, /expected a string/)
  refused(cluster, { name: '\ud800' }, `${cluster}.name`, /Unicode/)
  refused(
    cluster,
    { per_connection_buffer_limit_bytes: -1 },
    `${cluster}.per_connection_buffer_limit_bytes`,
    /whole number/,
  )
  refused(
    cluster,
    { per_connection_buffer_limit_bytes: '1' },
    `${cluster}.per_connection_buffer_limit_bytes`,
    /whole number/,
  )
  refused(cluster, { type: 'EDS', cluster_type: {} }, `${cluster}.cluster_type`, /oneof/)
  const options = { typed_extension_protocol_options: { x: { '@type': 'type.googleapis.com/nope' } } }
  refused(cluster, options, `${cluster}.typed_extension_protocol_options.x.@type`, /type URL/)
  const tree = 'google.api.expr.v1alpha1.SourceInfo'
  refused(tree, { positions: { 1: 2 } }, `${tree}.positions`, /keys other than strings/)
  t.throws(() => encode('envoy.Nothing', {}), /no message envoy\.Nothing/)
  t.end()
})

t.test('after a refusal the next message is whole', t => {
  t.throws(() => encode('envoy.config.cluster.v3.Cluster', { name: 'a', lb_policy: 'x' }))
  t.same(
    decode('envoy.config.cluster.v3.Cluster', encode('envoy.config.cluster.v3.Cluster', { name: 'b' })),
    { name: 'b' },
  )
  t.end()
})

t.test('equal values give equal bytes whatever the order of their keys', t => {
  const metadata = (names: string[]) => ({
    metadata: { filter_metadata: Object.fromEntries(names.map(name => [name, { [name]: 1, a: 1 }])) },
    name: 'x',
  })
  const one = encode('envoy.config.cluster.v3.Cluster', metadata(['b', 'c', '10', '9']))
  const two = encode(
    'envoy.config.cluster.v3.Cluster',
    Object.fromEntries(Object.entries(metadata(['9', '10', 'c', 'b'])).reverse()),
  )
  t.equal(Buffer.compare(one, two), 0)
  t.end()
})

t.test('undefined and null are absent; a zero is written where it means something', t => {
  const type = 'envoy.config.cluster.v3.Cluster'
  const hex = (value: object) => Buffer.from(encode(type, value)).toString('hex')
  t.equal(hex({ name: undefined, lb_policy: null, load_assignment: undefined, type: null }), '')
  t.equal(hex({ name: '', lb_policy: 'ROUND_ROBIN' }), '', 'a field without presence')
  t.equal(hex({ type: 'STATIC' }), '1000', 'a member of a oneof')
  t.equal(hex({ per_connection_buffer_limit_bytes: 0 }), '2a00', 'a wrapper')
  t.equal(hex({ connect_timeout: '0s' }), '2200', 'a message')
  t.end()
})

t.test('secret texts are decoded as [redacted], wherever they stand', t => {
  const any = (type: string, value: object) => ({ '@type': `type.googleapis.com/${type}`, ...value })
  const http = 'envoy.extensions.filters.http'
  const filters = [
    any(`${http}.basic_auth.v3.BasicAuth`, { users: { inline_string: 'hush' } }),
    any(`${http}.api_key_auth.v3.ApiKeyAuth`, { credentials: [{ key: 'hush', client: 'shown' }] }),
    any(`${http}.jwt_authn.v3.JwtAuthentication`, {
      providers: { a: { local_jwks: { inline_string: 'hush' } } },
    }),
  ]
  const tls = {
    common_tls_context: {
      tls_certificates: [
        {
          certificate_chain: { inline_string: 'shown' },
          private_key: { inline_bytes: 'aHVzaA==' },
          password: { filename: '/shown' },
        },
      ],
    },
  }
  const hcm = any('envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', {
    http_filters: filters.map((typed_config, i) => ({ name: `f${i}`, typed_config })),
  })
  const socket = any('envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', tls)
  const listener = {
    filter_chains: [{ filters: [{ typed_config: hcm }], transport_socket: { typed_config: socket } }],
  }
  const shown = JSON.stringify(
    decode('envoy.config.listener.v3.Listener', encode('envoy.config.listener.v3.Listener', listener)),
  )
  t.notMatch(shown, /hush|aHVzaA/)
  t.equal(shown.split('[redacted]').length - 1, 4)
  t.equal(shown.split('shown').length - 1, 3)
  t.end()
})

t.test('every redacted field exists', t => {
  for (const path of redactedFields) {
    const dot = path.lastIndexOf('.')
    const field = descriptorOf(path.slice(0, dot)).fields.find(each => each.name === path.slice(dot + 1))
    t.ok(field, path)
    t.not(field?.presence, FeatureSet_FieldPresence.LEGACY_REQUIRED)
  }
  t.end()
})
