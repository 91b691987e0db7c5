/** The cluster source through the real client: full lists on a timer, hints read back, Secrets only while referenced. */
import t, { type Test } from 'tap'
import { createMetrics, manualClock } from '../../src/core/index.js'
import type { KindId, KubeObject, Locator } from '../../src/core/index.js'
import { ids } from '../../src/kinds/index.js'
import { connect } from '../../src/kube/index.js'
import type { KubeClient, ListOptions } from '../../src/kube/index.js'
import { createCluster } from '../../src/sources/index.js'
import type { ClusterOptions, Wanted } from '../../src/sources/index.js'
import { createStore } from '../../src/store/index.js'
import { ApiServer } from '../support/api-server.js'
import { ports } from './manifests.js'

const { Service: services, HTTPRoute: routes, Secret: secrets, ConfigMap: configMaps } = ids
const serviceKey = (name: string): Locator => `${services}:shop/${name}`
const secretKey = (name: string): Locator => `${secrets}:shop/${name}`

/** A Service; its port tells its states apart. */
const aService = (name: string, port = 80) =>
  ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'shop' },
    spec: { ports: [{ port }] },
  }) as KubeObject
const aRoute = (name: string) =>
  ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace: 'shop' },
    spec: { parentRefs: [{ name: 'public' }] },
  }) as KubeObject
const aSecret = (name: string, text = 'hidden') =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'shop' },
    data: { key: btoa(text) },
  }) as KubeObject

/** What is referenced, as the test says. */
class Chosen implements Wanted {
  readonly #keys: Set<Locator>
  readonly #listeners = new Set<Parameters<Wanted['subscribe']>[0]>()

  constructor(keys: readonly Locator[]) {
    this.#keys = new Set(keys)
  }

  has = (key: Locator) => this.#keys.has(key)
  keys = () => this.#keys

  subscribe(listener: Parameters<Wanted['subscribe']>[0]): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  change({ came = [], went = [] }: { came?: readonly Locator[]; went?: readonly Locator[] }): void {
    for (const key of came) this.#keys.add(key)
    for (const key of went) this.#keys.delete(key)
    for (const listener of this.#listeners) listener({ came, went })
  }
}

/** A client of which answers can be held back: each is what the server said when it was asked. */
class HeldBack implements KubeClient {
  readonly server: string
  readonly inCluster = false
  readonly #client: KubeClient
  #gate: Promise<void> | undefined
  waiting = 0

  constructor(client: KubeClient) {
    this.#client = client
    this.server = client.server
  }

  /** Answers wait until what it returns is called. */
  hold(): () => void {
    let release = (): void => undefined
    this.#gate = new Promise(resolve => (release = resolve))
    return () => {
      this.#gate = undefined
      release()
    }
  }

  async list(kind: KindId, options?: ListOptions) {
    const list = await this.#client.list(kind, options)
    this.waiting++
    await this.#gate
    this.waiting--
    return list
  }

  watch = () => t.fail('a cluster holds no watch') as never
  reviewToken = () => t.fail('nobody is reviewed') as never
  whyNotAllowed = () => t.fail('nobody is reviewed') as never
  close = () => this.#client.close()
}

interface Setting extends Partial<Pick<ClusterOptions, 'kinds' | 'periodMs'>> {
  readonly wanted?: readonly Locator[]
  readonly objects?: readonly KubeObject[]
  /** What happens to the API server before anybody asks it. */
  readonly before?: (api: ApiServer) => void
}

async function aWorld(t: Test, setting: Setting = {}) {
  const { kinds = [services, routes], periodMs = 60_000, objects = [], before } = setting
  const api = await ApiServer.start()
  for (const object of objects) api.put(object)
  before?.(api)
  const client = new HeldBack(await connect({ environment: {}, kubeconfig: api.kubeconfig }))
  const [store, clock, metrics] = [createStore({ freeze: true }), manualClock(), createMetrics()]
  const wanted = new Chosen(setting.wanted ?? [])
  const cluster = createCluster({ client, store, kinds, wanted, periodMs, clock, metrics })
  t.teardown(async () => {
    cluster.close()
    client.close()
    await api.close()
  })
  const held = () => ports(store.snapshot())
  const texts = () =>
    store
      .snapshot()
      .list(secrets)
      .map(object => atob((object as unknown as { data: { key: string } }).data.key))
  /** The lists that were asked for since the last look: kinds, and names where they are of one object. */
  let seen = 0
  const asked = () => {
    const requests = api.requests.slice(seen).filter(({ path }) => !path.endsWith('/v1'))
    seen = api.requests.length
    return requests.map(({ path, query }) => {
      const name = query['fieldSelector']?.replace('metadata.name=', '/')
      return `${path.split('/').at(-1) ?? ''}${name ?? ''}`
    })
  }
  const counted = async (line: string) => (await metrics.text()).includes(`\ngatewright_${line}\n`)
  return { api, client, store, clock, metrics, wanted, cluster, held, texts, asked, counted }
}

type World = Awaited<ReturnType<typeof aWorld>>

/** Gives the event loop back until it is so. */
async function until(what: string, isSo: () => boolean): Promise<void> {
  const end = performance.now() + 30_000
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`it never came about: ${what}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}

const complete = ({ cluster }: World) => until('complete', () => cluster.complete())

/** Every request that is under way is answered, and what follows from it is done. */
async function quiet({ client }: World): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await client.list(ids.Namespace)
}

t.test('everything is listed', async t => {
  await t.test('at once, every kind at the same time, and taken in one transaction', async t => {
    const world = await aWorld(t, {
      objects: [aService('a'), aRoute('r')],
      kinds: [services, routes, configMaps],
    })
    const { client, cluster, store } = world
    const release = client.hold()
    t.notOk(cluster.complete())
    t.strictSame(cluster.waitingFor(), [
      'service has not been listed yet',
      'httproute.gateway.networking.k8s.io has not been listed yet',
      'configmap has not been listed yet',
    ])
    await until('all have been asked for', () => client.waiting === 3)
    const notices: number[] = []
    store.subscribe(({ updates }) => void notices.push(updates.length))
    release()
    await complete(world)
    t.strictSame(notices, [0, 2])
    t.strictSame(cluster.waitingFor(), [])
    t.strictSame(cluster.degraded(), [])
  })

  await t.test('again when the period has passed, give or take a tenth', async t => {
    const world = await aWorld(t, { kinds: [services], periodMs: 60_000 })
    const { api, clock, held, asked } = world
    await complete(world)
    for (const port of [1, 2, 3]) {
      await quiet(world)
      api.put(aService('a', port))
      asked()
      clock.advance(53_999)
      await quiet(world)
      t.notMatch(asked(), ['services'], 'not before')
      clock.advance(12_002)
      await until('it is listed', () => held()['a'] === port)
    }
  })

  await t.test('never twice at once: who asks during a list shares the next', async t => {
    const world = await aWorld(t, { kinds: [services, routes] })
    const { api, client, cluster, held, asked } = world
    await complete(world)
    asked()
    const release = client.hold()
    const first = cluster.reconcile()
    await until('it is asked', () => client.waiting === 2)
    api.put(aService('late', 7))
    const [second, third] = [cluster.reconcile([services]), cluster.reconcile([services])]
    release()
    t.match(await first, { accepted: 0 })
    t.strictSame(held(), {})
    t.match(await second, { accepted: 1 })
    t.equal(await second, await third)
    t.strictSame(asked().sort(), ['httproutes', 'services', 'services'])
    t.strictSame(held(), { late: 7 })
  })

  await t.test('10,000 objects without holding the event loop', async t => {
    const items = Array.from({ length: 10_000 }, (_, at) => ({
      ...aService(`s-${at}`, 1 + (at % 60_000)),
      metadata: { name: `s-${at}`, namespace: 'shop', uid: `u-${at}`, resourceVersion: String(at + 1) },
    }))
    const client = {
      ...{ server: 'https://many', inCluster: false, close: () => undefined },
      list: () => Promise.resolve({ items, version: '20000' }),
    } as unknown as KubeClient
    const store = createStore()
    let isOver = false as boolean
    const turns: number[] = []
    const cluster = createCluster({
      client,
      store,
      kinds: [services],
      wanted: new Chosen([]),
      periodMs: 60_000,
    })
    t.teardown(() => cluster.close())
    cluster.subscribe(() => void (isOver = true))
    while (!isOver) {
      // Of this process alone: others may have the processor meanwhile.
      const before = process.cpuUsage()
      await new Promise(resolve => setImmediate(resolve))
      const { user, system } = process.cpuUsage(before)
      turns.push((user + system) / 1000)
    }
    t.equal(store.snapshot().count(services), 10_000)
    // Compiling and collecting garbage may come on top of one turn or another.
    const [, , third = 0] = turns.sort((a, b) => b - a)
    t.ok(third < 50, `${third.toFixed(1)} ms`)
  })
})

t.test('a kind that cannot be listed', async t => {
  for (const how of [403, 500, 410, 'reset'] as const) {
    await t.test(`(${how}) stays as it was, is named and counted, and is tried again soon`, async t => {
      const world = await aWorld(t, { objects: [aService('a', 1), aRoute('r')] })
      const { api, clock, cluster, held, store, counted } = world
      await complete(world)
      api.remove(serviceKey('a'))
      api.put(aRoute('r2'))
      api.fail(services, how)
      const { degraded } = await cluster.reconcile()
      t.match(degraded, [{ source: services, message: /./ }])
      t.strictSame(cluster.degraded(), degraded)
      t.strictSame(held(), { a: 1 }, 'an error is no empty list')
      t.equal(store.snapshot().count(routes), 2, 'the others are taken')
      t.ok(cluster.complete(), 'once complete, always complete')
      t.ok(await counted('list_failures_total{kind="service"} 1'))
      api.heal(services)
      clock.advance(1200)
      await until('it is listed again', () => cluster.degraded().length === 0)
      t.strictSame(held(), {})
    })
  }

  await t.test('keeps the state incomplete, and says so', async t => {
    const world = await aWorld(t, { before: api => api.fail(services, 403) })
    const { api, cluster } = world
    await until('it is listed', () => cluster.degraded().length === 1)
    t.notOk(cluster.complete())
    t.match(cluster.waitingFor(), [/^service has not been listed yet: .*Service.* failed/])
    t.equal(cluster.waitingFor().length, 1)
    api.heal(services)
    await cluster.reconcile()
    t.ok(cluster.complete())
  })

  await t.test('is tried again with back-off, and by the timer all the same', async t => {
    const world = await aWorld(t, {
      kinds: [services],
      periodMs: 60_000,
      before: api => api.fail(services, 500),
    })
    const { clock, cluster, asked } = world
    await until('it is listed', () => cluster.degraded().length === 1)
    await quiet(world)
    asked()
    let tries = 0
    for (let second = 0; second < 50; second++) {
      clock.advance(1000)
      await quiet(world)
      tries += asked().filter(each => each === 'services').length
    }
    t.ok(tries >= 4 && tries <= 6, `${tries} times in 50 s`)
  })
})

t.test('a kind that is not installed', async t => {
  await t.test('is listed all the same, and taken up when it is', async t => {
    const world = await aWorld(t, { before: api => api.uninstall(routes) })
    const { api, cluster, store } = world
    await complete(world)
    t.strictSame(cluster.degraded(), [])
    api.install(routes)
    api.put(aRoute('r'))
    const report = await cluster.reconcile()
    t.strictSame(report.absent, [])
    t.equal(store.snapshot().count(routes), 1)
  })

  await t.test('any more is gone, with all its objects, after two lists; and may come back', async t => {
    const world = await aWorld(t, { objects: [aRoute('r')] })
    const { api, cluster, store } = world
    await complete(world)
    api.uninstall(routes)
    t.strictSame((await cluster.reconcile()).absent, [routes])
    t.equal(store.snapshot().count(routes), 1, 'once may be a mistake')
    await cluster.reconcile()
    t.equal(store.snapshot().count(routes), 0)
    api.install(routes)
    api.put(aRoute('r'))
    await cluster.reconcile()
    t.equal(store.snapshot().count(routes), 1)
  })
})

t.test('drift', async t => {
  await t.test('is what a list finds not as held, but for the first one', async t => {
    const world = await aWorld(t, { objects: [aService('a'), aService('b')] })
    const { api, cluster, counted, metrics } = world
    await complete(world)
    t.notMatch(await metrics.text(), /store_drift_total{/)
    api.put(aService('a', 81))
    api.remove(serviceKey('b'))
    await cluster.reconcile()
    t.ok(await counted('store_drift_total{kind="service"} 2'))
    t.ok(await counted('store_drift_total{kind="httproute.gateway.networking.k8s.io"} 0'))
  })

  await t.test('a restored database is adopted, Secrets too, and counted', async t => {
    const world = await aWorld(t, {
      kinds: [services, secrets],
      objects: [aService('a', 1), aSecret('tls', 'old')],
      wanted: [secretKey('tls')],
    })
    const { api, cluster, held, texts, counted } = world
    await complete(world)
    const moment = api.history.moment()
    api.put(aService('a', 2))
    api.put(aService('b', 2))
    api.put(aSecret('tls', 'new'))
    await cluster.reconcile()
    t.strictSame([held(), texts()], [{ a: 2, b: 2 }, ['new']])
    api.restore(moment)
    const { resets } = await cluster.reconcile()
    t.strictSame(resets, [services, secrets])
    t.strictSame([held(), texts()], [{ a: 1 }, ['old']])
    t.ok(await counted('store_resets_total{kind="service"} 1'))
    api.put(aSecret('tls', 'other'))
    await cluster.reconcile()
    t.strictSame(texts(), ['other'])
  })
})

t.test('Secrets and ConfigMaps', async t => {
  const kinds = [secrets, configMaps]

  await t.test('are listed as metadata; only what is referenced is read, by name, and ever held', async t => {
    const objects = [aSecret('tls'), aSecret('other', 'nobody asks for it')]
    const world = await aWorld(t, { kinds, objects, wanted: [secretKey('tls')] })
    const { api, store, texts } = world
    const told: string[] = []
    store.subscribe(({ updates }) => void told.push(...updates.map(({ locator }) => locator)))
    await complete(world)
    await world.cluster.reconcile()
    t.strictSame(texts(), ['hidden'])
    t.strictSame(told, [secretKey('tls')])
    const whole = api.requests.filter(
      ({ path, accept }) => path.endsWith('/secrets') && !/Partial/.test(accept),
    )
    t.ok(whole.length > 0)
    for (const { query } of whole) t.equal(query['fieldSelector'], 'metadata.name=tls')
  })

  await t.test('are read again only where the version differs', async t => {
    const objects = [aSecret('a', 'a1'), aSecret('b', 'b1')]
    const world = await aWorld(t, { kinds, objects, wanted: [secretKey('a'), secretKey('b')] })
    const { api, cluster, texts, asked } = world
    await complete(world)
    await quiet(world)
    await cluster.reconcile()
    asked()
    await cluster.reconcile()
    t.strictSame(asked().sort(), ['configmaps', 'secrets'])
    api.put(aSecret('b', 'b2'))
    await cluster.reconcile()
    t.strictSame(asked().sort(), ['configmaps', 'secrets', 'secrets/b'])
    t.strictSame(texts(), ['a1', 'b2'])
    api.remove(secretKey('a'))
    await cluster.reconcile()
    t.strictSame(texts(), ['b2'])
  })

  await t.test(
    'are read as soon as they are referenced, forgotten as soon as not, and may come back',
    async t => {
      const world = await aWorld(t, { kinds, objects: [aSecret('a'), aSecret('b')] })
      const { wanted, cluster, texts, store } = world
      await complete(world)
      let told = 0
      cluster.subscribe(() => told++)
      for (const round of ['first', 'second', 'third']) {
        wanted.change({ came: [secretKey('a'), secretKey('b')] })
        await until(`it is told, the ${round} time`, () => told > 0 && texts().length === 2)
        wanted.change({ went: [secretKey('a')] })
        t.equal(texts().length, 1)
        wanted.change({ went: [secretKey('b')] })
        t.strictSame(store.snapshot().list(secrets), [], 'although its version is the same each time')
        told = 0
      }
    },
  )

  await t.test('that are referenced no more while they are read do not come in', async t => {
    const world = await aWorld(t, { kinds, objects: [aSecret('a')] })
    const { client, wanted, store, cluster } = world
    const told: unknown[] = []
    store.subscribe(({ updates }) => void told.push(...updates))
    await complete(world)
    const release = client.hold()
    wanted.change({ came: [secretKey('a')] })
    const listed = cluster.reconcile()
    await until('it is read', () => client.waiting >= 3)
    wanted.change({ went: [secretKey('a')] })
    release()
    await listed
    await quiet(world)
    t.strictSame(told, [], 'not for a moment')
  })

  await t.test('that cannot be read are named, tried again with back-off, and waited for', async t => {
    const world = await aWorld(t, { kinds: [services, secrets], before: api => api.fail(secrets, 403) })
    const { api, cluster, clock, wanted, texts } = world
    let told = 0
    cluster.subscribe(() => told++)
    wanted.change({ came: [secretKey('a'), secretKey('gone')] })
    const sources = () =>
      cluster
        .degraded()
        .map(({ source }) => source)
        .sort()
    const all = [secrets, secretKey('a'), secretKey('gone')]
    await until('all have failed', () => sources().length === 3)
    t.strictSame(sources(), all.sort())
    t.notOk(cluster.complete())
    t.match(cluster.waitingFor(), [/^secret has not/, /^secret:shop\/a has not been read/, /gone/])
    api.heal(secrets)
    api.put(aSecret('a'))
    told = 0
    clock.advance(1300)
    await until('it is told', () => told > 0 && cluster.complete())
    t.strictSame(texts(), ['hidden'])
    t.strictSame(cluster.degraded(), [], 'one that is missing is found to be so')
  })

  await t.test('are waited for that follow from what was listed first', async t => {
    const world = await aWorld(t, { kinds: [services, secrets], objects: [aService('a'), aSecret('a')] })
    const { client, cluster, store, wanted, texts } = world
    let derive = (): void => undefined
    store.subscribe(({ updates }) =>
      updates.length === 0 ? undefined : new Promise<void>(resolve => (derive = resolve)),
    )
    await complete(world)
    const release = client.hold()
    wanted.change({ came: [secretKey('a')] })
    derive()
    await until('it is asked for', () => client.waiting === 1)
    t.notOk(cluster.complete(), 'what is referenced has just become known')
    t.strictSame(cluster.waitingFor(), ['secret:shop/a has not been read yet'])
    release()
    await complete(world)
    t.strictSame(texts(), ['hidden'])
    derive()
    await until('all is derived', () => store.isHeard())
    t.ok(cluster.complete())
    client.hold()
    wanted.change({ came: [secretKey('b')] })
    t.ok(cluster.complete(), 'and never falls again')
  })

  await t.test('are not asked for any more once it is closed', async t => {
    const world = await aWorld(t, {
      kinds,
      wanted: [secretKey('a')],
      before: api => api.fail(secrets, 'hang'),
    })
    const { api, cluster, clock, asked } = world
    await until('it is asked', () => api.requests.some(({ query }) => 'fieldSelector' in query))
    cluster.close()
    await quiet(world)
    asked()
    for (let minute = 0; minute < 5; minute++) {
      clock.advance(60_000)
      await quiet(world)
    }
    t.notMatch(asked().join(), /secrets|configmaps/)
  })
})

t.test('a hint', async t => {
  const theService = { kind: services, key: serviceKey('a') }

  await t.test('is read back at once, and a few times more until the object differs', async t => {
    const world = await aWorld(t, { kinds: [services], objects: [aService('a', 1)] })
    const { api, clock, cluster, held, asked, counted } = world
    await complete(world)
    asked()
    cluster.hint(theService)
    clock.advance(0)
    await quiet(world)
    api.put(aService('a', 2))
    for (const ms of [99, 1]) {
      t.strictSame([held(), asked().filter(isNamed)], [{ a: 1 }, ms === 99 ? ['services/a'] : []])
      clock.advance(ms)
      await quiet(world)
    }
    await until('it is read back', () => held()['a'] === 2)
    t.ok(await counted('hints_total{result="found"} 1'))
    clock.advance(10_000)
    await quiet(world)
    t.strictSame(asked().filter(isNamed), ['services/a'], 'and no more')
  })

  await t.test('about nothing that changes is tried five times in 3 s, and then given up', async t => {
    const world = await aWorld(t, { kinds: [services], objects: [aService('a', 1)] })
    const { clock, cluster, asked, counted } = world
    await complete(world)
    cluster.hint(theService)
    const at: number[] = []
    for (let ms = 0; ms <= 5000; ms += 100) {
      await quiet(world)
      clock.advance(ms === 0 ? 0 : 100)
      await quiet(world)
      if (asked().some(isNamed)) at.push(ms)
    }
    t.strictSame(at, [0, 100, 400, 1200, 3000])
    t.ok(await counted('hints_total{result="unchanged"} 1'))
  })

  await t.test('about an object that is being read back begins it anew', async t => {
    const world = await aWorld(t, { kinds: [services], objects: [aService('a', 1)] })
    const { api, clock, cluster, held } = world
    await complete(world)
    const pass = async (ms: number) => {
      clock.advance(ms)
      await quiet(world)
    }
    cluster.hint(theService)
    for (const ms of [0, 100, 300, 800]) await pass(ms)
    cluster.hint(theService)
    await pass(0)
    api.put(aService('a', 2))
    await pass(100)
    t.strictSame(held(), { a: 2 })
    api.put(aService('a', 3))
    await pass(300)
    t.strictSame(held(), { a: 3 }, 'two hints are two changes')
  })

  await t.test('that comes while the object is being looked at is not answered by that look', async t => {
    const world = await aWorld(t, { kinds: [services], objects: [aService('a', 1)] })
    const { api, client, clock, cluster, held } = world
    await complete(world)
    api.put(aService('a', 2))
    const release = client.hold()
    cluster.hint(theService)
    clock.advance(0)
    await until('it is looked at', () => client.waiting === 1)
    api.put(aService('a', 3))
    cluster.hint(theService)
    release()
    await until('the first is there', () => held()['a'] === 2)
    await quiet(world)
    clock.advance(0)
    await until('the second is there', () => held()['a'] === 3)
  })

  await t.test(
    'with a version is done when that is seen, or something newer, or that it is gone',
    async t => {
      const world = await aWorld(t, { kinds: [services], objects: [aService('a', 1)] })
      const { api, clock, cluster, held, asked } = world
      await complete(world)
      const next = (by: number) => String(Number(api.history.version) + by)
      const lookFor = async (version: string) => {
        asked()
        cluster.hint({ ...theService, version })
        clock.advance(0)
        await quiet(world)
        return asked().filter(isNamed).length
      }
      t.equal(await lookFor(api.history.version), 0, 'it is held already')
      const version = next(2)
      api.put(aService('a', 2))
      t.equal(await lookFor(version), 1)
      t.strictSame(held(), { a: 2 })
      api.remove(serviceKey('a'))
      clock.advance(100)
      await quiet(world)
      t.strictSame(held(), {}, 'it went on, for what it saw first was older')
      asked()
      clock.advance(5000)
      await quiet(world)
      t.strictSame(asked().filter(isNamed), [], 'a list at that version, without it, is an answer')
    },
  )

  await t.test('of a kind without a key is a list of that kind, one for many', async t => {
    const world = await aWorld(t)
    const { api, cluster, held, asked } = world
    await complete(world)
    asked()
    api.put(aService('a', 1))
    for (let each = 0; each < 20; each++) cluster.hint({ kind: services })
    await until('it is listed', () => held()['a'] === 1)
    await quiet(world)
    t.strictSame(
      asked()
        .filter(each => each !== 'namespaces')
        .sort(),
      ['services', 'services'],
    )
  })

  await t.test('about what is not read here is ignored and counted', async t => {
    const world = await aWorld(t, { kinds: [services, secrets], objects: [aSecret('a')] })
    const { clock, cluster, store, asked, counted } = world
    await complete(world)
    asked()
    cluster.hint({ kind: secrets, key: secretKey('a') })
    cluster.hint({ kind: 'widget.example.test', key: 'widget.example.test:shop/a' })
    cluster.hint({ kind: configMaps })
    cluster.hint({ kind: services, key: secretKey('a') })
    clock.advance(5000)
    await quiet(world)
    t.strictSame(
      asked().filter(each => each !== 'namespaces'),
      [],
    )
    t.strictSame(store.snapshot().list(secrets), [])
    t.ok(await counted('hints_ignored_total 4'))
  })

  await t.test('about a Secret that is referenced is read back', async t => {
    const world = await aWorld(t, { kinds: [secrets], objects: [aSecret('a')], wanted: [secretKey('a')] })
    const { api, clock, cluster, texts } = world
    await complete(world)
    await quiet(world)
    api.put(aSecret('a', 'new'))
    cluster.hint({ kind: secrets, key: secretKey('a'), version: api.history.version })
    clock.advance(0)
    await until('it is read', () => texts()[0] === 'new')
  })

  await t.test('among very many is a list of the kind', async t => {
    const world = await aWorld(t, { kinds: [services, routes] })
    const { api, client, clock, cluster, held, asked, counted } = world
    await complete(world)
    asked()
    const release = client.hold()
    for (let at = 0; at < 501; at++) cluster.hint({ kind: services, key: serviceKey(`s-${at}`) })
    for (let at = 0; at < 501; at++) cluster.hint({ kind: services, key: serviceKey(`s-${at}`) })
    clock.advance(0)
    await until('it is listed', () => client.waiting > 0)
    api.put(aService('s-7', 7))
    release()
    await quiet(world)
    t.strictSame(
      asked().filter(each => each !== 'namespaces'),
      ['services'],
      'once',
    )
    clock.advance(3000)
    await until('it is listed again, for what was admitted is written by now', () => held()['s-7'] === 7)
    t.ok(await counted('hints_total{result="flood"} 1'))
    clock.advance(3000)
    await quiet(world)
    asked()
    cluster.hint({ kind: services, key: serviceKey('s-7') })
    clock.advance(0)
    await quiet(world)
    t.strictSame(asked().filter(isNamed), ['services/s-7'], 'afterwards all is as before')
  })

  await t.test('is read back by few requests at a time', async t => {
    const world = await aWorld(t, { kinds: [services] })
    const { client, clock, cluster } = world
    await complete(world)
    const release = client.hold()
    for (let at = 0; at < 100; at++) cluster.hint({ kind: services, key: serviceKey(`s-${at}`) })
    clock.advance(0)
    await until('they are looked at', () => client.waiting > 0)
    for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
    t.ok(client.waiting <= 8, `${client.waiting} at a time`)
    release()
  })

  await t.test('that cannot be read back is tried again, and does no harm', async t => {
    const world = await aWorld(t, { kinds: [services], objects: [aService('a', 1)] })
    const { api, clock, cluster, held } = world
    await complete(world)
    api.put(aService('a', 2))
    api.fail(services, 500, 1)
    cluster.hint(theService)
    clock.advance(0)
    await quiet(world)
    t.strictSame([held(), cluster.degraded()], [{ a: 1 }, []])
    clock.advance(100)
    await until('it is read', () => held()['a'] === 2)
  })
})

const isNamed = (list: string) => list.includes('/')
