import fc from 'fast-check'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { createMetrics, manualClock, nextTurn, silentLog } from '../../src/core/index.js'
import type { Log, ManualClock } from '../../src/core/index.js'
import { createForwarder, SeenSignatures, signed, whyNotSigned } from '../../src/sources/index.js'
import type { ForwarderOptions, Hint } from '../../src/sources/index.js'
import { selfSigned } from '../support/certificates.js'
import type { KeyPair } from '../support/certificates.js'

/** A replica: records what is posted to it and answers as it is told. */
class Replica {
  readonly posts: {
    readonly path: string
    readonly headers: http.IncomingHttpHeaders
    readonly body: string
  }[] = []
  /** Common names of the client certificates that were shown. */
  readonly shown: unknown[] = []
  /** Statuses of the next answers; `reset` cuts the connection, `silent` says nothing. Then 202. */
  readonly next: (number | 'reset' | 'silent')[] = []
  readonly #server: http.Server

  constructor(server: http.Server) {
    this.#server = server
    server.on('request', (request, answer) => void this.#take(request, answer))
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get hints(): unknown[] {
    return this.posts.flatMap(({ body }) => JSON.parse(body) as unknown[])
  }

  async #take(request: http.IncomingMessage, answer: http.ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { url = '', headers } = request
    this.posts.push({ path: url, headers, body: Buffer.concat(parts).toString() })
    this.shown.push(peerOf(request.socket))
    const status = this.next.shift() ?? 202
    if (status === 'silent') return
    if (status === 'reset') request.socket.destroy()
    else answer.writeHead(status, { 'content-type': 'application/json' }).end('{"accepted":1}')
  }

  static async start(test: Test, tls?: KeyPair & { ca?: string }, at = '127.0.0.1:0'): Promise<Replica> {
    const options = tls && { cert: tls.chain, key: tls.key, requestCert: tls.ca !== undefined, ca: tls.ca }
    const server = options ? https.createServer(options) : http.createServer()
    const [host, port] = at.split(':')
    await new Promise<void>(resolve => server.listen(Number(port), host, resolve))
    test.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    return new Replica(server)
  }
}

/** The common name of the client certificate. */
function peerOf(socket: Socket): unknown {
  return socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : undefined
}

type Options = Partial<Omit<ForwarderOptions, 'peers'>>

/** A forwarder on a clock that stands still, and what it counts. */
function aForwarder(test: Test, peers: readonly string[], options: Options = {}) {
  const [clock, metrics] = [manualClock(1_800_000_000_000), createMetrics()]
  const forwarder = createForwarder({ peers, credentials: {}, clock, metrics, ...options })
  test.teardown(() => forwarder.close())
  const counted = async (result: string) => {
    const line = new RegExp(`^gatewright_hints_forwarded_total\\{result="${result}"\\} (\\d+)$`, 'm')
    return Number(line.exec(await metrics.text())?.[1] ?? 0)
  }
  return { forwarder, clock, counted }
}

/** Lets everything happen that can without time passing, and time pass too where a clock and a step (ms) are given. */
async function until(what: () => boolean | Promise<boolean>, clock?: ManualClock, step = 50): Promise<void> {
  const end = performance.now() + 10_000
  while (!(await what())) {
    if (performance.now() > end) throw new Error('it did not come about within 10 s')
    clock?.advance(step)
    await nextTurn()
  }
}

const at = (replica: Replica) => `127.0.0.1:${replica.port}`
const aHint = (name = 'cart', more: Partial<Hint> = {}): Hint => ({
  kind: 'service',
  key: `service:shop/${name}`,
  operation: 'UPDATE',
  ...more,
})
const asMessage = (hint: Hint) => ({ type: 'HINT', ...hint })

void t.test('hints reach every replica as they are, those of one moment together', async t => {
  const [one, two] = [await Replica.start(t), await Replica.start(t)]
  const { forwarder, counted } = aForwarder(t, [at(one), `http://${at(two)}/behind/`])
  const hints = [aHint('cart', { uid: 'u', version: '7' }), aHint('pay'), { kind: 'service' }]
  for (const hint of hints) forwarder.send(hint)
  await until(async () => (await counted('delivered')) === 6)
  for (const { posts, hints: got } of [one, two]) {
    t.equal(posts.length, 1)
    t.equal(posts[0]?.headers['content-type'], 'application/json')
    t.strictSame(got, hints.map(asMessage))
  }
  t.equal(one.posts[0]?.path, '/webhooks/watch')
  t.equal(two.posts[0]?.path, '/behind/webhooks/watch')
  t.throws(() => aForwarder(t, ['ftp://replica:1']), /neither host:port nor an http/)
})

void t.test('without peers there is nothing to do', t => {
  const { forwarder } = aForwarder(t, [])
  forwarder.send(aHint())
  forwarder.close()
  t.end()
})

void t.test(
  'the same hint goes once, and once more a little later: it may be about a later change',
  async t => {
    const replica = await Replica.start(t)
    const { forwarder, clock, counted } = aForwarder(t, [at(replica)])
    for (let i = 0; i < 5; i++) forwarder.send(aHint())
    await until(async () => (await counted('delivered')) === 1)
    t.equal(await counted('duplicate'), 4)
    clock.advance(249)
    forwarder.send(aHint('cart', { operation: 'DELETE' }))
    await until(async () => (await counted('delivered')) === 2)
    t.equal((replica.hints[1] as Hint).operation, 'DELETE', 'another one goes at once')
    clock.advance(1)
    await until(async () => (await counted('delivered')) === 3)
    t.strictSame(replica.hints[2], asMessage(aHint()))
    clock.advance(1000)
    forwarder.send(aHint())
    await until(async () => (await counted('delivered')) === 4)
    clock.advance(1000)
    await nextTurn()
    t.equal(replica.hints.length, 4, 'and not again by itself')
  },
)

void t.test('a hint that names its version goes once', async t => {
  const replica = await Replica.start(t)
  const { forwarder, clock, counted } = aForwarder(t, [at(replica)])
  for (const version of ['7', '7', '8', '7']) forwarder.send(aHint('cart', { version }))
  await until(async () => (await counted('delivered')) === 2)
  clock.advance(1000)
  forwarder.send(aHint('last'))
  await until(async () => (await counted('delivered')) === 3)
  t.strictSame(
    replica.hints.map(hint => (hint as Hint).version),
    ['7', '8', undefined],
  )
})

void t.test('of a flood some go, the others are dropped and counted; what waits is bounded', async t => {
  const replica = await Replica.start(t)
  const { forwarder, clock, counted } = aForwarder(t, [at(replica)])
  for (let i = 0; i < 20_000; i++) forwarder.send(aHint(`s${i}`, { version: String(i) }))
  forwarder.send(aHint('x'.repeat(3000)))
  await until(async () => (await counted('delivered')) === 1000)
  t.equal(await counted('dropped'), 19_001)
  t.equal(replica.posts.length, 2, 'in few requests')
  clock.advance(100)
  for (let i = 0; i < 100; i++) forwarder.send(aHint(`t${i}`, { version: '1' }))
  await until(async () => (await counted('delivered')) === 1020)
  t.equal(await counted('dropped'), 19_081, '200 in each second are let through')
  t.end()
})

void t.test('a hint that must go again waits for its turn in a flood', async t => {
  const replica = await Replica.start(t)
  const { forwarder, clock, counted } = aForwarder(t, [at(replica)])
  for (const name of ['a', 'a', 'b', 'b']) forwarder.send(aHint(name))
  for (let i = 0; i < 2000; i++) forwarder.send(aHint(`s${i}`, { version: '1' }))
  await until(async () => (await counted('delivered')) === 1000)
  clock.advance(249)
  for (let i = 0; i < 60; i++) forwarder.send(aHint(`t${i}`, { version: '1' }))
  await until(async () => (await counted('delivered')) === 1049)
  const again = () =>
    replica.hints
      .slice(1000)
      .map(hint => (hint as Hint).key)
      .filter(key => /[ab]$/.test(key ?? ''))
  clock.advance(1)
  for (let i = 0; i < 20; i++) await nextTurn()
  t.ok(again().length < 2, 'one of them at most could go')
  clock.advance(250)
  await until(() => again().length === 2)
  t.strictSame(again().sort(), ['service:shop/a', 'service:shop/b'])
})

void t.test(
  'a failed try is made again, three times in all, and not where the request itself is wrong',
  async t => {
    const replica = await Replica.start(t)
    const warnings: string[] = []
    const log: Log = {
      ...silentLog,
      warn: (_, text) => warnings.push(text),
      info: (_, text) => warnings.push(text),
    }
    const { forwarder, clock, counted } = aForwarder(t, [at(replica)], { log })
    replica.next.push(503, 'reset')
    forwarder.send(aHint('a'))
    await until(async () => (await counted('delivered')) === 1, clock, 5)
    t.equal(replica.posts.length, 3)
    t.strictSame(warnings, [], 'what is mended soon is no news')
    replica.next.push('reset', 'silent', 429)
    forwarder.send(aHint('b'))
    await until(async () => (await counted('lost')) === 1, clock, 5)
    t.equal(replica.posts.length, 6)
    replica.next.push(400)
    forwarder.send(aHint('c'))
    await until(async () => (await counted('lost')) === 2, clock, 5)
    t.equal(replica.posts.length, 7)
    t.equal(warnings.length, 1, 'said once')
    forwarder.send(aHint('d'))
    await until(async () => (await counted('delivered')) === 2, clock, 5)
    t.equal(warnings.length, 2, 'and when it is over')
  },
)

void t.test('a replica that does not answer keeps no other waiting, and hints for it are lost', async t => {
  const [dead, alive] = [await Replica.start(t), await Replica.start(t)]
  const { forwarder, clock, counted } = aForwarder(t, [at(dead), at(alive)])
  dead.next.push('silent', 'silent', 'silent')
  forwarder.send(aHint('a'))
  await until(() => alive.posts.length === 1 && dead.posts.length === 1)
  forwarder.send(aHint('b'))
  await until(() => alive.posts.length === 2)
  t.equal(dead.posts.length, 1)
  await until(async () => (await counted('lost')) === 1, clock)
  await until(() => dead.hints.length === 4, clock)
  t.equal((dead.hints[3] as Hint).key, aHint('b').key)
})

void t.test('a name is all of its addresses, looked up again and again', async t => {
  const one = await Replica.start(t)
  const two = await Replica.start(t, undefined, `127.0.0.2:${one.port}`)
  let addresses: readonly string[] | Error = new Error('no such name')
  const resolve = (host: string) => {
    if (host !== 'replicas.test') throw new Error(`nobody asked for ${host}`)
    return addresses instanceof Error ? Promise.reject(addresses) : Promise.resolve(addresses)
  }
  const { forwarder, clock, counted } = aForwarder(t, [`replicas.test:${one.port}`], { resolve })
  forwarder.send(aHint('early'))
  await nextTurn()
  addresses = ['127.0.0.1']
  clock.advance(7000)
  await until(async () => (await counted('delivered')) === 1)
  t.strictSame(one.hints, [asMessage(aHint('early'))], 'what came before the look-up is sent after it')
  t.equal(one.posts[0]?.headers.host, `replicas.test:${one.port}`)
  addresses = ['127.0.0.1', '127.0.0.2']
  clock.advance(7000)
  await nextTurn()
  forwarder.send(aHint('both'))
  await until(async () => (await counted('delivered')) === 3)
  t.strictSame([one.hints.length, two.hints.length], [2, 1])
  addresses = new Error('the name server is away')
  clock.advance(7000)
  await nextTurn()
  forwarder.send(aHint('still both'))
  await until(async () => (await counted('delivered')) === 5)
  addresses = ['127.0.0.2']
  clock.advance(7000)
  await nextTurn()
  forwarder.send(aHint('second'))
  await until(async () => (await counted('delivered')) === 6)
  t.strictSame([one.hints.length, two.hints.length], [3, 3])
})

/** A folder of credentials. */
function aFolder(test: Test): (name: string, text: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-credentials-'))
  test.teardown(() => rmSync(folder, { recursive: true }))
  return (name, text) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
}

void t.test('token and key are shown as their files say, also when these change', async t => {
  const replica = await Replica.start(t)
  const write = aFolder(t)
  const credentials = { tokenFile: write('token', 'first\n'), hmacFile: write('key', 'a key\n') }
  const { forwarder, clock, counted } = aForwarder(t, [at(replica)], { credentials })
  const seen = new SeenSignatures()
  const why = (key: string, post: Replica['posts'][number]) =>
    whyNotSigned([key], post.headers, post.body, clock.now(), seen)
  forwarder.send(aHint('a'))
  await until(async () => (await counted('delivered')) === 1)
  const [post] = replica.posts
  t.equal(post?.headers.authorization, 'Bearer first')
  t.equal(post && why('another key', post), 'its signature is not of this key')
  t.equal(post && why('a key', post), undefined)
  t.equal(post && why('a key', post), 'its signature was used before')
  write('token', 'second one')
  write('key', 'another key\na key\n')
  forwarder.send(aHint('b'))
  await until(async () => (await counted('delivered')) === 2)
  t.equal(replica.posts[1]?.headers.authorization, 'Bearer second one')
  t.equal(replica.posts[1] && why('another key', replica.posts[1]), undefined)
  rmSync(credentials.tokenFile)
  forwarder.send(aHint('c'))
  await until(async () => (await counted('delivered')) === 3)
  t.equal(
    replica.posts[2]?.headers.authorization,
    'Bearer second one',
    'while a file is away it is as it was',
  )
})

void t.test('a credential that cannot be read sends nothing, says which, and is tried again', async t => {
  const replica = await Replica.start(t)
  const write = aFolder(t)
  const told: object[] = []
  const log: Log = { ...silentLog, warn: fields => told.push(fields) }
  const tokenFile = write('token', ' \n')
  const { forwarder, clock, counted } = aForwarder(t, [at(replica)], { credentials: { tokenFile }, log })
  forwarder.send(aHint('a'))
  await until(async () => (await counted('lost')) === 1, clock)
  t.equal(replica.posts.length, 0)
  t.match(told[0], { reason: /token cannot be read \(it is empty\)/ })
  write('token', 'now')
  forwarder.send(aHint('b'))
  await until(async () => (await counted('delivered')) === 1)
})

void t.test(
  'by TLS a replica must be who it is said to be, and certificates are exchanged for new ones',
  async t => {
    const [server, client, renewed] = [
      selfSigned('replica.test'),
      selfSigned('webhook'),
      selfSigned('webhook-2'),
    ]
    const replica = await Replica.start(t, { ...server, ca: client.chain + renewed.chain })
    const write = aFolder(t)
    const files = {
      caFile: write('ca', server.chain),
      certFile: write('cert', client.chain),
      keyFile: write('key', client.key),
    }
    const wrong = aForwarder(t, [at(replica)], { credentials: files })
    wrong.forwarder.send(aHint())
    await until(async () => (await wrong.counted('lost')) === 1, wrong.clock, 1)
    t.equal(replica.posts.length, 0, 'the certificate is not of that address')

    const { forwarder, counted } = aForwarder(t, [at(replica)], {
      credentials: { ...files, serverName: 'replica.test' },
    })
    forwarder.send(aHint('a'))
    await until(async () => (await counted('delivered')) === 1)
    write('cert', renewed.chain)
    write('key', renewed.key)
    forwarder.send(aHint('b'))
    await until(async () => (await counted('delivered')) === 2)
    t.strictSame(replica.shown, ['webhook', 'webhook-2'])

    const byName = aForwarder(t, [`replica.test:${replica.port}`], {
      credentials: files,
      resolve: () => Promise.resolve(['127.0.0.1']),
    })
    byName.forwarder.send(aHint('c'))
    await until(async () => (await byName.counted('delivered')) === 1)
  },
)

void t.test('nothing is sent after close', async t => {
  const replica = await Replica.start(t)
  const { forwarder, clock, counted } = aForwarder(t, [at(replica)])
  replica.next.push('silent')
  forwarder.send(aHint('a'))
  forwarder.send(aHint('a'))
  await until(() => replica.posts.length === 1)
  forwarder.send(aHint('b'))
  forwarder.close()
  clock.advance(10_000)
  for (let i = 0; i < 20; i++) await nextTurn()
  forwarder.send(aHint('c'))
  for (let i = 0; i < 20; i++) await nextTurn()
  t.equal(replica.posts.length, 1)
  t.strictSame([await counted('delivered'), await counted('lost')], [0, 0])
})

void t.test('a signature is of its key, its body and its time, and is used once', t => {
  const now = 1_800_000_000_000
  const why = (headers: Record<string, string>, later = 0, body = 'body', key = 'key') =>
    whyNotSigned([key], headers, body, now + later, new SeenSignatures())
  const headers = { ...signed('key', 'body', now) }
  t.equal(headers['x-gatewright-timestamp'], String(now))
  const openssl = 'sha256=56e7310886ad6e2e95777e61f4a335d6e580c1b5aa17aa3ca744bbb9f3d93587'
  t.equal(headers['x-gatewright-signature'], openssl, 'as `openssl dgst -sha256 -hmac` has it')
  t.equal(why(headers), undefined)
  t.equal(why(headers, 300_000), undefined)
  t.equal(why(headers, -300_000), undefined)
  t.equal(why(headers, 300_001), 'its timestamp is more than 5 min away from now')
  t.equal(why(headers, -300_001), 'its timestamp is more than 5 min away from now')
  t.equal(why(headers, 0, 'bodY'), 'its signature is not of this key')
  t.equal(why(headers, 0, 'body', 'kez'), 'its signature is not of this key')
  t.equal(why({ ...headers, 'x-gatewright-timestamp': String(now + 1) }), 'its signature is not of this key')
  t.equal(why({}), 'it is not signed')
  t.equal(why({ ...headers, 'x-gatewright-timestamp': '1e3' }), 'its timestamp is no number of milliseconds')
  t.match(why({ ...headers, 'x-gatewright-signature': 'sha1=00' }), /^its signature is not sha256=/)
  t.end()
})

void t.test('whatever comes when and however often, each signature is believed at most once', t => {
  const step = fc.record({
    later: fc.integer({ min: 0, max: 200_000 }),
    body: fc.integer({ min: 0, max: 3 }),
  })
  const again = fc.record({ later: fc.integer({ min: 0, max: 400_000 }), which: fc.nat(20) })
  const property = fc.property(fc.array(fc.oneof(step, again), { maxLength: 40 }), steps => {
    const seen = new SeenSignatures()
    const sent: { headers: Record<string, string>; body: string; at: number; isUsed: boolean }[] = []
    let now = 1_800_000_000_000
    for (const each of steps) {
      now += each.later
      if ('body' in each) {
        const body = String(each.body)
        sent.push({ headers: { ...signed('key', body, now) }, body, at: now, isUsed: false })
      }
      const request = 'which' in each ? sent[each.which % Math.max(1, sent.length)] : sent.at(-1)
      if (request === undefined) continue
      const known = sent.some(other => other.isUsed && other.body === request.body && other.at === request.at)
      const isBelieved = whyNotSigned(['key'], request.headers, request.body, now, seen) === undefined
      if (isBelieved !== (!known && now - request.at <= 300_000)) return false
      if (isBelieved) request.isUsed = true
    }
    return true
  })
  fc.assert(property, { numRuns: 200 })
  t.end()
})
