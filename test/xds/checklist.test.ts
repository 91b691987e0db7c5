/** The check-list of an xDS server: each number is one behaviour, asked for by a scripted client over real gRPC. */
import t from 'tap'
import type { Test } from 'tap'
import { createMetrics, manualClock } from '../../src/core/index.js'
import { typeUrls } from '../../src/envoy/index.js'
import type { Resource, ResourceType } from '../../src/envoy/index.js'
import { createXds } from '../../src/xds/index.js'
import type { XdsOptions } from '../../src/xds/index.js'
import { XdsClient } from '../support/xds-client.js'
import type { Answer, ClientOptions, Protocol } from '../support/xds-client.js'
import {
  aCluster,
  aListener,
  aPublication,
  aResource,
  aRoute,
  aSecret,
  someEndpoints,
} from '../support/xds-resources.js'

const gateway = 'gateway.gateway.networking.k8s.io:shop/public'
const both: readonly Protocol[] = ['sotw', 'delta']

/** A server on a free port, with time that stands still, and clients that end with the test. */
async function aServer(t: Test, options: XdsOptions = {}) {
  const clock = manualClock(1_000_000)
  const metrics = createMetrics()
  const server = createXds({ clock, metrics, ...options })
  const address = await server.listen('127.0.0.1:0')
  const clients: XdsClient[] = []
  t.teardown(async () => {
    for (const client of clients) client.close()
    await server.close()
  })
  return {
    server,
    clock,
    metrics,
    address,
    publish: (resources: readonly Resource[], removed: readonly (readonly [ResourceType, string])[] = []) =>
      server.publish([aPublication(gateway, resources, removed)]),
    client: (protocol: Protocol, more: Partial<ClientOptions> = {}) => {
      const client = new XdsClient(address, { protocol, gateway, ...more })
      clients.push(client)
      return client
    },
  }
}

/** Two of each, and all that they name. */
const world = [
  aCluster('a'),
  aCluster('b'),
  someEndpoints('a'),
  someEndpoints('b'),
  aListener('web'),
  aRoute('web', 'a'),
  aSecret('key'),
  aSecret('other'),
]

/** Takes the whole world as Envoy would; afterwards all is acknowledged. */
async function settle(client: XdsClient, clusters: readonly string[] = ['a', 'b'], routes = ['web']) {
  client.ask('cluster')
  await client.take('cluster')
  client.ask('endpoint', { names: clusters })
  await client.take('endpoint')
  client.ask('listener')
  await client.take('listener')
  client.ask('route', { names: routes })
  await client.take('route')
}

const told = (answer: Answer) => ({ names: answer.names, removed: answer.removed })

for (const protocol of both) {
  const test = (name: string, run: (t: Test) => Promise<void>) =>
    t.test(name.replace(/^(#\d+)/, `$1 ${protocol}:`), run)

  test('#1 a first request without names is a wildcard for clusters and listeners, and for no other type', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    proxy.ask('cluster')
    t.same((await proxy.take('cluster')).names, ['a', 'b'])
    proxy.ask('listener')
    t.same((await proxy.take('listener')).names, ['web'])
    for (const type of ['endpoint', 'route', 'secret'] as const) proxy.ask(type)
    t.same(await proxy.unread(), [])
  })

  test('#1 without any cluster the wildcard is answered with none, so that the proxy need not wait', async t => {
    const { publish, client } = await aServer(t)
    publish([])
    const proxy = client(protocol)
    proxy.ask('cluster')
    t.same(told(await proxy.take('cluster')), { names: [], removed: [] })
  })

  test('#2 a name stays when the wildcard is unsubscribed, and the wildcard when a name is', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    proxy.ask('cluster', { names: ['*', 'a'] })
    const all = await proxy.next('cluster')
    t.same(all.names, ['a', 'b'])
    proxy.accept(all, protocol === 'sotw' ? { names: ['a'] } : { unsubscribe: ['*'] })
    publish([aCluster('a', 2), aCluster('b', 2)])
    t.same((await proxy.take('cluster')).names, ['a'], 'only the name is left')
    proxy.ask('cluster', protocol === 'sotw' ? { names: ['a', '*'], nonce: '2' } : { names: ['*'] })
    t.ok((await proxy.take('cluster')).names.includes('b'), 'the wildcard is back')
    if (protocol === 'sotw') {
      proxy.ask('cluster', { names: ['*'], nonce: '3' })
    } else {
      proxy.ask('cluster', { unsubscribe: ['a'] })
      t.same(
        (await proxy.take('cluster')).names,
        ['a'],
        'the wildcard still covers it, which the client is told',
      )
    }
    publish([aCluster('a', 3)])
    t.ok((await proxy.take('cluster')).names.includes('a'))
  })

  test('#2 after names no names are none, not the wildcard', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    proxy.ask('cluster', { names: ['a'] })
    const first = await proxy.next('cluster')
    t.same(first.names, ['a'])
    proxy.accept(first, protocol === 'sotw' ? { names: [] } : { unsubscribe: ['a'] })
    const answers = protocol === 'delta' ? [['a']] : []
    t.same(
      (await proxy.unread()).filter(answer => answer.names.length > 0),
      [],
      `nothing comes, at most that ${String(answers)} is not subscribed`,
    )
    publish([aCluster('a', 2)])
    t.same(
      (await proxy.unread()).filter(answer => answer.names.length > 0),
      [],
    )
  })

  test('#4 a refusal keeps the last version, is shown, logged and counted, and is not sent again', async t => {
    const warnings: object[] = []
    const log = { debug() {}, info() {}, error() {}, warn: (fields: object) => void warnings.push(fields) }
    const redact = (text: string) => text.replaceAll('s3cret', '[redacted]')
    const { publish, client, server, metrics } = await aServer(t, {
      log: { ...log, child: () => ({ ...log, child: () => t.fail('no child') as never }) },
      redact,
    })
    publish(world)
    const proxy = client(protocol)
    proxy.ask('cluster')
    const good = await proxy.take('cluster')
    publish([aCluster('a', 2)])
    proxy.refuse(await proxy.next('cluster'), 'cluster a: bad value s3cret')
    t.same(await proxy.unread(), [], 'no loop')
    const state = server.clients().find(one => one.node === 'a-proxy')?.types.cluster
    t.equal(state?.state, 'refused')
    t.equal(state?.refusal?.message, 'cluster a: bad value [redacted]')
    t.same(state?.refusal?.resources, ['a'])
    t.match(warnings, [{ type: 'cluster', node: 'a-proxy', refusal: /redacted/ }])
    const nacks = new RegExp(`gatewright_xds_nacks_total\\{type="cluster",protocol="${protocol}"\\} 1`)
    t.match(await metrics.text(), nacks)
    publish([aCluster('a', 1)])
    const healed = await proxy.take('cluster')
    if (protocol === 'sotw') t.equal(healed.version, good.version, 'back to the version that it has')
    await proxy.unread()
    t.equal(server.clients().find(one => one.node === 'a-proxy')?.types.cluster?.state, 'synced')
  })

  test('#5 after a refusal the corrected resource is sent at once, and others are still updated', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    proxy.ask('cluster')
    await proxy.take('cluster')
    publish([aCluster('a', 2)])
    proxy.refuse(await proxy.next('cluster'), 'bad a')
    publish([aCluster('b', 2)])
    t.same((await proxy.take('cluster')).names, protocol === 'delta' ? ['b'] : ['a', 'b'])
    publish([aCluster('a', 3)])
    t.ok((await proxy.take('cluster')).names.includes('a'))
  })

  test('#6 a change sends what changed (Delta), or all that is asked for (SotW)', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    proxy.ask('secret', { names: ['key'] })
    await proxy.take('secret')
    publish([aCluster('b', 2), someEndpoints('b', 81), aSecret('other', 'two')])
    t.same((await proxy.take('cluster')).names, protocol === 'delta' ? ['b'] : ['a', 'b'])
    t.same((await proxy.take('endpoint')).names, protocol === 'delta' ? ['b'] : ['a', 'b'])
    t.same(
      (await proxy.unread()).filter(answer => answer.type === 'secret'),
      [],
      'a secret that nobody asked for goes nowhere',
    )
  })

  test('#7 a removed cluster is absent (SotW) or removed (Delta), late; its endpoints stay as long as it', async t => {
    const { publish, client, clock } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    publish(
      [],
      [
        ['cluster', 'b'],
        ['endpoint', 'b'],
      ],
    )
    t.same(await proxy.unread(), [], 'kept: a request on its way may still name it')
    clock.advance(14_999)
    t.same(await proxy.unread(), [])
    clock.advance(1)
    const answer = await proxy.take('cluster')
    t.same(told(answer), protocol === 'delta' ? { names: [], removed: ['b'] } : { names: ['a'], removed: [] })
    t.same(await proxy.unread(), [], 'its endpoints are not taken away before the proxy lets go of them')
    clock.advance(15_000)
    const rest = await proxy.unread()
    if (protocol === 'delta') t.same(rest.map(told), [{ names: [], removed: ['b'] }])
    else t.same(rest, [], 'absence says nothing of endpoints')
  })

  test('#7 endpoints that a cluster still uses are not taken away, however long ago they were removed', async t => {
    const { publish, client, clock } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    publish([], [['endpoint', 'b']])
    for (const ms of [0, 60_000, 60_000]) {
      clock.advance(ms)
      t.same(await proxy.unread(), [])
    }
  })

  test('#7 what is added again in time was never away', async t => {
    const { publish, client, clock } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    publish([], [['cluster', 'b']])
    t.same(await proxy.unread(), [])
    clock.advance(10_000)
    publish([aCluster('b')])
    for (const ms of [0, 60_000]) {
      clock.advance(ms)
      t.same(await proxy.unread(), [])
    }
  })

  test('#8 an unknown name is met with silence (SotW) or named as removed (Delta), and sent when it appears', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    proxy.ask('endpoint', { names: ['nobody'] })
    if (protocol === 'delta') t.same(told(await proxy.take('endpoint')), { names: [], removed: ['nobody'] })
    t.same(await proxy.unread(), [])
    publish([someEndpoints('nobody')])
    t.same((await proxy.take('endpoint')).names, ['nobody'])
  })

  test('#9 an addition goes out in order: clusters and endpoints, then, acknowledged, listeners and routes', async t => {
    const { publish, client, clock } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    publish([aCluster('c'), someEndpoints('c'), aListener('more'), aRoute('web', 'c')], [['cluster', 'a']])
    const cluster = await proxy.next('cluster')
    t.ok(cluster.names.includes('c'))
    if (protocol === 'sotw') t.ok(cluster.names.includes('a'), 'the old one is still there')
    t.same(await proxy.unread(), [], 'listeners and routes wait')
    proxy.accept(cluster)
    t.same(await proxy.unread(), [], 'and wait for the new endpoints to be asked for')
    proxy.ask('endpoint', protocol === 'sotw' ? { names: ['a', 'b', 'c'], nonce: '1' } : { names: ['c'] })
    const endpoints = await proxy.next('endpoint')
    t.same(await proxy.unread(), [])
    proxy.accept(endpoints)
    const listener = await proxy.next()
    t.equal(listener.type, 'listener', 'listeners before routes')
    const route = await proxy.next()
    t.equal(route.type, 'route')
    clock.advance(60_000)
    t.same(await proxy.unread(), [], 'the old cluster stays until the routes are acknowledged')
    proxy.accept(listener)
    proxy.accept(route)
    await proxy.unread()
    clock.advance(15_000)
    const removal = await proxy.next('cluster')
    t.ok(protocol === 'delta' ? removal.removed.includes('a') : !removal.names.includes('a'))
  })

  test('#9 a proxy that neither accepts nor refuses waits 5 s and no more, by itself, and is counted', async t => {
    const { publish, client, clock, metrics } = await aServer(t)
    publish(world)
    const [lame, sound] = [client(protocol, { node: 'lame' }), client(protocol, { node: 'sound' })]
    await settle(lame)
    await settle(sound)
    publish([aCluster('a', 2), aRoute('web', 'b')])
    await sound.take('cluster')
    await sound.take('endpoint')
    await sound.take('route')
    await lame.next('cluster')
    clock.advance(4_999)
    t.same(await lame.unread(), [])
    clock.advance(1)
    t.equal((await lame.next()).type, 'route')
    t.match(await metrics.text(), /phase_timeouts_total\{reason="unacknowledged"\} 1/)
  })

  test('#10 a changed cluster has its unchanged endpoints sent again: it warms anew', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    publish([aCluster('a', 2)])
    await proxy.take('cluster')
    t.ok((await proxy.take('endpoint')).names.includes('a'))
    publish([aCluster('a-other', 1, 'a')])
    await proxy.take('cluster')
    t.ok((await proxy.take('endpoint')).names.includes('a'), 'also for a new cluster of the same endpoints')
    t.same(await proxy.unread(), [], 'once')
  })

  test('#10 who asks again is answered again, at an unchanged version', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    proxy.ask('secret', { names: ['key'] })
    const secret = await proxy.take('secret')
    proxy.ask('secret', protocol === 'sotw' ? { nonce: secret.nonce } : { names: ['key'] })
    t.same((await proxy.take('secret')).names, ['key'])
    t.same(await proxy.unread(), [], 'once')
  })

  test('#13 what is subscribed again after it was unsubscribed is sent again', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    proxy.ask('endpoint', { names: ['a', 'b'] })
    const first = await proxy.take('endpoint')
    proxy.ask('endpoint', protocol === 'sotw' ? { names: ['b'], nonce: first.nonce } : { unsubscribe: ['a'] })
    t.same(await proxy.unread(), [])
    proxy.ask('endpoint', protocol === 'sotw' ? { names: ['a', 'b'], nonce: first.nonce } : { names: ['a'] })
    t.ok((await proxy.take('endpoint')).names.includes('a'))
  })

  test('#14 the node comes with the first request only; a stream that begins without one is refused', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    t.pass('all requests but the first carried no node')
    const nameless = client(protocol)
    nameless.ask('cluster', { node: false })
    t.match(await nameless.ended, { code: 3, details: /node/ })
    const homeless = client(protocol, { gateway: '' })
    homeless.ask('cluster')
    t.match(await homeless.ended, { code: 7, details: /node\.cluster/ })
  })

  test('#15 a request without type_url ends an aggregated stream; an unknown type leaves it alone', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    proxy.ask('cluster', { typeUrl: 'type.googleapis.com/envoy.service.runtime.v3.Runtime' })
    t.same(await proxy.unread(), [])
    proxy.ask('cluster')
    t.same((await proxy.take('cluster')).names, ['a', 'b'], 'the stream lives')
    proxy.ask('cluster', { typeUrl: '' })
    t.match(await proxy.ended, { code: 3, details: /type_url/ })
  })

  test('#16 a resource with a time to live is refreshed at half of it, without its body', async t => {
    const { publish, client, clock } = await aServer(t)
    const brief = { ...aSecret('brief'), ttlMs: 10_000 }
    publish([brief, aSecret('lasting')])
    const proxy = client(protocol)
    proxy.ask('secret', { names: ['brief', 'lasting'] })
    const first = await proxy.take('secret')
    t.same(first.names, ['brief', 'lasting'])
    await proxy.unread()
    for (let beat = 0; beat < 3; beat++) {
      clock.advance(5_000)
      const answer = await proxy.take('secret')
      t.same([answer.beats, answer.names], [['brief'], []])
      t.equal(answer.version, first.version)
      await proxy.unread()
    }
    publish([], [['secret', 'brief']])
    clock.advance(120_000)
    const after = await proxy.unread()
    t.same(after.filter(answer => answer.beats.length > 0).length <= 1, true, 'it ends with the resource')
  })

  test('#18 a stream that is cancelled, closed on one side or shut down leaves nothing behind', async t => {
    const { publish, client, server, metrics } = await aServer(t)
    publish(world)
    const proxies = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const proxy = client(protocol, { node: `n${n}` })
        await settle(proxy)
        return proxy
      }),
    )
    t.equal(server.clients().length, 20)
    const gone = new Promise<void>(resolve => {
      server.subscribe(() => server.clients().length === 0 && resolve())
    })
    proxies.forEach((proxy, n) => (n % 2 ? proxy.close() : proxy.halfClose()))
    await gone
    t.match(await metrics.text(), new RegExp(`xds_streams\\{protocol="${protocol}"\\} 0`))
    const last = client(protocol)
    await settle(last)
    await server.close()
    t.equal((await last.ended).code, 0, 'ended in order')
    t.same(server.clients(), [])
  })

  test('#19 a slow reader is sent the newest state when it reads, not all that was in between', async t => {
    const { publish, client, clock } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    for (let revision = 2; revision <= 500; revision++) publish([aCluster('a', revision)])
    const first = await proxy.next('cluster')
    for (let revision = 501; revision <= 1000; revision++) publish([aCluster('a', revision)])
    clock.advance(1)
    t.same(await proxy.unread(), [], 'one response in flight')
    proxy.accept(first)
    const second = await proxy.next('cluster')
    const newest = aCluster('a', 1000)
    t.equal(Buffer.from(second.bodies.get('a')!).toString('hex'), Buffer.from(newest.bytes).toString('hex'))
    proxy.accept(second)
    t.same(
      (await proxy.unread()).filter(answer => answer.type === 'cluster'),
      [],
    )
  })

  test('#21 nobody is answered before the first complete state, nor for a Gateway that nobody published', async t => {
    const { publish, client, server } = await aServer(t)
    const proxy = client(protocol)
    const stranger = client(protocol, { gateway: 'gateway.gateway.networking.k8s.io:shop/other' })
    for (const each of [proxy, stranger]) each.ask('cluster')
    t.same(await proxy.unread(), [])
    t.equal(server.clients().find(one => one.node === 'a-proxy')?.types.cluster?.state, 'idle')
    publish(world)
    t.same((await proxy.take('cluster')).names, ['a', 'b'])
    t.same(await stranger.unread(), [])
  })

  test('#22 each type has a service of its own, and together they are one proxy', async t => {
    const { publish, client } = await aServer(t)
    publish(world)
    const of = (only: ResourceType) => client(protocol, { only, node: 'separate' })
    const [clusters, endpoints, listeners, routes, secrets] = [
      of('cluster'),
      of('endpoint'),
      of('listener'),
      of('route'),
      of('secret'),
    ]
    clusters.ask('cluster', { typeUrl: '' })
    t.same((await clusters.take('cluster')).names, ['a', 'b'])
    endpoints.ask('endpoint', { names: ['a', 'b'] })
    await endpoints.take('endpoint')
    listeners.ask('listener')
    await listeners.take('listener')
    routes.ask('route', { names: ['web'] })
    await routes.take('route')
    secrets.ask('secret', { names: ['key'] })
    await secrets.take('secret')
    await routes.unread()
    publish([aCluster('c'), someEndpoints('c'), aRoute('web', 'c')])
    const added = await clusters.next('cluster')
    t.same(await routes.unread(), [], 'routes wait for what another stream acknowledges')
    clusters.accept(added)
    endpoints.ask('endpoint', protocol === 'sotw' ? { names: ['a', 'b', 'c'], nonce: '1' } : { names: ['c'] })
    await endpoints.take('endpoint')
    t.same((await routes.take('route')).names, ['web'])
    listeners.ask('listener', { typeUrl: typeUrls.cluster })
    t.equal((await listeners.ended).code, 3, 'another type has no place there')
  })
}

t.test(
  '#3 sotw: an ACK moves the version; a stale nonce does nothing; an old ACK cancels nothing',
  async t => {
    const { publish, client, server } = await aServer(t)
    publish(world)
    const proxy = client('sotw')
    proxy.ask('cluster')
    const first = await proxy.take('cluster')
    publish([aCluster('a', 2)])
    const second = await proxy.next('cluster')
    t.not(second.version, first.version)
    proxy.ask('cluster', { nonce: first.nonce, version: first.version, names: ['a'] })
    publish([aCluster('b', 2)])
    t.same(await proxy.unread(), [], 'the second is still in flight')
    t.equal(server.clients().find(one => one.node === 'a-proxy')?.types.cluster?.subscribed, '*')
    proxy.accept(second, { names: [] })
    t.same((await proxy.take('cluster')).names, ['a', 'b'])
  },
)

t.test('#11 delta: a stream that comes back with equal versions is sent nothing, on any replica', async t => {
  const one = await aServer(t)
  const two = await aServer(t)
  one.publish(world)
  two.publish([...world].reverse())
  const before = one.client('delta')
  before.ask('cluster')
  const clusters = await before.take('cluster')
  before.ask('secret', { names: ['key'] })
  const secrets = await before.take('secret')
  const after = two.client('delta')
  after.ask('cluster', { initialVersions: Object.fromEntries(clusters.resources) })
  after.ask('secret', { names: ['key', 'other'], initialVersions: Object.fromEntries(secrets.resources) })
  t.same((await after.take('secret')).names, ['other'], 'but a secret that it lacks is sent')
  t.same(await after.unread(), [])
})

t.test(
  '#11 delta: what is gone when the stream comes back is removed late, since routes may name it',
  async t => {
    const { publish, client, clock } = await aServer(t)
    publish(world)
    const proxy = client('delta')
    const versions = { a: aCluster('a').version, b: 'old', gone: 'old' }
    proxy.ask('cluster', { initialVersions: versions })
    proxy.ask('route', { names: ['web'], initialVersions: { web: 'old' } })
    const clusters = await proxy.next('cluster')
    t.same(told(clusters), { names: ['b'], removed: [] })
    t.same(await proxy.unread(), [], 'its routes wait')
    proxy.accept(clusters)
    proxy.ask('endpoint', { names: ['a', 'b'] })
    await proxy.take('endpoint')
    await proxy.take('route')
    await proxy.unread()
    clock.advance(15_000)
    t.same(told(await proxy.take('cluster')), { names: [], removed: ['gone'] })
  },
)

t.test('#12 sotw: a stream that comes back with its version is answered only if it differs', async t => {
  const one = await aServer(t)
  const two = await aServer(t)
  one.publish(world)
  two.publish([...world].reverse())
  const before = one.client('sotw')
  before.ask('cluster')
  const clusters = await before.take('cluster')
  before.ask('endpoint', { names: ['b', 'a'] })
  const endpoints = await before.take('endpoint')
  const after = two.client('sotw')
  after.ask('cluster', { version: clusters.version })
  after.ask('endpoint', { version: endpoints.version, names: ['a', 'b'] })
  t.same(await after.unread(), [])
  const changed = two.client('sotw', { node: 'changed' })
  changed.ask('endpoint', { version: endpoints.version, names: ['a'] })
  t.same((await changed.take('endpoint')).names, ['a'], 'another set of names is another version')
})

t.test('#12 sotw: what was removed lately is still told to a stream that comes back', async t => {
  const { publish, client, clock } = await aServer(t)
  publish(world)
  const before = client('sotw')
  await settle(before)
  publish([aCluster('c'), someEndpoints('c'), aRoute('web', 'c')], [['cluster', 'a']])
  before.close()
  const after = client('sotw', { node: 'back' })
  after.ask('cluster', { version: 'of-old' })
  t.same((await after.take('cluster')).names, ['a', 'b', 'c'])
  after.ask('endpoint', { names: ['a', 'b', 'c'], version: 'of-old' })
  await after.take('endpoint')
  await after.unread()
  clock.advance(15_000)
  t.same((await after.take('cluster')).names, ['b', 'c'])
})

t.test(
  '#5 delta: of a refused response all that is not at fault is sent again, and the culprit named',
  async t => {
    const { publish, client, server } = await aServer(t)
    publish([])
    const proxy = client('delta')
    proxy.ask('cluster')
    await proxy.take('cluster')
    const names = Array.from({ length: 20 }, (_, n) => `c${String(n).padStart(2, '0')}`)
    publish(names.map(name => aCluster(name)))
    const held = new Set<string>()
    for (let sent = 1; ; sent++) {
      const [answer] = sent === 1 ? [await proxy.next('cluster')] : await proxy.unread()
      if (answer === undefined) break
      if (sent > 30) return void t.fail('a loop')
      // As Envoy's listeners of one response do: the first bad one spoils all.
      if (answer.names.includes('c13')) proxy.refuse(answer, 'c13 is bad')
      else {
        answer.names.forEach(name => held.add(name))
        proxy.accept(answer)
      }
    }
    t.same(
      [...held].sort(),
      names.filter(name => name !== 'c13'),
    )
    t.same(server.clients().find(one => one.node === 'a-proxy')?.types.cluster?.refusal?.resources, ['c13'])
  },
)

t.test('#5 delta: when all are bad the trying ends', async t => {
  const { publish, client } = await aServer(t)
  publish([])
  const proxy = client('delta')
  proxy.ask('cluster')
  await proxy.take('cluster')
  publish(Array.from({ length: 1000 }, (_, n) => aCluster(`c${n}`)))
  let sent = 0
  for (
    let answer: Answer | undefined = await proxy.next('cluster');
    answer;
    [answer] = await proxy.unread()
  ) {
    proxy.refuse(answer, 'I take nothing')
    if (++sent > 200) break
  }
  t.ok(sent < 200, `${sent} responses`)
})

t.test('#20 delta: a message over the limit is split, and the parts come one after the other', async t => {
  const { publish, client } = await aServer(t, { maxResponseBytes: 2000 })
  const big = (name: string) =>
    aResource('secret', name, { name, generic_secret: { secret: { inline_string: 'x'.repeat(900) } } })
  const names = ['s1', 's2', 's3', 's4', 's5']
  publish(names.map(big))
  const proxy = client('delta')
  proxy.ask('secret', { names })
  const first = await proxy.next('secret')
  t.same(first.names, ['s1', 's2'])
  t.same(await proxy.unread(), [], 'the next part waits for the ACK')
  publish([
    aResource('secret', 's4', { name: 's4', generic_secret: { secret: { inline_string: 'y'.repeat(900) } } }),
  ])
  proxy.accept(first)
  const second = await proxy.take('secret')
  t.same(second.names, ['s3', 's4'], 'and is the newest')
  t.same((await proxy.take('secret')).names, ['s5'])
  t.same(await proxy.unread(), [])
})
