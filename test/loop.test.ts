import t from 'tap'
import { createMetrics, locatorOf, manualClock, silentLog, type KubeObject } from '../src/core/index.js'
import { createDerivation, type Derivation } from '../src/derivation.js'
import { validate } from '../src/kinds/index.js'
import { Loop } from '../src/loop.js'
import { createReporter } from '../src/status/index.js'
import { createStore } from '../src/store/index.js'
import { createPublisher } from '../src/xds/index.js'
import { gateway, gatewayClass, httpRoute } from './support/manifests.js'

/** The loop with everything around it but the sockets: what it publishes is written down. */
function aLoop({ complete = true, drift = 0 } = {}) {
  const store = createStore()
  const derivation: Derivation = createDerivation({ addresses: [{ type: 'IPAddress', value: '127.0.0.1' }] })
  const { engine, model, placed, references } = derivation
  const held = new Set<string>()
  const told: string[] = []
  const xds = {
    publish(
      publications: readonly { gateway: string; changes: readonly { name: string; resource?: unknown }[] }[],
    ) {
      for (const { gateway: name, changes } of publications) {
        held.add(name)
        told.push(`${name} ${changes.filter(({ resource }) => resource !== undefined).length}`)
        for (const change of changes) if (change.resource === undefined) told.push(`- ${change.name}`)
      }
    },
    forget(name: string) {
      held.delete(name)
      told.push(`forget ${name}`)
    },
    gateways: () => [...held],
    clients: () => [],
    subscribe: () => () => undefined,
  }
  const state = { complete }
  const metrics = createMetrics()
  const publisher = createPublisher(engine, { placed, gateways: references.gateways }, xds)
  const reporter = createReporter(engine, model.statuses, xds, manualClock())
  const loop = new Loop({
    ...{ store, publisher, reporter, metrics, log: silentLog, complete: () => state.complete },
    derivation: drift === 0 ? derivation : { ...derivation, verify: () => Promise.resolve(drift) },
  })
  const put = async (...objects: readonly object[]) => {
    store.apply(objects.map(object => ({ type: 'upsert', object: validate(object as KubeObject).object! })))
    await loop.settled()
  }
  const remove = async (object: object) => {
    store.apply([{ type: 'delete', locator: locatorOf(object as KubeObject) }])
    await loop.settled()
  }
  const programmed = (locator: string) =>
    reporter.get(locator)?.conditions?.find(({ type }) => type === 'Programmed')?.message
  return { loop, derivation, metrics, reporter, state, told, put, remove, programmed }
}

const id = 'gateway.gateway.networking.k8s.io:shop/public'
const http = { name: 'http', port: 8080 }

t.test('nothing is published before the state is complete, and then all of it at once', async t => {
  const { loop, put, told, state, programmed } = aLoop({ complete: false })
  await put(gatewayClass(), gateway(http))
  await put(httpRoute('r', ['r.test'], { prefix: '/', to: [{ name: 'a' }] }))
  t.same(told, [])
  t.notOk(loop.published)
  t.match(programmed(id), /not been published/, 'the status says so meanwhile')
  state.complete = true
  loop.release()
  await loop.settled()
  t.ok(loop.published)
  t.same(told, [`${id} 2`], 'the listener and its routes')
  t.match(programmed(id), /no proxy is connected/, 'and is looked at again once it has been published')
  state.complete = false
  await put(gateway({ ...http, port: 8081 }))
  t.equal(told.length > 1, true, 'complete once is complete for good')
  loop.close()
})

t.test('a Gateway is published though it has nothing to serve, and forgotten when it goes', async t => {
  const { loop, put, remove, told } = aLoop()
  await put(gatewayClass())
  const bare = gateway({ name: 'udp', port: 53 }) as { spec: { listeners: { protocol: string }[] } }
  for (const listener of bare.spec.listeners) listener.protocol = 'UDP'
  await put(bare)
  t.same(told, [`${id} 0`])
  await remove(bare)
  t.same(told.slice(1), [`forget ${id}`])
  loop.close()
})

t.test('so it is when it was there before the publisher', t => {
  const derivation = createDerivation()
  const store = createStore()
  const bare = gateway({ name: 'udp', port: 53 }) as { spec: { listeners: { protocol: string }[] } }
  for (const listener of bare.spec.listeners) listener.protocol = 'UDP'
  store.apply([gatewayClass(), bare].map(object => ({ type: 'upsert', object: object as KubeObject })))
  store.subscribe(({ updates }) => derivation.take(updates))
  const published: string[] = []
  const publisher = createPublisher(
    derivation.engine,
    { placed: derivation.placed, gateways: derivation.references.gateways },
    { publish: all => void published.push(...all.map(each => each.gateway)), forget: () => undefined },
  )
  publisher.publish()
  publisher.publish()
  t.same(published, [id], 'once')
  t.end()
})

t.test('what goes is published as gone, and a status that goes is forgotten', async t => {
  const { loop, put, remove, told, reporter } = aLoop()
  const route = httpRoute('r', ['r.test'], { prefix: '/', to: [{ name: 'a' }] })
  await put(gatewayClass(), gateway(http, { name: 'more', port: 9090 }), route)
  t.ok(reporter.get(locatorOf(route as KubeObject)))
  told.length = 0
  await put(gateway(http))
  t.equal(told.filter(line => line.startsWith('- ')).length, 2, 'the listener and its route table')
  await remove(route)
  t.equal(reporter.get(locatorOf(route as KubeObject)), undefined)
  loop.close()
})

t.test('all that the store holds is derived when it has settled', async t => {
  const { loop, put, derivation } = aLoop()
  await put(gatewayClass(), gateway(http))
  for (let port = 8081; port < 8090; port++) {
    await put(gateway({ ...http, port }))
    t.same(
      [...derivation.model.ports.entries()].map(([, each]) => each.port),
      [port],
      'also while changes storm',
    )
  }
  loop.close()
})

t.test('what has drifted is counted and published; what has not is not', async t => {
  const count = async ({ metrics }: { metrics: ReturnType<typeof createMetrics> }) =>
    /^gatewright_derivation_drift_total (\d+)$/m.exec(await metrics.text())?.[1]
  const good = aLoop()
  await good.put(gatewayClass(), gateway(http))
  t.equal(await good.loop.verify(), 0)
  t.equal(await count(good), '0')
  good.loop.close()
  const bad = aLoop({ drift: 3 })
  await bad.put(gatewayClass(), gateway(http))
  let turns = 0
  bad.loop.subscribe(() => turns++)
  t.equal(await bad.loop.verify(), 3)
  t.equal(await count(bad), '3')
  t.equal(turns, 1, 'it is published')
  bad.loop.close()
})

t.test('to verify is to derive every entry again', async t => {
  const { loop, put, derivation } = aLoop()
  let again = 0
  const counted = derivation.engine.derive('counted', derivation.references.gateways, () => ++again)
  await put(gatewayClass(), gateway(http))
  const before = again
  await derivation.verify()
  t.equal(again, before + 1)
  t.equal(counted.size, 1)
  loop.close()
})
