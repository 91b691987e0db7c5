/** What the check-list does not number: warm clusters, slow readers, who may listen, and how long streams live. */
import t from 'tap'
import type { Test } from 'tap'
import { createMetrics, manualClock, silentLog } from '../../src/core/index.js'
import type { Resource, ResourceType } from '../../src/envoy/index.js'
import { createXds } from '../../src/xds/index.js'
import type { Identify, XdsOptions } from '../../src/xds/index.js'
import { createMeters } from '../../src/xds/meters.js'
import { Registry } from '../../src/xds/registry.js'
import type { Stream } from '../../src/xds/stream.js'
import { decodeAnswer, XdsClient } from '../support/xds-client.js'
import type { Answer, Protocol } from '../support/xds-client.js'
import {
  aCluster,
  aDnsCluster,
  aListener,
  aPublication,
  aRoute,
  someEndpoints,
} from '../support/xds-resources.js'
import { typeUrls } from '../../src/envoy/index.js'

const gateway = 'gateway.gateway.networking.k8s.io:shop/public'

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
  const client = (protocol: Protocol = 'delta') => {
    const one = new XdsClient(address, { protocol, gateway })
    clients.push(one)
    return one
  }
  const publish = (
    resources: readonly Resource[],
    removed: readonly (readonly [ResourceType, string])[] = [],
  ) => server.publish([aPublication(gateway, resources, removed)])
  return { server, clock, metrics, address, client, publish }
}

const world = [aCluster('a'), someEndpoints('a'), aListener('web'), aRoute('web', 'a')]

async function settle(client: XdsClient) {
  for (const [type, names] of [['cluster'], ['endpoint', ['a']], ['listener'], ['route', ['web']]] as const) {
    client.ask(type, names ? { names } : {})
    await client.take(type)
  }
}

for (const protocol of ['sotw', 'delta'] as const) {
  t.test(
    `${protocol}: routes wait until a cluster that resolves a name is warm, as asked after its ACK`,
    async t => {
      const asked: string[] = []
      let warm: () => void = () => t.fail('nobody asked')
      const warmth = (of: string, cluster: string) => {
        asked.push(`${of} ${cluster}`)
        return new Promise<void>(resolve => (warm = resolve))
      }
      const { publish, client, metrics } = await aServer(t, { warmth })
      publish(world)
      const proxy = client(protocol)
      await settle(proxy)
      publish([aDnsCluster('far'), aRoute('web', 'far')])
      const clusters = await proxy.next('cluster')
      await proxy.unread()
      t.same(asked, [], 'before the ACK there is nothing to ask')
      proxy.accept(clusters)
      t.same(await proxy.unread(), [], 'it is cold')
      t.same(asked, [`${gateway} far`])
      warm()
      t.equal((await proxy.take('route')).type, 'route')
      t.notMatch(await metrics.text(), /phase_timeouts_total\{/)
    },
  )

  t.test(
    `${protocol}: a cluster that never warms holds routes for 5 s and no longer, and is counted`,
    async t => {
      const { publish, client, metrics, clock } = await aServer(t)
      publish(world)
      const proxy = client(protocol)
      await settle(proxy)
      publish([aDnsCluster('far'), aRoute('web', 'far')])
      await proxy.take('cluster')
      await proxy.unread()
      clock.advance(4_999)
      t.same(await proxy.unread(), [])
      clock.advance(1)
      t.equal((await proxy.take('route')).type, 'route')
      t.match(await metrics.text(), /phase_timeouts_total\{reason="cold"\} 1/)
    },
  )

  t.test(`${protocol}: a refused cluster holds routes for 5 s once, not with every later change`, async t => {
    const { publish, client, metrics, clock } = await aServer(t)
    publish(world)
    const proxy = client(protocol)
    await settle(proxy)
    publish([aCluster('bad'), someEndpoints('bad'), aRoute('web', 'bad')])
    proxy.refuse(await proxy.next('cluster'), 'bad is bad')
    t.same(await proxy.unread(), [])
    clock.advance(5_000)
    await proxy.take('route')
    t.match(await metrics.text(), /phase_timeouts_total\{reason="refused"\} 1/)
    publish([aRoute('web', 'a')])
    await proxy.take('route')
    t.pass('at once')
  })

  t.test(
    `${protocol}: a stream that cannot be written to is sent nothing until it drains, then the newest`,
    async t => {
      const registry = new Registry({
        clock: manualClock(),
        log: silentLog,
        meters: createMeters(createMetrics()),
        warmth: () => new Promise(() => undefined),
        limits: { warmMs: 5000, removalMs: 15_000 },
        maxBytes: 4 << 20,
        redact: text => text,
      })
      const sent: Answer[] = []
      let writable = false
      const stream: Stream = {
        ...{ id: 1, protocol, only: undefined, gateway, address: '', connectedAt: 0 },
        node: { id: 'slow', cluster: gateway },
        get writable() {
          return writable
        },
        write: bytes => void sent.push(decodeAnswer(protocol, bytes)),
        end: () => undefined,
      }
      registry.opened(stream)
      const nothing = { node: undefined, typeUrl: typeUrls.cluster, nonce: '', refusal: undefined }
      const delta = { subscribe: ['*'], unsubscribe: [], initialVersions: new Map<string, string>() }
      registry.request(stream, 'cluster', {
        ...nothing,
        ...(protocol === 'sotw' ? { names: [], version: '' } : delta),
      })
      for (let revision = 1; revision <= 100; revision++) {
        registry.publish([aPublication(gateway, [aCluster('a', revision)])])
        await new Promise(resolve => setImmediate(resolve))
      }
      t.same(sent, [])
      writable = true
      registry.drained(stream)
      t.equal(sent.length, 1)
      t.same(sent[0]?.bodies.get('a'), aCluster('a', 100).bytes)
    },
  )
}

t.test('beyond loopback nobody is served without credentials, unless it is asked for', async t => {
  const server = createXds()
  t.teardown(() => server.close())
  await t.rejects(server.listen('0.0.0.0:0'), { code: 'CREDENTIALS_MISSING', message: /0\.0\.0\.0:0/ })
  await t.rejects(server.listen('[::]:0'), { code: 'CREDENTIALS_MISSING' })
  const exposed = createXds({ exposed: true })
  t.teardown(() => exposed.close())
  t.match(await exposed.listen('0.0.0.0:0'), /^0\.0\.0\.0:\d+$/)
})

t.test('a port in use is said to be', async t => {
  const { address } = await aServer(t)
  const other = createXds()
  t.teardown(() => other.close())
  await t.rejects(other.listen(address), { code: 'ADDRESS_IN_USE', message: new RegExp(address) })
})

t.test('who calls decides what is told: the answer may take time, and may be no', async t => {
  const callers: object[] = []
  const identify: Identify = async caller => {
    callers.push(caller.node)
    await new Promise(resolve => setImmediate(resolve))
    return caller.node.id === 'a-proxy' ? gateway : { refused: 'who is that?' }
  }
  const { publish, client, address } = await aServer(t, { identify })
  publish(world)
  const proxy = client()
  proxy.ask('cluster')
  proxy.ask('listener')
  t.same((await proxy.take('cluster')).names, ['a'])
  t.same((await proxy.take('listener')).names, ['web'], 'what came early is not lost')
  const stranger = new XdsClient(address, { protocol: 'delta', gateway, node: 'stranger' })
  stranger.ask('cluster')
  t.match(await stranger.ended, { code: 7, details: 'who is that?' })
  stranger.close()
  t.equal(callers.length, 2, 'once a stream')
})

t.test('streams end at their age, give or take a tenth', async t => {
  const { publish, client, clock, server } = await aServer(t, { maxStreamAgeMs: 100_000, random: () => 0 })
  publish(world)
  const proxy = client()
  await settle(proxy)
  clock.advance(89_999)
  t.equal(server.clients().length, 1)
  clock.advance(1)
  t.equal((await proxy.ended).code, 0)
})

t.test('a Gateway that is forgotten ends its streams, and holds those that come back', async t => {
  const { publish, client, server } = await aServer(t)
  publish(world)
  t.same(server.gateways(), [gateway])
  t.same(
    server.resources(gateway).map(resource => `${resource.type} ${resource.name}`),
    ['cluster a', 'endpoint a', 'listener web', 'route web'],
  )
  const proxy = client()
  await settle(proxy)
  server.forget(gateway)
  t.equal((await proxy.ended).code, 0)
  t.same([server.gateways(), server.resources(gateway), server.clients()], [[], [], []])
  const back = client()
  back.ask('cluster')
  t.same(await back.unread(), [])
})
