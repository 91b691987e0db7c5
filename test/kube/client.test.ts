import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createMetrics, kindId, manualClock, type Fault, type KubeObject } from '../../src/core/index.js'
import {
  connect,
  KubeError,
  type ConnectOptions,
  type KubeClient,
  type WatchEvent,
} from '../../src/kube/index.js'
import { ApiServer } from '../support/api-server.js'

const group = 'gateway.networking.k8s.io'
const routes = kindId(group, 'HTTPRoute')
const grants = kindId(group, 'ReferenceGrant')
const services = kindId('', 'Service')
const secrets = kindId('', 'Secret')

const aRoute = (name: string, labels = {}): KubeObject =>
  ({
    apiVersion: `${group}/v1`,
    kind: 'HTTPRoute',
    metadata: { name, namespace: 'shop', labels },
    spec: {},
  }) as KubeObject
const aService = (name: string, namespace = 'shop'): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: {} }) as KubeObject
const aSecret = (name: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: 'shop',
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"key":"aGlkZGVu"}}',
        own: 'kept',
      },
    },
    data: { key: 'aGlkZGVu' },
  }) as KubeObject

async function withServer(
  test: Test,
  options: ConnectOptions = {},
): Promise<{ api: ApiServer; client: KubeClient }> {
  const api = await ApiServer.start()
  const client = await connect({ environment: {}, kubeconfig: api.kubeconfig, ...options })
  test.teardown(async () => {
    client.close()
    await api.close()
  })
  return { api, client }
}

async function listed(
  client: KubeClient,
  ...asked: Parameters<KubeClient['list']>
): Promise<readonly string[]> {
  const list = await client.list(...asked)
  if (list === 'absent') return ['absent']
  return list.items.map(item => (item as KubeObject).metadata.name)
}

/** The events until there are as many as asked for; then the watch is given up. */
async function watched(
  client: KubeClient,
  kind: typeof routes,
  version: string,
  count: number,
): Promise<WatchEvent[]> {
  const giveUp = new AbortController()
  const events: WatchEvent[] = []
  for await (const event of client.watch(kind, { version, signal: giveUp.signal })) {
    events.push(event)
    if (events.length === count) giveUp.abort()
  }
  return events
}

const failure = async (ask: Promise<unknown>): Promise<KubeError | Fault> =>
  ask.then(
    () => t.fail('it did not fail') as never,
    (error: unknown) => error as KubeError | Fault,
  )

async function drain(events: AsyncIterable<WatchEvent>): Promise<void> {
  for await (const event of events) t.ok(event.type)
}

/** A server whose answer to everything is the chunks given, one write each. */
async function aServerOf(test: Test, chunks: readonly Buffer[], ends = true): Promise<string> {
  const server = createServer((_, answer) => {
    answer.writeHead(200)
    answer.flushHeaders()
    const write = ([first, ...rest]: readonly Buffer[]): void => {
      if (first !== undefined) answer.write(first, () => setImmediate(() => write(rest)))
      else if (ends) answer.end()
    }
    write(chunks)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function aKubeconfig(
  test: Test,
  server: string,
  user: object = { token: 'secret-token' },
  cluster = {},
): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  const file = join(test.testdir(), 'kubeconfig')
  writeFileSync(file, JSON.stringify(config))
  return file
}

void t.test('a list', async t => {
  await t.test('comes page by page, at one version, and items say what they are', async t => {
    const { api, client } = await withServer(t)
    for (const name of ['a', 'b', 'c', 'd', 'e']) api.put(aService(name))
    const list = await client.list(services, { pageSize: 2 })
    t.not(list, 'absent')
    if (list === 'absent') return
    t.equal(list.version, api.history.version)
    t.strictSame(
      list.items.map(item => [
        (item as KubeObject).apiVersion,
        (item as KubeObject).kind,
        (item as KubeObject).metadata.name,
      ]),
      ['a', 'b', 'c', 'd', 'e'].map(name => ['v1', 'Service', name]),
    )
    t.strictSame(
      api.requests.map(({ query }) => [
        query['limit'],
        query['continue'] !== undefined,
        query['resourceVersion'],
      ]),
      [
        ['2', false, undefined],
        ['2', true, undefined],
        ['2', true, undefined],
      ],
    )
  })

  await t.test('reads large objects by few at a time', async t => {
    const { api, client } = await withServer(t)
    const text = 'x'.repeat(100_000)
    for (let i = 0; i < 150; i++) api.put({ ...aService(`s${i}`), spec: { text } } as KubeObject)
    t.equal((await listed(client, services)).length, 150)
    t.strictSame(
      api.requests.map(({ query }) => Number(query['limit'])),
      [100, 20, 20, 20],
    )
  })

  await t.test('is of a namespace, a name, or a label', async t => {
    const { api, client } = await withServer(t)
    api.put(aService('a'))
    api.put(aService('b', 'other'))
    api.put(aRoute('r', { tier: 'front' }))
    api.put(aRoute('s'))
    t.strictSame(await listed(client, services, { namespace: 'other' }), ['b'])
    t.strictSame(await listed(client, services, { namespace: 'shop', name: 'b' }), [])
    t.strictSame(await listed(client, routes, { labelSelector: 'tier=front' }), ['r'])
    t.match(await client.list(services, { name: 'gone' }), { items: [], version: api.history.version })
  })

  await t.test('of metadata alone holds nothing else', async t => {
    const { api, client } = await withServer(t)
    api.put(aSecret('s'))
    const list = await client.list(secrets, { metadataOnly: true })
    t.notMatch(JSON.stringify(list), /aGlkZGVu/)
    t.match(list, {
      items: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', annotations: { own: 'kept' } } }],
    })
  })

  await t.test('that cannot go on, or fails in the middle, is none', async t => {
    const { api, client } = await withServer(t)
    for (const name of ['a', 'b', 'c']) api.put(aRoute(name))
    api.inconsistentContinue(routes)
    t.match(await failure(client.list(routes, { pageSize: 2 })), { code: 410, reason: 'Expired' })
    for (const status of [403, 429, 500, 503]) {
      api.fail(routes, status, 1)
      const error = await failure(client.list(routes))
      t.type(error, KubeError)
      t.match(error, { code: status, message: /GET \/apis\/.*httproutes answered/ })
    }
    api.fail(routes, 'reset')
    t.match(await failure(client.list(routes)), {
      code: 'UNREACHABLE_API_SERVER',
      message: /httproutes at http/,
    })
    api.heal(routes)
    t.strictSame(await listed(client, routes), ['a', 'b', 'c'])
  })

  await t.test('whose pages are of two versions is none', async t => {
    const page = (version: string) =>
      Buffer.from(JSON.stringify({ metadata: { resourceVersion: version, continue: 'x' }, items: [] }))
    let asked = 0
    const server = createServer((_, answer) => answer.end(page(String(++asked))))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = await connect({ kubeconfig: aKubeconfig(t, url) })
    t.teardown(() => (client.close(), server.close()))
    t.match(await failure(client.list(routes)), { code: 410, message: /versions 1 and 2/ })
  })

  await t.test('without an answer ends in time, or when it is given up', async t => {
    const { api, client } = await withServer(t)
    api.fail(routes, 'hang')
    t.match(await failure(client.list(routes, { timeoutMs: 30 })), { message: /no answer in time/ })
    const giveUp = new AbortController()
    const waiting = failure(client.list(routes, { signal: giveUp.signal }))
    giveUp.abort()
    t.match(await waiting, { code: 'UNREACHABLE_API_SERVER', message: /given up/ })
  })

  await t.test('of something that is no list is none', async t => {
    const client = await connect({ kubeconfig: aKubeconfig(t, await aServerOf(t, [Buffer.from('<html>')])) })
    t.teardown(() => client.close())
    t.match(await failure(client.list(routes)), { message: /no list/ })
  })

  await t.test('goes on over a new connection when the server has come back', async t => {
    const { api, client } = await withServer(t)
    api.put(aRoute('r'))
    await Promise.all([1, 2, 3].map(() => client.list(routes)))
    await api.down()
    t.match(await failure(client.list(routes)), { code: 'UNREACHABLE_API_SERVER', message: /ECONNREFUSED/ })
    await api.up()
    t.strictSame(await listed(client, routes), ['r'])
  })
})

void t.test('a kind', async t => {
  await t.test('is absent where the server says so, and is taken up when it is installed', async t => {
    const { api, client } = await withServer(t)
    api.uninstall(routes)
    t.equal(await client.list(routes), 'absent')
    api.install(routes)
    api.put(aRoute('late'))
    t.strictSame(await listed(client, routes), ['late'])
  })

  await t.test('whose whole group is missing is absent only when the server is ready', async t => {
    const { api, client } = await withServer(t)
    api.ready = false
    t.match(await failure(client.list(routes)), { code: 500, message: /readyz/ })
    api.ready = true
    for (const { id } of (await import('../../src/kinds/index.js')).kinds.filter(
      kind => kind.group === group,
    )) {
      api.uninstall(id)
    }
    t.equal(await client.list(routes), 'absent')
  })

  await t.test('that discovery lists, or that is builtin, is never absent', async t => {
    const { api, client } = await withServer(t)
    for (const kind of [routes, services]) {
      api.fail(kind, 404)
      t.match(await failure(client.list(kind)), { code: 404, reason: 'NotFound' })
    }
  })

  await t.test('is asked for in the version that was there last', async t => {
    const { api, client } = await withServer(t)
    api.fail(grants, 404, 1)
    await client.list(grants)
    await client.list(grants)
    api.fail(grants, 404, 1)
    await client.list(grants)
    t.strictSame(
      api.requests.map(({ path }) => path.split('/')[3]),
      ['v1', 'v1beta1', 'v1beta1', 'v1beta1', 'v1'],
    )
  })
})

void t.test('a watch', async t => {
  await t.test('tells what came after a version, and what comes', async t => {
    const { api, client } = await withServer(t)
    api.put(aRoute('before'))
    const { version } = api.history
    api.put(aRoute('r'))
    const events = watched(client, routes, version, 3)
    await client.list(services)
    api.put(aRoute('r', { tier: 'front' }))
    api.remove(`${routes}:shop/r` as never)
    api.put(aRoute('s'))
    t.match(await events, [
      { type: 'ADDED', object: { kind: 'HTTPRoute', metadata: { name: 'r' } }, version: '102' },
      { type: 'MODIFIED', object: { metadata: { labels: { tier: 'front' } } }, version: '103' },
      {},
    ])
  })

  await t.test('asks for bookmarks, a time to end, and metadata where that is wanted', async t => {
    const { api, client } = await withServer(t)
    const { version } = api.history
    const giveUp = new AbortController()
    const events: WatchEvent[] = []
    const put = api.put(aSecret('s'))
    for await (const event of client.watch(secrets, {
      version,
      metadataOnly: true,
      timeoutMs: 9000,
      signal: giveUp.signal,
    })) {
      events.push(event)
      if (event.type === 'BOOKMARK') giveUp.abort()
      else api.bookmark(secrets)
    }
    t.match(events, [
      { type: 'ADDED', object: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } } },
      { type: 'BOOKMARK', version: put.metadata.resourceVersion ?? '' },
    ])
    t.notMatch(JSON.stringify(events), /aGlkZGVu/)
    t.match(api.requests, [
      {
        query: { allowWatchBookmarks: 'true', timeoutSeconds: '9', resourceVersion: version },
        accept: /PartialObjectMetadata;/,
      },
    ])
  })

  await t.test('ends when the server ends it, and fails when the connection is cut', async t => {
    const { api, client } = await withServer(t)
    const watch = () =>
      drain(client.watch(routes, { version: api.history.version, signal: new AbortController().signal }))
    const ended = watch()
    await client.list(services)
    api.dropWatches()
    await t.resolves(ended)
    const cut = failure(watch())
    await client.list(services)
    await api.down()
    t.match(await cut, { code: 'UNREACHABLE_API_SERVER' })
  })

  await t.test('of a version that is gone is refused with 410, and one that may not be with 403', async t => {
    const { api, client } = await withServer(t)
    const { version } = api.history
    const watch = () =>
      failure(drain(client.watch(routes, { version, signal: new AbortController().signal })))
    api.compact()
    t.match(await watch(), { name: 'KubeError', code: 410, reason: 'Expired' })
    api.fail(routes, 403, 1)
    t.match(await watch(), { name: 'KubeError', code: 403 })
    api.uninstall(routes)
    t.match(await watch(), { name: 'KubeError', code: 404 })
  })

  await t.test('does not wait behind others, nor do lists behind watches', async t => {
    const { api, client } = await withServer(t)
    const giveUp = new AbortController()
    const watches = Array.from({ length: 60 }, () =>
      drain(client.watch(services, { version: api.history.version, signal: giveUp.signal })),
    )
    api.put(aRoute('r'))
    t.strictSame(await listed(client, routes), ['r'])
    giveUp.abort()
    await Promise.all(watches)
  })

  await t.test('is read the same wherever its bytes are cut', async t => {
    const names = ['grün', '漢字', '😀', 'x'.repeat(90)]
    const line = (name: string) =>
      `${JSON.stringify({ type: 'ADDED', object: { metadata: { name, resourceVersion: '7' } } })}\n`
    const bytes = Buffer.from(names.map(line).join('\n'))
    for (const size of [1, 2, 3, 7, 64, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      )
      const client = await connect({ kubeconfig: aKubeconfig(t, await aServerOf(t, chunks, false)) })
      const events = await watched(client, routes, '1', names.length)
      client.close()
      t.strictSame(
        events.map(event => event.type !== 'BOOKMARK' && (event.object as KubeObject).metadata.name),
        names,
      )
    }
  })

  await t.test('on which nothing comes is cut, but not while its reader is busy', async t => {
    const clock = manualClock()
    const { api, client } = await withServer(t, { clock })
    const { version } = api.history
    api.put(aRoute('r'))
    const events = client
      .watch(routes, { version, timeoutMs: 100_000, signal: new AbortController().signal })
      [Symbol.asyncIterator]()
    t.match(await events.next(), { value: { type: 'ADDED' } })
    clock.advance(1_000_000)
    const next = events.next()
    api.bookmark(routes)
    t.match(await next, { value: { type: 'BOOKMARK' } })
    const dead = failure(events.next())
    await client.list(services)
    clock.advance(129_000)
    clock.advance(2000)
    t.match(await dead, { code: 'UNREACHABLE_API_SERVER', message: /nothing came for 130 s/ })
    api.fail(routes, 'hang')
    const mute = failure(drain(client.watch(routes, { version, signal: new AbortController().signal })))
    await client.list(services)
    clock.advance(30_001)
    t.match(await mute, { message: /nothing came for 30 s/ })
  })

  await t.test('that says something else is a failure that does not repeat what was said', async t => {
    for (const said of [
      '{"type":"ADDED","object":{"data":"aGlkZGVu"',
      '{"type":"SURPRISE","object":{"data":"aGlkZGVu"}}',
    ]) {
      const client = await connect({
        kubeconfig: aKubeconfig(t, await aServerOf(t, [Buffer.from(`${said}\n`)])),
      })
      const error = await failure(
        drain(client.watch(secrets, { version: '1', signal: new AbortController().signal })),
      )
      client.close()
      t.type(error, KubeError)
      t.notMatch(error.message, /aGlkZGVu/)
    }
  })
})

void t.test('a review', async t => {
  await t.test('tells who calls', async t => {
    const { api, client } = await withServer(t)
    api.tokens.set('known', { username: 'alice', groups: ['ops'] })
    t.strictSame(await client.reviewToken('known'), { username: 'alice', groups: ['ops'] })
    t.match(await client.reviewToken('known', ['gatewright']), { username: 'alice' })
    t.equal(await client.reviewToken('unknown'), undefined)
  })

  await t.test('tells why somebody may not', async t => {
    const { api, client } = await withServer(t)
    api.permitted.add('alice get /v1/routes')
    const alice = { username: 'alice', groups: [] }
    t.equal(await client.whyNotAllowed(alice, { path: '/v1/routes', verb: 'get' }), undefined)
    t.match(
      await client.whyNotAllowed(alice, { path: '/v1/reconcile', verb: 'post' }),
      /alice may not post \/v1\/reconcile/,
    )
  })

  await t.test('that fails says nothing of the token', async t => {
    const { api, client } = await withServer(t)
    await api.down()
    const error = await failure(client.reviewToken('very-secret'))
    t.match(error, { code: 'UNREACHABLE_API_SERVER' })
    t.notMatch(
      `${error.message} ${error.stack ?? ''} ${JSON.stringify(error)}`,
      /very-secret|the-token-of-the-model/,
    )
  })
})

void t.test('a connection', async t => {
  await t.test('is to the context of a kubeconfig, or of the first of several', async t => {
    const one = aKubeconfig(t, 'http://127.0.0.1:1')
    const client = await connect({ environment: { KUBECONFIG: one } })
    t.equal(client.server, 'http://127.0.0.1:1')
    t.equal(client.inCluster, false)
    await t.test('several', async t => {
      const two = aKubeconfig(t, 'http://127.0.0.1:2')
      writeFileSync(
        two,
        JSON.stringify({
          clusters: [{ name: 'd', cluster: { server: 'http://127.0.0.1:2' } }],
          contexts: [{ name: 'y', context: { cluster: 'd', user: 'u' } }],
        }),
      )
      const environment = { KUBECONFIG: `${one}:${two}` }
      t.equal((await connect({ environment })).server, 'http://127.0.0.1:1')
      t.equal((await connect({ environment, context: 'y' })).server, 'http://127.0.0.1:2')
    })
  })

  await t.test('to no cluster says what to do', async t => {
    const file = aKubeconfig(t, 'http://127.0.0.1:1')
    const why = async (options: ConnectOptions) => failure(connect({ environment: {}, ...options }))
    t.match(await why({ kubeconfig: '/nowhere' }), {
      code: 'NO_CLUSTER',
      message: /\/nowhere cannot be used .*--kubeconfig/,
    })
    t.match(await why({ kubeconfig: file, context: 'other' }), {
      code: 'NO_CLUSTER',
      message: /no context other/,
    })
    t.match(await why({ environment: { HOME: '/nowhere' } }), { message: /\/nowhere\/.kube\/config/ })
    const proxied = aKubeconfig(t, 'http://127.0.0.1:1', {}, { 'proxy-url': 'http://127.0.0.1:3' })
    t.match(await why({ kubeconfig: proxied }), { code: 'NO_CLUSTER', message: /proxy-url/ })
  })

  await t.test('shows the token of an exec plugin, and nothing of what a broken one printed', async t => {
    const seen: string[] = []
    const server = createServer((request, answer) => {
      seen.push(request.headers.authorization ?? '')
      answer.writeHead(401).end('{}')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const plugin = (printed: string) => ({
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'echo', args: [printed] },
    })
    const good = await connect({
      kubeconfig: aKubeconfig(t, url, plugin('{"status":{"token":"from-exec"}}')),
    })
    t.match(await failure(good.list(routes)), { code: 401 })
    t.strictSame(seen, ['Bearer from-exec'])
    const bad = await connect({ kubeconfig: aKubeconfig(t, url, plugin('half-a-token')) })
    const error = await failure(bad.list(routes))
    good.close()
    bad.close()
    t.match(error, { code: 'UNREACHABLE_API_SERVER', message: /credentials of user u/ })
    t.notMatch(error.message, /half/)
  })

  await t.test('counts what it asks', async t => {
    const metrics = createMetrics()
    const { api, client } = await withServer(t, { metrics })
    await client.list(services)
    api.fail(routes, 503, 1)
    await failure(client.list(routes))
    await api.down()
    await failure(client.list(routes))
    await failure(drain(client.watch(routes, { version: '1', signal: new AbortController().signal })))
    const text = await metrics.text()
    t.match(text, /kube_requests_total\{verb="list",kind="service",code="200"\} 1/)
    t.match(text, /kube_requests_total\{verb="list",kind="httproute[^"]*",code="503"\} 1/)
    t.match(text, /kube_requests_total\{verb="list",kind="httproute[^"]*",code="unreachable"\} 1/)
    t.match(text, /kube_requests_total\{verb="watch",kind="httproute[^"]*",code="unreachable"\} 1/)
    t.match(text, /kube_request_seconds_count\{verb="list"\} 3/)
  })
})
