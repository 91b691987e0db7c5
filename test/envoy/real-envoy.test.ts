import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { connect as connectTcp, type AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { bootstrap, staticBootstrap, type Resource } from '../../src/envoy/index.js'
import { installEnvoy } from '../../src/provision/index.js'
import { startBackend } from '../support/backends.js'
import { selfSigned } from '../support/certificates.js'
import { aCluster, aModel, anAddress, aPath, aRule, forwardTo } from './planes.js'

const envoy = await installEnvoy()
const directory = await mkdtemp(join(tmpdir(), 'gatewright-envoy-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))

/** What a real Envoy says of a configuration; `undefined` = it takes it. */
async function whyRefused(configuration: object): Promise<string | undefined> {
  const file = join(directory, 'validate.json')
  await writeFile(file, JSON.stringify(configuration))
  const child = spawn(envoy, ['--mode', 'validate', '-c', file, '-l', 'warning'], { stdio: 'pipe' })
  let text = ''
  child.stderr.on('data', (part: Buffer) => (text += part.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return code === 0 ? undefined : text
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A real Envoy that runs these resources, with a way to ask it. */
async function startEnvoy(resources: readonly Resource[]) {
  const own = await mkdtemp(join(directory, 'run-'))
  const file = join(own, 'envoy.json')
  const adminFile = join(own, 'admin')
  const admin = { address: { socket_address: { address: '127.0.0.1', port_value: 0 } } }
  await writeFile(file, JSON.stringify({ ...staticBootstrap(resources), admin }))
  const child = spawn(
    envoy,
    [
      '-c',
      file,
      '--admin-address-path',
      adminFile,
      '-l',
      'error',
      '--concurrency',
      '1',
      '--base-id-path',
      join(own, 'base'),
      '--use-dynamic-base-id',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  t.teardown(() => void child.kill('SIGKILL'))
  let address = ''
  for (let tries = 0; address === '' && tries < 200; tries++) {
    await pause(25)
    address = await readFile(adminFile, 'utf8').catch(() => '')
  }
  const ask = async (
    host: string,
    port: number,
    path: string,
    more: { method?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> => {
    const call = request({
      host: '127.0.0.1',
      port,
      path,
      agent: false,
      method: more.method ?? 'GET',
      headers: { host, ...more.headers },
    })
    call.end()
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    let body = ''
    for await (const part of response) body += String(part)
    return { status: response.statusCode ?? 0, headers: response.headers, body }
  }
  const adminPort = Number(address.slice(address.lastIndexOf(':') + 1))
  const ready = async () => (await ask('x', adminPort, '/ready').catch(() => undefined))?.status === 200
  for (let tries = 0; !(await ready()) && tries < 200; tries++) await pause(25)
  const listeners = JSON.parse((await ask('x', adminPort, '/listeners?format=json')).body) as {
    listener_statuses: { name: string; local_address: { socket_address: { port_value: number } } }[]
  }
  const ports = new Map(
    listeners.listener_statuses.map(each => [each.name, each.local_address.socket_address.port_value]),
  )
  return {
    ask,
    adminPort,
    port: (name: string) => ports.get(name) ?? 0,
    stop: async () => {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}

const pair = selfSigned('shop.example.com')
const other = selfSigned('*.example.org')
const backend = await startBackend('cart')
const slow = await startBackend('slow', { delay: 400 })
const h2 = createHttp2Server((request, response) => {
  response.setHeader('x-http', request.httpVersion)
  response.end('h2')
}).listen(0, '127.0.0.1')
await once(h2, 'listening')
t.teardown(async () => {
  h2.close()
  await backend.close()
  await slow.close()
})
const CART = 'service/shop/cart/80/11111111'
const SLOW = 'service/shop/slow/80/11111111'
const NAMED = 'backend/shop/named/-/11111111'
const H2 = 'service/shop/h2/80/22222222'
const NOBODY = 'service/shop/nobody/80/11111111'

const cors = {
  allowOrigins: ['https://app.example.com', 'https://*.example.org'],
  allowCredentials: true,
  allowMethods: ['GET', 'PUT'],
  allowHeaders: ['x-one'],
  exposeHeaders: [],
  maxAgeSeconds: 60,
}

const header = (name: string, value: string) => ({ name, value })
const forward = forwardTo(CART)
const rewrite = (prefix: string, value: string) =>
  aRule(`rewrite${prefix}${value}`, {
    match: aPath('PathPrefix', prefix),
    action: forwardTo(CART, { rewrite: { path: { type: 'ReplacePrefixMatch', value } } }),
  })

const hosts = {
  'match.example.com': [
    aRule('exact', {
      match: aPath('Exact', '/exact'),
      action: forward,
      responseHeaders: { set: [header('x-rule', 'exact')], add: [], remove: [] },
    }),
    aRule('method', {
      match: { ...aPath('PathPrefix', '/'), method: 'PUT' },
      action: { kind: 'fixed', status: 201 },
    }),
    aRule('header', {
      match: {
        headers: [
          { name: 'x-a', type: 'Exact', value: '1' },
          { name: 'x-b', type: 'RegularExpression', value: '[0-9]+' },
        ],
      },
      action: { kind: 'fixed', status: 202 },
    }),
    aRule('query', {
      match: { queryParams: [{ name: 'q', type: 'RegularExpression', value: 'a|b' }] },
      action: { kind: 'fixed', status: 203 },
    }),
    aRule('regex', {
      match: aPath('RegularExpression', '/r/[0-9]{3}'),
      action: { kind: 'fixed', status: 206 },
    }),
    aRule('encoded', { match: aPath('Exact', '/%7Eme/%41%20b'), action: { kind: 'fixed', status: 207 } }),
    aRule('underscore', {
      match: { headers: [{ name: 'my_key', type: 'Exact', value: '1' }] },
      action: { kind: 'fixed', status: 208 },
    }),
    aRule('prefix', { match: aPath('PathPrefix', '/foo/'), action: { kind: 'fixed', status: 200 } }),
  ],
  '*.example.com': [aRule('wild', { action: { kind: 'fixed', status: 410 } })],
  'rewrite.example.com': [
    rewrite('/a', '/xyz'),
    rewrite('/b/', '/xyz/'),
    rewrite('/c', '/'),
    rewrite('/d', ''),
    aRule('full', {
      match: aPath('PathPrefix', '/full'),
      action: forwardTo(CART, {
        rewrite: { hostname: 'new.example.com', path: { type: 'ReplaceFullPath', value: '/one\\1/two' } },
      }),
    }),
    rewrite('/', '/top'),
  ],
  'redirect.example.com': [
    aRule('r1', {
      match: aPath('PathPrefix', '/old'),
      action: {
        kind: 'redirect',
        scheme: 'https',
        statusCode: 301,
        path: { type: 'ReplacePrefixMatch', value: '/new' },
      },
    }),
    aRule('r2', {
      match: aPath('PathPrefix', '/gone'),
      action: {
        kind: 'redirect',
        hostname: 'else.example.com',
        port: 8443,
        statusCode: 308,
        path: { type: 'ReplaceFullPath', value: '/full' },
      },
    }),
    aRule('r3', {
      match: aPath('PathPrefix', '/strip'),
      action: { kind: 'redirect', statusCode: 303, path: { type: 'ReplacePrefixMatch', value: '/' } },
    }),
    aRule('r4', { action: { kind: 'redirect', statusCode: 307, hostname: 'x.example.com' } }),
  ],
  'headers.example.com': [
    aRule('h', {
      action: {
        kind: 'forward',
        mirrors: [],
        backends: [
          {
            weight: 1,
            cluster: CART,
            requestHeaders: { set: [header('x-backend', 'b')], add: [], remove: [] },
            rewrite: { hostname: 'backend.example.com' },
          },
        ],
      },
      requestHeaders: {
        set: [header('x-set', '100% %REQ(:path)%'), header('x-backend', 'rule')],
        add: [header('x-add', 'two')],
        remove: ['x-gone'],
      },
      responseHeaders: { set: [], add: [header('x-added', 'a,b')], remove: ['x-saw-path'] },
    }),
  ],
  'hosts.example.com': [
    aRule('both', {
      match: aPath('PathPrefix', '/both'),
      action: {
        kind: 'forward',
        mirrors: [],
        backends: [{ weight: 1, cluster: CART, rewrite: { hostname: 'backend.example.com' } }],
        rewrite: { hostname: 'rule.example.com' },
      },
    }),
    aRule('rule', { action: forwardTo(CART, { rewrite: { hostname: 'rule.example.com' } }) }),
  ],
  'weights.example.com': [
    aRule('w', {
      match: aPath('PathPrefix', '/half'),
      action: { kind: 'forward', mirrors: [], backends: [{ weight: 1, cluster: CART }, { weight: 1 }] },
    }),
    aRule('none', { match: aPath('PathPrefix', '/empty'), action: forwardTo(NOBODY) }),
    aRule('all', { action: { kind: 'forward', mirrors: [], backends: [{ weight: 7 }] } }),
  ],
  'slow.example.com': [
    aRule('request', {
      match: aPath('PathPrefix', '/request'),
      action: forwardTo(SLOW, { requestTimeoutMs: 100 }),
    }),
    aRule('backend', {
      match: aPath('PathPrefix', '/backend'),
      action: forwardTo(SLOW, { requestTimeoutMs: 5000, backendTimeoutMs: 100 }),
    }),
    aRule('zero', { action: forwardTo(SLOW, { requestTimeoutMs: 0, backendTimeoutMs: 0 }) }),
  ],
  'mirror.example.com': [
    aRule('m', {
      action: forwardTo(CART, {
        mirrors: [
          { cluster: SLOW, numerator: 1, denominator: 1 },
          { cluster: SLOW, numerator: 1, denominator: 3 },
        ],
      }),
    }),
  ],
  'cors.example.com': [
    aRule('c', { match: aPath('PathPrefix', '/with'), cors, action: forward }),
    aRule('any', {
      match: aPath('PathPrefix', '/any'),
      cors: { ...cors, allowOrigins: ['*'], allowMethods: ['*'], allowHeaders: ['*'] },
      action: forward,
    }),
    aRule('port', {
      match: aPath('PathPrefix', '/port'),
      cors: { ...cors, allowOrigins: ['https://app.example.com:443', 'http://app.example.com:443'] },
      action: forward,
    }),
    aRule('without', { action: forward }),
  ],
  'h2.example.com': [aRule('h2', { action: forwardTo(H2) })],
  'named.example.com': [aRule('n', { action: forwardTo(NAMED) })],
}

const model = aModel({ listenerAddress: '127.0.0.1' })
  .http(0, hosts)
  .cluster(aCluster(CART), aCluster(SLOW), aCluster(NOBODY))
  .cluster(
    aCluster(NAMED, {
      endpoints: { kind: 'dns', hosts: [{ host: 'localhost', port: backend.port, weight: 3 }] },
    }),
  )
  .cluster(aCluster(H2, { protocol: 'h2c' }))
  .endpoints(
    'service/shop/cart/80',
    anAddress('127.0.0.1', backend.port, { zone: 'a', weight: 2 }),
    anAddress('127.0.0.1', 1, { state: 'draining' }),
  )
  .endpoints('service/shop/slow/80', anAddress('127.0.0.1', slow.port, { state: 'draining' }))
  .endpoints('service/shop/h2/80', anAddress('127.0.0.1', (h2.address() as AddressInfo).port))
model.settle()

t.test('a real Envoy takes every kind of resource', async t => {
  const tls = aModel()
    .http(80, hosts)
    .https(443, { 'shop/cert': ['shop.example.com'], 'shop/other': ['*.example.org'], 'shop/any': [] })
    .certificate('shop/cert', pair.chain, pair.key)
    .certificate('shop/other', other.chain, other.key)
    .certificate('shop/any', pair.chain, pair.key)
    .cluster(...[...model.model.clusters.entries()].map(([, cluster]) => cluster))
  tls.settle()
  t.equal(await whyRefused(staticBootstrap(tls.resources())), undefined)
  const wrong = { ...staticBootstrap(tls.resources()), node: { no: 1 } }
  t.match(await whyRefused(wrong), /error initializing configuration/, 'and says so when it does not')
})

t.test('a real Envoy takes the bootstrap', async t => {
  const node = { id: 'a', cluster: 'gateway:shop/public' }
  const addresses = { xdsAddress: '127.0.0.1:18000', adminAddress: '127.0.0.1:0' }
  t.equal(await whyRefused(bootstrap({ node, ...addresses })), undefined)
  t.equal(
    await whyRefused(
      bootstrap({ node, xdsAddress: 'control:18000', adminAddress: '[::1]:9901', protocol: 'sotw' }),
    ),
    undefined,
  )
  t.throws(() => bootstrap({ node, xdsAddress: '18000', adminAddress: '127.0.0.1:0' }), /host:port/)
})

t.test('what a real Envoy does with the rules', async t => {
  const running = await startEnvoy(model.resources())
  t.teardown(() => running.stop())
  const port = running.port('shop/public/0')
  const ask = (host: string, path: string, more?: Parameters<typeof running.ask>[3]) =>
    running.ask(`${host}.example.com`, port, path, more)

  t.test('matches', async t => {
    const status = async (path: string, more?: Parameters<typeof ask>[2]) =>
      (await ask('match', path, more)).status
    t.equal((await ask('match', '/exact?x')).headers['x-rule'], 'exact')
    t.equal(await status('/exact/'), 404)
    t.equal(await status('/any', { method: 'PUT' }), 201)
    t.equal(await status('/any', { headers: { 'X-A': '1', 'X-B': '42' } }), 202)
    t.equal(
      await status('/any', { headers: { 'X-A': '1', 'X-B': '42x' } }),
      404,
      'a regular expression matches the whole value',
    )
    t.equal(await status('/any?q=b'), 203)
    t.equal(await status('/any?q=c'), 404)
    t.equal(await status('/r/123'), 206)
    t.equal(await status('/r/1234'), 404)
    t.equal(await status('/foo'), 200)
    t.equal(await status('/foo/bar'), 200)
    t.equal(await status('/foobar'), 404, 'a prefix ends at a slash')
    t.equal(
      (await running.ask('match.example.com:8080', port, '/foo')).status,
      200,
      'the port of a Host is no part of the host',
    )
    t.equal((await running.ask('MATCH.example.COM', port, '/foo')).status, 200)
    t.equal((await running.ask('a.b.example.com', port, '/foo')).status, 410)
    t.equal((await running.ask('example.com', port, '/foo')).status, 404)
    t.equal(await status('//foo///bar'), 200, 'slashes are merged')
    t.equal((await ask('match', '/foo%2fbar')).headers.location, '/foo/bar')
    for (const path of ['/%7Eme/%41%20b', '/~me/A%20b', '/~m%65/A%20b'])
      t.equal(await status(path), 207, path)
    t.equal(await status('/any', { headers: { my_key: '1' } }), 208, 'a header name may have an underscore')
  })

  t.test('HTTP/1.0, which health checks and older proxies speak, is answered', async t => {
    const socket = connectTcp(port, '127.0.0.1')
    // Envoy may take a connection that is half closed for one that is gone.
    socket.write('GET /foo HTTP/1.0\r\nHost: match.example.com\r\n\r\n')
    let answer = ''
    for await (const part of socket) answer += String(part)
    t.match(answer, /^HTTP\/1\.\d 200 /)
  })

  t.test('rewrites', async t => {
    const seen = async (path: string) => (await ask('rewrite', path)).headers['x-saw-path']
    t.equal(await seen('/a/bar?q=1'), '/xyz/bar?q=1')
    t.equal(await seen('/a'), '/xyz')
    t.equal(await seen('/a/'), '/xyz/')
    t.equal(await seen('/b/bar'), '/xyz/bar')
    for (const prefix of ['/c', '/d']) {
      t.equal(await seen(`${prefix}/bar?q`), '/bar?q')
      t.equal(await seen(prefix), '/')
      t.equal(await seen(`${prefix}/`), '/')
    }
    t.equal(await seen('/other'), '/top/other')
    const full = await ask('rewrite', '/full/of?things=1')
    t.equal(full.headers['x-saw-path'], '/one\\1/two?things=1')
    t.equal(full.headers['x-saw-host'], 'new.example.com')
    t.equal((await ask('rewrite', '/a')).headers['x-saw-host'], 'rewrite.example.com')
  })

  t.test('redirects', async t => {
    const redirect = async (path: string, where: string, status: number) => {
      const answer = await ask('redirect', path)
      t.equal(answer.headers.location, where)
      t.equal(answer.status, status)
    }
    await redirect('/old/page?q=1', 'https://redirect.example.com/new/page?q=1', 301)
    await redirect('/gone/page?q=1', 'http://else.example.com:8443/full?q=1', 308)
    await redirect('/strip', 'http://redirect.example.com/', 303)
    await redirect('/strip/page', 'http://redirect.example.com/page', 303)
    await redirect('/page', 'http://x.example.com/page', 307)
  })

  t.test('header changes: the backend has the last word, and a percent sign is a percent sign', async t => {
    const answer = await ask('headers', '/', { headers: { 'x-gone': '1', 'x-add': 'one' } })
    const seen = JSON.parse(answer.headers['x-saw-headers'] as string) as Record<string, string>
    t.match(seen, { 'x-set': '100% %REQ(:path)%', 'x-backend': 'b', host: 'backend.example.com' })
    t.equal(seen['x-add']?.replace(/\s/g, ''), 'one,two')
    t.notOk('x-gone' in seen)
    t.equal(answer.headers['x-added'], 'a,b')
    t.notOk('x-saw-path' in answer.headers)
    t.notOk(Object.keys(answer.headers).some(name => name.startsWith('x-envoy')))
    t.notOk('server' in answer.headers, 'a backend that names no server stays so')
  })

  t.test('host rewrites: the backend has the last word', async t => {
    t.equal((await ask('hosts', '/both')).headers['x-saw-host'], 'backend.example.com')
    t.equal((await ask('hosts', '/')).headers['x-saw-host'], 'rule.example.com')
  })

  t.test('the share of an invalid backend answers 500, and that of an empty one 503', async t => {
    const counts: Record<number, number> = {}
    for (let i = 0; i < 60; i++) {
      const { status } = await ask('weights', '/half')
      counts[status] = (counts[status] ?? 0) + 1
    }
    t.same(Object.keys(counts), ['200', '500'])
    t.equal((await ask('weights', '/')).status, 500)
    t.equal((await ask('weights', '/empty')).status, 503)
  })

  t.test('time-outs answer 504, and zero is none', async t => {
    t.equal((await ask('slow', '/request')).status, 504)
    t.equal((await ask('slow', '/backend')).status, 504)
    t.equal((await ask('slow', '/')).status, 200, 'and a draining address serves when it is all there is')
  })

  t.test('mirrors', async t => {
    const before = slow.answered()
    const answer = await ask('mirror', '/')
    t.equal(answer.body, 'cart')
    for (let tries = 0; slow.answered() === before && tries < 100; tries++) await pause(25)
    t.ok(slow.answered() > before)
  })

  t.test('CORS is on where a rule has it, and nowhere else', async t => {
    const preflight = (origin: string, path: string) =>
      ask('cors', path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'PUT' } })
    const allowed = await preflight('https://app.example.com', '/with')
    t.match(allowed.headers, {
      'access-control-allow-origin': 'https://app.example.com',
      'access-control-allow-methods': 'GET,PUT',
      'access-control-allow-headers': 'x-one',
      'access-control-max-age': '60',
      'access-control-allow-credentials': 'true',
    })
    t.equal(allowed.body, '', 'the backend is not asked')
    t.equal(
      (await preflight('https://a.b.example.org', '/with')).headers['access-control-allow-origin'],
      'https://a.b.example.org',
    )
    const refused = await preflight('https://evil.example.net', '/with')
    t.notOk('access-control-allow-origin' in refused.headers)
    t.equal(refused.body, '')
    t.equal((await preflight('https://app.example.com', '/')).body, 'cart')
    t.match(
      (await preflight('https://evil.example.net', '/any')).headers,
      {
        'access-control-allow-origin': 'https://evil.example.net',
        'access-control-allow-methods': 'PUT',
        'access-control-allow-credentials': 'true',
      },
      'beside credentials a * would mean nothing to a browser: what was asked for is echoed',
    )
    const port = async (origin: string) =>
      'access-control-allow-origin' in (await preflight(origin, '/port')).headers
    t.ok(await port('https://app.example.com'), 'browsers leave out the port that is the own one of a scheme')
    t.notOk(await port('http://app.example.com'))
    t.ok(await port('http://app.example.com:443'))
    const simple = await ask('cors', '/with', { headers: { origin: 'https://app.example.com' } })
    t.equal(simple.headers['access-control-allow-origin'], 'https://app.example.com')
    t.equal(simple.body, 'cart')
  })

  t.test('HTTP/2 without TLS, from the client and to the backend', async t => {
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    t.teardown(() => session.close())
    const stream = session.request({ ':authority': 'h2.example.com', ':path': '/' })
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
    stream.resume()
    await once(stream, 'end')
    t.match(headers, { ':status': 200, 'x-http': '2.0' })
  })

  t.test('a backend by name', async t => t.equal((await ask('named', '/')).body, 'cart'))

  t.test('the series of a cluster are ten at most', async t => {
    const { body } = await running.ask('x', running.adminPort, '/stats/prometheus')
    const series = body.split('\n').filter(line => line.includes('service/shop/cart/80'))
    t.ok(series.length >= 5 && series.length <= 10, series.join('\n'))
  })
})

t.test('TLS: the certificate of the name asked for, h2 and 1.1', async t => {
  const tls = aModel({ listenerAddress: '127.0.0.1' })
    .https(0, { 'shop/cert': ['shop.example.com'], 'shop/other': ['*.example.org'] })
    .certificate('shop/cert', pair.chain, pair.key)
    .certificate('shop/other', other.chain, other.key)
  tls.settle()
  const running = await startEnvoy(tls.resources())
  t.teardown(() => running.stop())
  const port = running.port('shop/public/0')
  const handshake = async (servername: string, more: object = {}) => {
    const socket = connect({
      host: '127.0.0.1',
      port,
      servername,
      rejectUnauthorized: false,
      ALPNProtocols: ['h2', 'http/1.1'],
      ...more,
    })
    try {
      await once(socket, 'secureConnect')
      return `${String(socket.getPeerCertificate().subject.CN)} ${String(socket.alpnProtocol)} ${String(socket.getProtocol())}`
    } catch {
      return 'refused'
    } finally {
      socket.destroy()
    }
  }
  t.equal(await handshake('shop.example.com'), 'shop.example.com h2 TLSv1.3')
  t.equal(
    await handshake('any.example.org', { ALPNProtocols: ['http/1.1'], maxVersion: 'TLSv1.2' }),
    '*.example.org http/1.1 TLSv1.2',
  )
  t.equal(await handshake('nobody.example.net'), 'refused')
})
