import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { createServer } from '../../src/server/index.js'
import type { Server } from '../../src/server/index.js'
import { readSpecification } from '../../src/server/specification.js'
import { aWorld, secretText } from './context.js'
import type { World } from './context.js'

const { operations } = readSpecification()
type Operation = (typeof operations)[number]

const reviewed = { apiVersion: 'g.example/v1', kind: 'Thing', metadata: { name: 'a', namespace: 'b' } }
const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a', resourceVersion: '7' } }
const cloud = { specversion: '1.0', id: '1', source: 's', type: 'dev.knative.apiserver.resource.add' }
const examples: readonly unknown[] = [
  {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      ...{ uid: 'u', operation: 'UPDATE', namespace: 'b', name: 'a', dryRun: false },
      ...{
        kind: { group: 'g.example', version: 'v1', kind: 'Thing' },
        object: reviewed,
        oldObject: reviewed,
      },
    },
  },
  { type: 'MODIFIED', object: service },
  [
    { type: 'ADDED', object: service },
    { type: 'HINT', kind: 'service', key: 'service:a', version: '7' },
  ],
  { type: 'BOOKMARK', object: service },
  {
    ...{ type: 'SYNC', syncId: 's', version: '9', part: 1, of: 2, items: [service] },
    scope: { kind: 'service', namespaces: ['a'], selector: 'a=b' },
  },
  { ...cloud, data: service },
  { ...cloud, type: 'dev.knative.apiserver.ref.add', data: { apiVersion: 'v1', kind: 'A', name: 'a' } },
]

/** Everywhere in a value. */
function positions(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, part]) => positions(part, [...path, name]))]
}

function replaced(value: unknown, [step, ...rest]: readonly string[], by: unknown): unknown {
  if (step === undefined) return by
  const part = (value as Record<string, unknown>)[step]
  const changed = replaced(part, rest, by)
  if (Array.isArray(value))
    return value.map((each, at) => (String(at) === step ? changed : (each as unknown)))
  return { ...(value as object), [step]: changed }
}

const deep = '['.repeat(10_000) + ']'.repeat(10_000)
const odd = [
  ...['', '{', 'null', '1e999999', '-0', `{"a":${'9'.repeat(5_000)}}`, deep, deep.slice(0, 10_000)],
  ...[
    '{"__proto__":{"allowed":true}}',
    '{"constructor":{"prototype":{"x":1}}}',
    '\u0000',
    '\ufeff{}',
    '"\\ud800"',
  ],
  '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000),
  `{"type":"ADDED","object":{"apiVersion":"v1","kind":"A","metadata":{"name":"a","constructor":{"prototype":1}}}}`,
]

const others: readonly unknown[] = [
  ...[null, true, 0, -1, 1e308, 2 ** 53, '', '\u0000', 'a'.repeat(10_000), [], {}, [[]], [null]],
  'a deep one',
]
const mutants = examples.flatMap(example =>
  positions(example).flatMap(path =>
    others.map(other => JSON.stringify(replaced(example, path, other)).replace('"a deep one"', deep)),
  ),
)

const bodies = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...mutants).map(text => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.constantFrom(...odd).map(text => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(...examples), fc.nat(400))
      .map(([value, end]) => Buffer.from(JSON.stringify(value).slice(0, end))),
  },
)
const types = [
  'application/json',
  'application/x-ndjson',
  'application/cloudevents+json',
  'text/xml',
  'a;b',
  '*/*',
]
const header = fc.string({ unit: 'grapheme-ascii', maxLength: 40 }).map(text => text.trim())
const headers = fc.dictionary(
  fc.constantFrom(
    ...['accept', 'if-none-match', 'authorization', 'content-encoding', 'ce-specversion', 'ce-type', 'ce-id'],
    ...['x-gatewright-signature', 'x-gatewright-timestamp', 'expect', 'x-http-method-override', 'cookie'],
  ),
  header,
  { maxKeys: 3 },
)
const query = fc.oneof(
  fc.constant(''),
  fc.webQueryParameters(),
  fc.constantFrom(
    'timeout=9999999s',
    'depth=1e9',
    'root=%00',
    `name=${'a'.repeat(8_000)}`,
    'a[b]=c',
    '%',
    '__proto__=1',
  ),
)

interface Tried {
  readonly operation: Operation
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}
const requests: fc.Arbitrary<Tried> = fc
  .record({
    operation: fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom(...operations.filter(({ bodyTypes }) => bodyTypes.length > 0)),
      },
      { weight: 1, arbitrary: fc.constantFrom(...operations) },
    ),
    type: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, fc.constantFrom(...types)),
    ...{ query, headers, body: bodies },
  })
  .map(({ operation, type, query, headers, body }) => ({
    ...{ operation, body, method: operation.method, url: `${operation.path}?${query}` },
    headers: { ...headers, 'content-type': type ?? operation.bodyTypes[0] ?? 'application/json' },
  }))

/** What a request that is refused must not touch. */
function stateOf({ store, received, reviewed, reconciled }: World): string {
  return JSON.stringify([store.snapshot().revision, received.length, reviewed.length, reconciled])
}

function whyBad(code: number, type: string, text: string, before: string, world: World): string | undefined {
  if (code >= 500) return 'our failure'
  if (text.includes(secretText) || /node_modules|\.ts:\d/.test(text)) return 'it tells too much'
  if (code < 400) return undefined
  if (!type.startsWith('application/problem+json')) return 'no problem+json'
  return stateOf(world) === before ? undefined : 'refused, and yet something changed'
}

function objectsOf({ store }: World): string {
  return JSON.stringify([...store.snapshot().kinds()].map(kind => [...store.snapshot().list(kind)]))
}

t.test('a request without a socket', async t => {
  const world = aWorld()
  const server = await createServer(world.context)
  t.teardown(() => server.close())
  const objects = objectsOf(world)
  const codes = new Set<number>()
  await fc.assert(
    fc.asyncProperty(requests, async ({ method, url, headers, body }) => {
      const before = stateOf(world)
      const request = { method: method as 'POST', url, headers, payload: body }
      const { statusCode, headers: told, payload } = await server.inject(request)
      codes.add(statusCode)
      const bad = whyBad(statusCode, String(told['content-type']), payload, before, world)
      if (bad !== undefined) throw new Error(`${bad}: ${statusCode} ${method} ${url} ${payload}`)
    }),
    { numRuns: 2_000, plugins: [fc.interruptAfterTimeLimit(6_000)] },
  )
  t.equal(objectsOf(world), objects, 'what is held is as it was')
  t.ok(codes.has(200) && codes.has(202) && codes.has(400) && codes.has(415), [...codes].join())
  t.notOk('allowed' in {}, 'no prototype was touched')
})

/** Writes bytes to the server, and gives what it answers until it ends the connection. */
async function raw(port: number, parts: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  for (const part of parts) socket.write(part)
  socket.end()
  let answer = ''
  try {
    for await (const part of socket) answer += String(part)
  } catch {
    // A reset is an answer too.
  }
  return answer
}

async function listening(world: World, options = {}): Promise<{ server: Server; port: number }> {
  const server = await createServer(world.context, options)
  return { server, port: Number((await server.listen('127.0.0.1:0')).split(':')[1]) }
}

t.test('bytes on a socket', async t => {
  const world = aWorld()
  const { server, port } = await listening(world)
  t.teardown(() => server.close())
  const objects = objectsOf(world)
  const alive = async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).status === 200

  const check = (answer: string, before: string, what: string) => {
    for (const each of answer.split(/(?=HTTP\/1\.1 \d{3} )/).filter(text => text !== '')) {
      const code = Number(/^HTTP\/1\.1 (\d{3})/.exec(each)?.[1] ?? 599)
      const type = /^content-type: (.*)$/im.exec(each)?.[1] ?? ''
      const bad = whyBad(code, type, each, before, world)
      if (bad !== undefined) throw new Error(`${bad}: ${what}: ${each.slice(0, 300)}`)
    }
  }

  t.test('in good form with a bad content', async () => {
    const whole = requests.map(({ method, url, headers, body }) => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
      const head = [`${method} ${encodeURI(url)} HTTP/1.1`, 'host: localhost', 'connection: close', ...lines]
      return [`${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n`, body] as const
    })
    await fc.assert(
      fc.asyncProperty(whole, async parts => {
        const before = stateOf(world)
        check(await raw(port, parts), before, parts[0])
      }),
      { numRuns: 150, plugins: [fc.interruptAfterTimeLimit(3_000)] },
    )
  })

  t.test('in a bad form', async t => {
    const json = 'content-type: application/json\r\n'
    const post = `POST /webhooks/watch HTTP/1.1\r\nhost: localhost\r\n${json}`
    const event = JSON.stringify(examples[1])
    const before = stateOf(world)
    for (const parts of [
      [`${post}transfer-encoding: chunked\r\n\r\nzz\r\n${event}\r\n0\r\n\r\n`],
      [`${post}transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n`],
      [`${post}transfer-encoding: chunked\r\n\r\n5\r\n{"typ`],
      [`${post}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n5\r\n{"typ\r\n0\r\n\r\n`],
      [`${post}content-length: 5\r\ncontent-length: 6\r\n\r\n{"typ`],
      [`${post}content-length: -1\r\n\r\n`],
      [`${post}content-length: 99999999999\r\n\r\n{}`],
      [`${post}content-length: 100\r\n\r\n${event}`],
      [`POST /webhooks/watch HTTP/1.1\r\nhost: localhost\r\n\r\n`],
      [`GET /${'a'.repeat(15_000)} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`],
      [`GET /${'a'.repeat(100_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`],
      [`GET /v1/status?${'a=b&'.repeat(3_000)} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`],
      [`GET /../../etc/passwd HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`],
      [`GET /healthz HTTP/9.9\r\nhost: localhost\r\n\r\n`],
      [`GET /healthz HTTP/1.1\r\n\r\n`],
      [`GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\u0000b\r\n\r\n`],
      [Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00])],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      ['CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n'],
      [
        'GET /healthz HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade, close\r\n\r\n',
      ],
    ] as const) {
      check(await raw(port, parts), before, String(parts[0]).slice(0, 120))
      t.equal(stateOf(world), before, JSON.stringify(String(parts[0]).slice(0, 120)))
    }
    t.ok(await alive())
    t.equal(objectsOf(world), objects)
  })

  t.test('that come too slowly end in time', async t => {
    const slow = aWorld()
    const { server, port } = await listening(slow, { timeoutMs: 100, authenticators: [] })
    t.teardown(() => server.close())
    const socket = connect(port, '127.0.0.1')
    socket.write('POST /webhooks/watch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n')
    socket.write('content-length: 100\r\n\r\n{')
    let answer = ''
    for await (const part of socket) answer += String(part)
    t.match(answer, /^HTTP\/1\.1 (408|503) [\s\S]*problem\+json/)
    t.same(slow.received, [])
  })
})
