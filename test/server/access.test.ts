import { mkdtempSync, renameSync, symlinkSync, writeFileSync, mkdirSync, rmSync } from 'node:fs'
import { get as httpsGet, request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { setTimeout as later } from 'node:timers/promises'
import { connect as tlsConnect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { createMetrics, manualClock, silentLog } from '../../src/core/index.js'
import { connect } from '../../src/kube/index.js'
import type { KubeClient } from '../../src/kube/index.js'
import { bearerToken, clientCertificate, createKubeAuthoriser, createServer } from '../../src/server/index.js'
import { hmac, staticToken } from '../../src/server/index.js'
import type { Server, ServerContext, ServerOptions } from '../../src/server/index.js'
import { signed } from '../../src/sources/index.js'
import { ApiServer } from '../support/api-server.js'
import { selfSigned } from '../support/certificates.js'
import { aWorld } from './context.js'

async function aServer(t: Test, options: ServerOptions, overrides: Partial<ServerContext> = {}) {
  const world = aWorld(overrides)
  const server = await createServer(world.context, { loopbackExempt: false, ...options })
  t.teardown(() => server.close())
  return { world, server }
}

function aFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-access-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const event = { type: 'HINT', kind: 'service' }
const watch = (headers: object, payload = JSON.stringify(event)) => ({
  method: 'POST' as const,
  url: '/webhooks/watch',
  headers: { 'content-type': 'application/json', ...headers },
  payload,
})

/** Until it is so; the test's own time-out ends it. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await later(5)
}

t.test('tokens of the cluster', async t => {
  const api = await ApiServer.start()
  t.teardown(() => api.close())
  api.tokens.set('good', { username: 'ann', groups: ['dev'] })
  api.permitted.add('ann get /v1/status')
  const clock = manualClock(1_000_000)
  const client = await connect({ kubeconfig: api.kubeconfig, clock })
  t.teardown(() => client.close())
  const metrics = createMetrics()
  const kube = createKubeAuthoriser({ client, clock, metrics })
  const { server } = await aServer(t, { authenticators: [kube], clock })
  const ask = (token: string, url = '/v1/status') => server.inject({ url, headers: bearer(token) })
  const reviews = () => api.requests.filter(({ path }) => path.endsWith('reviews')).length

  t.test('let in whom RBAC allows the path and the verb, and nobody else', async t => {
    t.equal((await ask('good')).statusCode, 200)
    const other = await ask('good', '/v1/topology')
    t.equal(other.statusCode, 403)
    t.match(other.json<{ detail: string }>().detail, /ann may not get \/v1\/topology/)
    t.equal((await ask('good', '/v1/%73tatus')).statusCode, 200, 'the operation counts, however it is spelt')
    t.equal((await ask('good', '/v1/%74opology')).statusCode, 403)
    const posted = await server.inject({ method: 'POST', url: '/v1/reconcile', headers: bearer('good') })
    t.equal(posted.statusCode, 403)
    const unknown = await ask('bad')
    t.equal(unknown.statusCode, 401)
    t.equal(unknown.headers['www-authenticate'], 'Bearer realm="gatewright"')
    t.notMatch(unknown.payload, /"bad"/)
    t.match((await server.inject('/v1/status')).json<{ detail: string }>().detail, /kubectl create token/)
  })

  t.test('are asked about once for many calls, and again after a minute', async t => {
    clock.advance(61_000)
    const before = reviews()
    await Promise.all(Array.from({ length: 20 }, () => ask('good')))
    t.equal(reviews() - before, 2, 'one TokenReview and one SubjectAccessReview')
    clock.advance(59_000)
    await ask('good')
    t.equal(reviews() - before, 2)
    clock.advance(2_000)
    api.tokens.delete('good')
    t.equal((await ask('good')).statusCode, 401, 'what was withdrawn ends within the minute')
    api.tokens.set('good', { username: 'ann', groups: [] })
    t.equal((await ask('good')).statusCode, 401, 'a refusal is kept for 10 s')
    clock.advance(10_001)
    t.equal((await ask('good')).statusCode, 200)
  })

  t.test('do not outlive their own end', async t => {
    const claims = Buffer.from(JSON.stringify({ exp: clock.now() / 1_000 + 5 })).toString('base64url')
    const token = `e30.${claims}.x`
    api.tokens.set(token, { username: 'ann', groups: [] })
    t.equal((await ask(token)).statusCode, 200)
    api.tokens.delete(token)
    t.equal((await ask(token)).statusCode, 200)
    clock.advance(5_000)
    t.equal((await ask(token)).statusCode, 401)
  })

  t.test('let nobody in while the API server is away', async t => {
    clock.advance(61_000)
    await api.down()
    const answer = await ask('good')
    t.equal(answer.statusCode, 503)
    t.equal(answer.headers['retry-after'], '1')
    t.match(answer.headers['content-type'], /problem\+json/)
    await api.up()
    clock.advance(1_001)
    t.equal((await ask('good')).statusCode, 200)
    t.match(await metrics.text(), /authorisation_reviews_total\{review="token",result="failed"\} 1/)
  })

  t.test('that the API server denies us to review let nobody in either', async t => {
    const refusing: Pick<KubeClient, 'reviewToken' | 'whyNotAllowed'> = {
      reviewToken: () => Promise.resolve({ username: 'ann', groups: [] }),
      whyNotAllowed: () => Promise.reject(new Error('secret words of the peer')),
    }
    const way = createKubeAuthoriser({ client: refusing, metrics: createMetrics() })
    const { server } = await aServer(t, { authenticators: [way] })
    const answer = await server.inject({ url: '/v1/status', headers: bearer('x') })
    t.equal(answer.statusCode, 503)
    t.notMatch(answer.payload, /secret words/)
  })
})

t.test('a relay shows who it is', async t => {
  const folder = aFolder(t)
  const [tokenFile, keyFile] = [join(folder, 'token'), join(folder, 'key')]
  writeFileSync(tokenFile, 'sesame\n')
  writeFileSync(keyFile, 'the key\n')
  const clock = manualClock(1_700_000_000_000)
  const relayAuthenticators = [
    await staticToken(tokenFile, { clock }),
    await hmac(keyFile, { clock }),
    clientCertificate(),
  ]
  const options = { relayAuthenticators, authenticators: [bearerToken('other')], clock }
  const { world, server } = await aServer(t, options)
  const body = JSON.stringify(event)
  const status = async (headers: object, payload = body) =>
    (await server.inject(watch(headers, payload))).statusCode

  t.test('by a token of a file, which may change', async t => {
    t.equal(await status(bearer('sesame')), 202)
    t.equal(await status(bearer('other')), 202, 'or by what lets in everywhere')
    t.equal(await status(bearer('wrong')), 401)
    const elsewhere = await server.inject({ url: '/v1/status', headers: bearer('sesame') })
    t.equal(elsewhere.statusCode, 401, 'a relay’s token is for the relay alone')
    writeFileSync(tokenFile, 'sesame\nnewer\n')
    clock.advance(1_000)
    t.equal(await status(bearer('newer')), 202)
    writeFileSync(tokenFile, '\n')
    clock.advance(1_000)
    t.equal(await status(bearer('newer')), 202, 'an empty file changes nothing')
    t.equal(await status({ authorization: 'Bearer ' }), 401)
  })

  t.test('by a signature over the body, once and in time', async t => {
    const good = signed('the key', body, clock.now())
    const before = world.received.length
    t.equal(await status(good), 202)
    t.match(world.received.at(-1), event)
    t.equal(await status(good), 401, 'a replay is refused')
    t.equal(await status(signed('the key', body, clock.now() + 1), `${body} `), 401, 'another body')
    t.equal(await status(signed('another', body, clock.now() + 2)), 401, 'another key')
    t.equal(await status(signed('the key', body, clock.now() - 300_001)), 401, 'too old')
    t.equal(await status({ 'x-gatewright-signature': 'sha256=00' }), 401)
    t.equal(world.received.length, before + 1)
    const big = ' '.repeat(33_554_433)
    t.equal(await status(signed('the key', big, clock.now()), big), 413)
  })

  t.test('and is told of all the ways when it shows nothing', async t => {
    const answer = await server.inject(watch({}))
    t.equal(answer.statusCode, 401)
    t.match(answer.json<{ detail: string }>().detail, /Bearer.*HMAC-SHA256.*client certificate/s)
  })

  t.test('and a file that holds nothing is an error at the start', async t => {
    writeFileSync(join(folder, 'empty'), ' \n')
    await t.rejects(staticToken(join(folder, 'empty')), { code: 'SECRET_FILE_UNUSABLE' })
    await t.rejects(hmac(join(folder, 'none')), { code: 'SECRET_FILE_UNUSABLE' })
  })
})

t.test('HTTPS', async t => {
  const folder = aFolder(t)
  // As a Secret is mounted: files are links through `..data`, which is swapped.
  const mount = (name: string, pair: { chain: string; key: string }) => {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'tls.crt'), pair.chain)
    writeFileSync(join(folder, name, 'tls.key'), pair.key)
    symlinkSync(name, join(folder, '..new'))
    renameSync(join(folder, '..new'), join(folder, '..data'))
  }
  const [client, stranger] = [selfSigned('relay-1'), selfSigned('stranger')]
  const pairs = { a: selfSigned('a.example'), b: selfSigned('b.example'), c: selfSigned('c.example') }
  mount('a', pairs.a)
  writeFileSync(join(folder, 'ca.pem'), client.chain)
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(`..data/${file}`, join(folder, file))
  const tls = {
    certFile: join(folder, 'tls.crt'),
    keyFile: join(folder, 'tls.key'),
    clientCaFile: join(folder, 'ca.pem'),
  }
  const clock = manualClock(Date.UTC(2026, 0))
  const { server, world } = await aServer(t, { tls, clock, relayAuthenticators: [clientCertificate()] })
  const port = Number((await server.listen('127.0.0.1:0')).split(':')[1])

  const handshake = async (more: object = {}) =>
    new Promise<TLSSocket>((resolve, reject) => {
      const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...more })
      socket.once('secureConnect', () => resolve(socket)).once('error', reject)
    })
  const served = async () => {
    const socket = await handshake()
    const name = socket.getPeerCertificate().subject.CN
    socket.destroy()
    return name
  }
  const relayed = async (pair?: { chain: string; key: string }) =>
    new Promise<number>((resolve, reject) => {
      const shown = pair && { cert: pair.chain, key: pair.key }
      const options = { ...watch({}), port, path: '/webhooks/watch', rejectUnauthorized: false, agent: false }
      httpsRequest({ ...options, ...shown }, answer => resolve(answer.resume().statusCode ?? 0))
        .on('error', reject)
        .end(JSON.stringify(event))
    })

  t.test('lets a relay in by its certificate, and others by what else they show', async t => {
    t.equal(await relayed(client), 202)
    t.equal(await relayed(stranger), 401)
    t.equal(await relayed(), 401)
    const open = await new Promise<number>((resolve, reject) => {
      httpsGet({ port, path: '/healthz', rejectUnauthorized: false, agent: false }, answer =>
        resolve(answer.resume().statusCode ?? 0),
      ).on('error', reject)
    })
    t.equal(open, 200)
    t.equal(world.received.length, 1)
  })

  t.test('is TLS 1.2 at least', async t => {
    await t.rejects(handshake({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }))
  })

  t.test('takes up a new certificate, and keeps the connections that there are', async t => {
    const socket = await handshake()
    t.equal(await served(), 'a.example')
    mount('b', pairs.b)
    clock.advance(5_000)
    await until(async () => (await served()) === 'b.example')
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    let answer = ''
    for await (const part of socket) answer += String(part)
    t.match(answer, /^HTTP\/1\.1 200/)
    t.same(server.degraded(), [])
  })

  t.test('keeps the old one while the new one is not usable, and says so', async t => {
    mount('broken', { chain: pairs.c.chain, key: pairs.a.key })
    clock.advance(5_000)
    await until(() => server.degraded().length > 0)
    t.match(server.degraded()[0], /tls\.crt.*the one before is served/)
    t.notMatch(server.degraded()[0], /PRIVATE KEY/)
    t.equal(await served(), 'b.example')
    t.match(await world.context.metrics.text(), /certificate_reload_failures_total 1/)
    mount('c', pairs.c)
    clock.advance(5_000)
    await until(async () => (await served()) === 'c.example')
    t.same(server.degraded(), [])
  })

  t.test('serves an expired one on, and says so', async t => {
    const { server, world } = await aServer(t, { tls, clock: manualClock(Date.UTC(2099, 1)) })
    t.match(server.degraded(), [/expired at 2099-01-01/])
    t.match(await server.listen('127.0.0.1:0'), /^127/)
    t.match(await world.context.metrics.text(), /certificate_expiry_timestamp_seconds 4070908800/)
  })

  t.test('needs a usable pair at the start', async t => {
    const broken = { certFile: tls.certFile, keyFile: join(folder, 'b', 'tls.key') }
    await t.rejects(createServer(aWorld().context, { tls: broken }), { code: 'CERTIFICATE_UNUSABLE' })
    const gone = { ...tls, certFile: join(folder, 'none') }
    await t.rejects(createServer(aWorld().context, { tls: gone }), { code: 'CERTIFICATE_UNUSABLE' })
  })
})

t.test('a part of the API', t => {
  const status = async (server: Server, url: string) => (await server.inject(url)).statusCode
  t.test('is served on a port of its own, open, beside another server of the same process', async t => {
    const world = aWorld()
    const main = await createServer(world.context, {
      part: { without: ['getMetrics'], why: 'metrics have a port of their own' },
    })
    const why = 'this port is for health and metrics'
    const ops = await createServer(world.context, {
      loopbackExempt: false,
      open: true,
      part: { tags: ['operations'], why },
    })
    t.teardown(() => Promise.all([main.close(), ops.close()]))
    for (const url of ['/healthz', '/readyz', '/metrics']) t.equal(await status(ops, url), 200, url)
    const refused = await ops.inject('/v1/status')
    t.equal(refused.statusCode, 404)
    t.match(refused.json<{ detail: string }>().detail, why)
    t.equal(await status(main, '/metrics'), 404)
    t.equal(await status(main, '/v1/status'), 200)
    t.match(await ops.listen('0.0.0.0:0'), /^0\.0\.0\.0:\d+$/)
  })

  t.test('is all that a role serves', async t => {
    const part = { tags: ['webhooks', 'operations'] as const, why: 'the role of this process is webhook' }
    const { server } = await aServer(t, { part, loopbackExempt: true })
    const refused = await server.inject('/v1/topology')
    t.equal(refused.statusCode, 404)
    t.match(refused.headers['content-type'], /problem\+json/)
    t.match(refused.json<{ detail: string }>().detail, /role of this process is webhook/)
    t.equal((await server.inject(watch({}))).statusCode, 202)
  })
  t.end()
})

t.test('too many requests', t => {
  const clock = manualClock()
  const rates = {
    address: { perSecond: 100, burst: 12 },
    caller: { perSecond: 1, burst: 2 },
    refusals: { perSecond: 1, burst: 3 },
  }
  const options = { limits: rates, clock, authenticators: [bearerToken('sesame')] }
  const ask = async (server: Server, token: string, remoteAddress = '10.0.0.1') =>
    server.inject({ url: '/v1/status', headers: bearer(token), remoteAddress })

  t.test('of one caller are refused for a while', async t => {
    const { server } = await aServer(t, options)
    const codes = []
    for (let i = 0; i < 3; i++) codes.push((await ask(server, 'sesame')).statusCode)
    t.same(codes, [200, 200, 429])
    const refused = await ask(server, 'sesame', '10.0.0.2')
    t.equal(refused.statusCode, 429, 'from any address')
    t.equal(refused.headers['retry-after'], '1')
    t.match(refused.headers['content-type'], /problem\+json/)
    clock.advance(1_000)
    t.equal((await ask(server, 'sesame')).statusCode, 200)
  })

  t.test('with refused credentials are not even looked at', async t => {
    let judged = 0
    const way = {
      offer: 'a number',
      judge: () => {
        judged++
        return { type: 'unauthenticated' as const, reason: 'wrong' }
      },
    }
    const { server } = await aServer(t, { ...options, authenticators: [way] })
    for (const code of [401, 401, 401, 429, 429]) t.equal((await ask(server, 'guess')).statusCode, code)
    t.equal(judged, 3)
    t.equal((await ask(server, 'guess', '10.0.0.9')).statusCode, 401, 'another address is not concerned')
    t.equal((await server.inject({ url: '/healthz', remoteAddress: '10.0.0.1' })).statusCode, 200)
  })

  t.test('of one address are refused whatever they ask', async t => {
    const { server } = await aServer(t, options)
    const health = () => server.inject({ url: '/healthz', remoteAddress: '10.0.0.1' })
    for (let i = 0; i < 12; i++) t.equal((await health()).statusCode, 200)
    t.equal((await health()).statusCode, 429)
    clock.advance(10)
    t.equal((await health()).statusCode, 200)
  })
  t.end()
})

t.test('an admission review', t => {
  const review = (timeout: string) => ({
    method: 'POST' as const,
    url: `/webhooks/admission/validate${timeout}`,
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: { uid: 'u', kind: { group: '', version: 'v1', kind: 'Thing' }, operation: 'DELETE' },
    }),
  })

  t.test('is answered with every field of the verdict', async t => {
    const verdict = {
      allowed: false,
      warnings: ['careful'],
      status: {
        ...{ code: 422, reason: 'Invalid', message: 'spec.a: no' },
        details: {
          ...{ group: 'g.example', kind: 'Thing', name: 'one' },
          causes: [{ reason: 'FieldValueInvalid', message: 'no', field: 'spec.a' }],
        },
      },
    }
    const { server } = await aServer(t, {}, { admit: () => Promise.resolve(verdict) })
    const answer = await server.inject(review('?timeout=10s'))
    t.same(answer.json<{ response: object }>().response, { uid: 'u', ...verdict })
  })

  t.test('is told how long the API server waits, and never answered later', async t => {
    const clock = manualClock()
    const asked: number[] = []
    const admit: ServerContext['admit'] = (_request, { timeoutMs }) => {
      asked.push(timeoutMs)
      return new Promise(() => {})
    }
    const { server } = await aServer(t, { clock }, { admit, log: silentLog })
    for (const [text, ms] of [
      ['?timeout=2s', 2_000],
      ['?timeout=30s', 30_000],
      ['', 10_000],
      ['?timeout=soon', 10_000],
    ] as const) {
      const answer = server.inject(review(text))
      await until(() => asked.length > 0)
      t.equal(asked.pop(), ms)
      clock.advance(ms * 0.9)
      t.equal((await answer).statusCode, 503)
      t.match((await answer).json(), { type: 'urn:gatewright:problem:timeout' })
    }
  })
  t.end()
})
