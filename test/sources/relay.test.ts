import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createMetrics, locatorOf, systemClock } from '../../src/core/index.js'
import type { Clock, KindId, KubeObject, Log, Metrics } from '../../src/core/index.js'
import { ids } from '../../src/kinds/index.js'
import { connect, type KubeClient } from '../../src/kube/index.js'
import { startRelay, type Relay, type RelayOptions } from '../../src/sources/index.js'
import { hintMessage, syncOf } from '../../src/sources/relay/messages.js'
import { Waiting } from '../../src/sources/relay/waiting.js'
import { ApiServer } from '../support/api-server.js'
import { Replica, type Trouble } from '../support/replica.js'

// For the whole file; machines are busy.
t.setTimeout(120_000)

const followed = [ids.Service, ids.HTTPRoute, ids.GatewayClass]
const all: readonly KindId[] = [...followed, ids.Secret]

/** What takes a second takes 50 ms; only a POST, which may take ten, is left a quarter of them: machines are busy. */
const hurried: Clock = {
  now: () => systemClock.now(),
  after: (ms, run) => systemClock.after(ms / (ms === 10_000 ? 4 : 20), run),
}

let stamps = 0

/** Each has a label that no other has ever had. */
function stamped(
  apiVersion: string,
  kind: string,
  name: string,
  more: object,
  namespace?: string,
): KubeObject {
  const labels = { stamp: `s${++stamps}` }
  const metadata = { name, labels, ...(namespace !== undefined && { namespace }) }
  return { apiVersion, kind, metadata, ...more }
}

const service = (name: string, more: object = {}) =>
  stamped('v1', 'Service', name, { spec: { ports: [{ port: 80 }] }, ...more }, 'shop')
const route = (name: string) =>
  stamped('gateway.networking.k8s.io/v1', 'HTTPRoute', name, { spec: { hostnames: ['a.test'] } }, 'shop')
const gatewayClass = (name: string) =>
  stamped('gateway.networking.k8s.io/v1', 'GatewayClass', name, { spec: { controllerName: 'a.test/b' } })
const secret = (name: string) => stamped('v1', 'Secret', name, { data: { key: 'aGlkZGVu' } }, 'shop')

function linesOf(objects: readonly KubeObject[]): string {
  return objects
    .map(object => {
      const { uid, resourceVersion, labels } = object.metadata
      return `${locatorOf(object)} ${uid ?? ''} ${resourceVersion ?? ''} ${labels?.['stamp'] ?? ''}`
    })
    .sort()
    .join('\n')
}

/** An API server, a relay, and its receivers. */
class Cluster {
  readonly metrics: Metrics = createMetrics()
  readonly replicas: Replica[] = []
  readonly #waiting = new Set<() => void>()
  #relay: Relay | undefined

  readonly api: ApiServer
  readonly client: KubeClient

  private constructor(api: ApiServer, client: KubeClient) {
    this.api = api
    this.client = client
  }

  static async start(t: { teardown(undo: () => Promise<void>): void }): Promise<Cluster> {
    const api = await ApiServer.start()
    const cluster = new Cluster(api, await connect({ kubeconfig: api.kubeconfig }))
    t.teardown(() => cluster.close())
    return cluster
  }

  get relay(): Relay {
    if (this.#relay === undefined) throw new Error('there is no relay')
    return this.#relay
  }

  get replica(): Replica {
    const [replica] = this.replicas
    if (replica === undefined) throw new Error('there is no replica')
    return replica
  }

  async addReplica(host?: string, port?: number): Promise<Replica> {
    const { client } = this
    const at = { ...(host !== undefined && { host }), ...(port !== undefined && { port }) }
    const replica = await Replica.start({ client, kinds: followed, onNews: () => this.#tell(), ...at })
    this.replicas.push(replica)
    return replica
  }

  startRelay(options: Partial<RelayOptions> = {}): void {
    this.#relay = startRelay({
      ...{ client: this.client, kinds: all, credentials: {}, clock: hurried, metrics: this.metrics },
      log: this.#log(),
      targets: this.replicas.map(({ url }) => url),
      ...options,
    })
  }

  isEqual(replica: Replica): boolean {
    return followed.every(kind => this.there(replica, kind) === linesOf(this.api.objects(kind)))
  }

  there({ store }: Replica, kind: KindId): string {
    return linesOf(store.snapshot().list(kind))
  }

  async untilEqual(replicas: readonly Replica[] = this.replicas): Promise<void> {
    await this.until('the state of the API server', () => replicas.every(replica => this.isEqual(replica)))
  }

  /** Resolves as soon as it is so; asked again whenever a replica has been told something, or the relay says something. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const end = Date.now() + 15_000
    while (!(await isSo())) {
      if (Date.now() > end) throw new Error(`it never came about: ${what}`)
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, 15_000)
        this.#waiting.add(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  /** The sum of a metric over all its labels, or over those that are named. */
  async count(name: string, labels = ''): Promise<number> {
    const text = await this.metrics.text()
    const lines = text.split('\n').filter(line => line.startsWith(`gatewright_relay_${name}`))
    return lines
      .filter(line => line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** In a turn of its own: what is told of is done by then. */
  #tell(): void {
    setImmediate(() => {
      for (const go of this.#waiting) go()
      this.#waiting.clear()
    })
  }

  #log(): Log {
    const tell = () => this.#tell()
    return { debug: tell, info: tell, warn: tell, error: tell, child: () => this.#log() }
  }

  async close(): Promise<void> {
    await this.#relay?.close()
    await Promise.all(this.replicas.map(replica => replica.close()))
    this.client.close()
    await this.api.close()
  }
}

async function aCluster(
  t: { teardown(undo: () => Promise<void>): void },
  options: Partial<RelayOptions> = {},
): Promise<Cluster> {
  const cluster = await Cluster.start(t)
  cluster.api.put(service('a'))
  cluster.api.put(service('b'))
  cluster.api.put(route('a'))
  cluster.api.put(gatewayClass('a'))
  await cluster.addReplica()
  cluster.startRelay(options)
  await cluster.untilEqual()
  return cluster
}

t.test('what is there, and each change, reaches every receiver', async t => {
  const cluster = await Cluster.start(t)
  const { api } = cluster
  for (let at = 0; at < 200; at++) {
    const object = service(`many-${at}`)
    api.put({
      ...object,
      metadata: { ...object.metadata, annotations: { text: 'x'.repeat(8000) } },
    })
  }
  api.put(gatewayClass('a'))
  await cluster.addReplica()
  await cluster.addReplica()
  cluster.startRelay()
  t.notOk(cluster.relay.ready(), 'nothing is watched yet')
  await cluster.untilEqual()
  t.match(cluster.replica.bodies.join(), /"part":2,"of":2/, 'a long list comes in parts')
  t.ok(Math.max(...cluster.replica.bodies.map(({ length }) => length)) < 1.1 * (1 << 20), 'of about a MiB')
  api.put(service('many-7'))
  api.put(service('new'))
  api.remove('service:shop/many-8')
  api.remove('service:shop/many-9')
  api.put(service('many-9'))
  api.put(gatewayClass('b'))
  await cluster.untilEqual()
  t.ok(cluster.relay.ready())
  t.strictSame(cluster.relay.degraded(), [])
  t.equal(await cluster.count('events_total', 'kind="service"'), 5)
  t.equal(await cluster.count('relists_total'), 4, 'each kind was listed once')
})

t.test('a watch that ends goes on where it was', async t => {
  const cluster = await aCluster(t)
  const { api, replica } = cluster
  api.dropWatches()
  api.put(service('a'))
  api.remove('service:shop/b')
  await cluster.untilEqual()
  api.dropWatches(ids.Service)
  api.put(service('c'))
  await cluster.untilEqual()
  t.equal(await cluster.count('relists_total'), 4, 'nothing was listed again')
  t.ok((await cluster.count('watch_restarts_total', 'kind="service"')) >= 2)
  t.equal(replica.counts.stale, 0)
})

t.test('a version that is too old: a new list, and what is gone is gone', async t => {
  const cluster = await aCluster(t)
  const { api } = cluster
  await api.down()
  api.remove('service:shop/b')
  api.put(service('c'))
  api.compact()
  await api.up()
  await cluster.untilEqual()
  t.match(cluster.there(cluster.replica, ids.Service), /shop\/a .*\n.*shop\/c /)
  t.ok((await cluster.count('relists_total', 'kind="service"')) >= 2)
})

t.test('an API server that is away is said to be, and followed again', async t => {
  const cluster = await aCluster(t)
  const { api } = cluster
  await api.down()
  await cluster.until('four kinds cannot be watched', () => cluster.relay.degraded().length === 4)
  t.match(cluster.relay.degraded()[0]?.message, /failed|UNREACHABLE|ECONNREFUSED/)
  api.put(service('a'))
  api.remove('httproute.gateway.networking.k8s.io:shop/a')
  await api.up()
  await cluster.untilEqual()
  await cluster.until('nothing is amiss', () => cluster.relay.degraded().length === 0)
  t.ok(cluster.relay.ready())
})

/** Two replicas that had everything, and one of them is away now. */
async function oneAway(t: Test) {
  const cluster = await aCluster(t)
  const { api, replica } = cluster
  const other = await cluster.addReplica()
  await cluster.relay.close()
  cluster.startRelay()
  await cluster.untilEqual()
  await replica.down()
  return { cluster, api, replica, other }
}

t.test('a receiver', async t => {
  await t.test('that is away gets what waited; the newest of each object, in order', async t => {
    const { cluster, api, replica, other } = await oneAway(t)
    for (let at = 0; at < 20; at++) api.put(service('a'))
    api.remove('service:shop/b')
    api.put(service('b'))
    await cluster.untilEqual([other])
    t.notOk(cluster.isEqual(replica))
    await cluster.until('it is missed', () => cluster.relay.degraded().length === 1)
    t.match(cluster.relay.degraded(), [
      { source: new URL(replica.url).host, message: /ECONN(REFUSED|RESET)/ },
    ])
    const before = replica.counts.accepted
    await replica.up()
    await cluster.untilEqual()
    t.ok(replica.counts.accepted - before < 10, 'not all twenty states of a were sent')
    t.equal(await cluster.count('relists_total'), 8)
    t.equal(await cluster.count('overflows_total'), 0)
  })

  await t.test('that begins anew is told of what changes after its own list', async t => {
    const cluster = await aCluster(t)
    const { api, replica } = cluster
    await replica.down()
    api.put(service('a'))
    await replica.restart()
    await replica.up()
    api.put(service('b'))
    api.remove('service:shop/a')
    await cluster.untilEqual()
    t.pass()
  })

  await t.test('that too much waits for is sent SYNCs', async t => {
    const cluster = await aCluster(t, { bufferBytes: 2000 })
    const { api, replica } = cluster
    const hints = () => replica.hints.filter(({ kind }) => kind === ids.Secret).length
    await cluster.until('Secrets are hinted at', () => hints() > 0)
    const before = hints()
    await replica.down()
    for (let at = 0; at < 40; at++) api.put(service(`many-${at}`))
    api.remove('service:shop/a')
    await cluster.until('overflows_total', async () => (await cluster.count('overflows_total')) >= 1)
    await replica.up()
    await cluster.untilEqual()
    await cluster.until('Secrets are hinted at again', () => hints() > before)
    t.equal(await cluster.count('overflows_total'), 1)
  })

  await t.test('that never answers holds up no other', async t => {
    const cluster = await aCluster(t)
    const other = await cluster.addReplica()
    await cluster.relay.close()
    cluster.replica.forever = 'hang'
    cluster.startRelay()
    cluster.api.put(service('c'))
    await cluster.untilEqual([other])
    t.notOk(cluster.isEqual(cluster.replica))
    await cluster.until('it is missed', () => cluster.relay.degraded().length === 1)
    t.match(cluster.relay.degraded()[0]?.message, /no answer within 10000 ms/)
    cluster.replica.forever = undefined
    await cluster.untilEqual()
  })

  const troubles: readonly (readonly [string, readonly Trouble[]])[] = [
    ['has too much to do', [{ status: 429, headers: { 'retry-after': '1' } }, { status: 429 }]],
    ['fails', [{ status: 500 }, { status: 503 }, { status: 502 }]],
    ['does not know the sender yet', [{ status: 401 }, { status: 403 }]],
    ['takes what it does not answer', ['unanswered', 'unanswered']],
  ]
  for (const [what, met] of troubles) {
    await t.test(`that ${what} is told again`, async t => {
      const cluster = await aCluster(t)
      const { api, replica } = cluster
      replica.troubles.push(...met)
      api.put(service('a'))
      api.remove('service:shop/b')
      api.put(gatewayClass('b'))
      await cluster.until('all of it has happened', () => replica.troubles.length === 0)
      await cluster.untilEqual()
      t.equal(await cluster.count('refused_total'), 0)
    })
  }

  await t.test('that finds a POST too large gets it in halves', async t => {
    const { cluster, api, replica, other } = await oneAway(t)
    api.put(service('a'))
    await cluster.until('it is missed', () => cluster.relay.degraded().length === 1)
    for (let at = 0; at < 8; at++) api.put(service(`many-${at}`))
    await cluster.untilEqual([other])
    replica.troubles.push('none', { status: 413 }, { status: 413 })
    await replica.up()
    await cluster.untilEqual()
    t.equal(replica.troubles.length, 0)
    t.equal(await cluster.count('refused_total'), 0)
  })

  await t.test('that refuses a batch is not asked for ever: a SYNC follows', async t => {
    const cluster = await aCluster(t)
    const { api, replica } = cluster
    replica.troubles.push({ status: 422 })
    api.put(service('a'))
    await cluster.until('refused_total', async () => (await cluster.count('refused_total')) >= 1)
    await cluster.untilEqual()
    t.ok((await cluster.count('syncs_total', 'kind="service"')) >= 2, 'one at first, one for this')
  })
})

t.test('kinds are followed each on its own', async t => {
  await t.test('one that may not be listed holds up no other', async t => {
    const cluster = await Cluster.start(t)
    const { api } = cluster
    api.fail(ids.Service, 403)
    api.put(service('a'))
    api.put(route('a'))
    const replica = await cluster.addReplica()
    cluster.startRelay()
    const route_ = () => cluster.there(replica, ids.HTTPRoute)
    await cluster.until('the route is there', () => route_() === linesOf(api.objects(ids.HTTPRoute)))
    await cluster.until('it is said', () => cluster.relay.degraded().length === 1)
    t.match(cluster.relay.degraded(), [{ source: ids.Service, message: /403/ }])
    t.notOk(cluster.relay.ready())
    api.heal(ids.Service)
    await cluster.untilEqual()
    await cluster.until(
      'all is watched',
      () => cluster.relay.ready() && cluster.relay.degraded().length === 0,
    )
  })

  await t.test('one that is not installed is waited for, and missed when it is gone', async t => {
    const cluster = await Cluster.start(t)
    const { api } = cluster
    api.uninstall(ids.HTTPRoute)
    const replica = await cluster.addReplica()
    cluster.startRelay()
    await cluster.until('all others are watched', () => cluster.relay.ready())
    t.strictSame(cluster.relay.degraded(), [])
    api.install(ids.HTTPRoute)
    api.put(route('a'))
    await cluster.untilEqual()
    t.not(cluster.there(replica, ids.HTTPRoute), '')
    api.uninstall(ids.HTTPRoute)
    await cluster.untilEqual()
    t.equal(cluster.there(replica, ids.HTTPRoute), '')
    await cluster.until('a hint of the kind', () => replica.hints.some(({ kind }) => kind === ids.HTTPRoute))
  })
})

t.test('an older state that is restored is taken over', async t => {
  const cluster = await aCluster(t)
  const { api, replica } = cluster
  const moment = api.history.moment()
  api.put(service('a'))
  api.put(service('lost'))
  api.remove('service:shop/b')
  api.put(route('lost'))
  await cluster.untilEqual()
  await api.down()
  api.restore(moment)
  await api.up()
  await cluster.untilEqual()
  t.match(cluster.there(replica, ids.Service), /shop\/b/)
  t.notMatch(cluster.there(replica, ids.Service), /lost/)
  t.match(replica.hints, [{ kind: /./ }])
  api.put(service('after'))
  await cluster.untilEqual()
})

t.test('of Secrets nothing but metadata is read, and only hints are sent', async t => {
  const cluster = await aCluster(t)
  const { api, replica } = cluster
  await cluster.until('a hint of the kind', () => replica.hints.length === 1)
  t.strictSame(replica.hints, [{ kind: ids.Secret }])
  const { uid, resourceVersion } = api.put(secret('tls')).metadata
  const key = 'secret:shop/tls'
  await cluster.until('a hint', () => replica.hints.length === 2)
  t.strictSame(replica.hints[1], {
    kind: ids.Secret,
    key,
    uid,
    operation: 'CREATE',
    version: resourceVersion,
  })
  api.remove(key)
  await cluster.until('another hint', () => replica.hints.length === 3)
  t.match(replica.hints[2], { key, uid, operation: 'DELETE' })
  await api.down()
  api.compact()
  await api.up()
  await cluster.until('one after a gap', () => replica.hints.length === 4)
  t.strictSame(replica.hints[3], { kind: ids.Secret })
  const asked = api.requests.filter(({ path }) => path.endsWith('/secrets'))
  t.ok(asked.length > 1)
  t.ok(asked.every(({ accept }) => accept.includes('as=PartialObjectMetadata')))
  t.notMatch(replica.bodies.join(), /aGlkZGVu/)
})

t.test('each address of a host is a receiver; one that comes later is sent everything first', async t => {
  const cluster = await aCluster(t)
  await cluster.relay.close()
  const { port } = cluster.replica
  const second = await cluster.addReplica('127.0.0.2', port)
  let addresses = ['127.0.0.1']
  const resolve = () => Promise.resolve(addresses)
  cluster.startRelay({ targets: [`http://replicas.test:${port}`], resolve })
  cluster.api.put(service('c'))
  await cluster.untilEqual([cluster.replica])
  t.equal(cluster.there(second, ids.Service), '')
  addresses = ['127.0.0.1', '127.0.0.2']
  await cluster.untilEqual()
  addresses = ['127.0.0.2']
  await cluster.until(
    'one is let go',
    async () => (await cluster.count('waiting_bytes', 'target="127.0.0.1')) === 0,
  )
  cluster.api.put(service('d'))
  await cluster.untilEqual([second])
})

t.test('what waits for a receiver', async t => {
  const kind = ids.Service
  const of = (name: string, version = '1') => hintMessage({ kind, key: `service:shop/${name}`, version })
  const texts = (waiting: Waiting) => waiting.take().map(({ text }) => text)

  t.test('is the newest of each object, in the place of the oldest', t => {
    const waiting = new Waiting()
    for (const message of [of('a'), of('b'), of('a', '2')]) waiting.put(message)
    t.equal(waiting.bytes, of('a').bytes + of('b').bytes)
    t.strictSame(texts(waiting), [of('a', '2').text, of('b').text])
    t.equal(waiting.bytes, 0)
    t.end()
  })

  await t.test('gives way to a SYNC where it is older than the list, and else follows it', async t => {
    const waiting = new Waiting()
    const other = hintMessage({ kind: ids.Secret })
    waiting.put(of('old'))
    waiting.put(of('twice'))
    waiting.put(other)
    const mark = waiting.mark()
    waiting.put(of('new'))
    waiting.put(of('twice', '2'))
    const parts = await syncOf(kind, { items: [], version: '5' })
    waiting.putSync(kind, parts, mark)
    const [sync] = parts
    t.strictSame(texts(waiting), [other.text, sync?.text, of('twice', '2').text, of('new').text])
    t.match(JSON.parse(sync?.text ?? ''), {
      type: 'SYNC',
      scope: { kind },
      version: '5',
      part: 1,
      of: 1,
      items: [],
    })
  })

  t.test('goes a thousand at a time', t => {
    const waiting = new Waiting()
    for (let at = 0; at < 1001; at++) waiting.put(of(`n${at}`))
    t.strictSame([waiting.take().length, waiting.take().length, waiting.take().length], [1000, 1, 0])
    t.end()
  })
})

const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('edit' as const), at: fc.nat(11) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('remove' as const), at: fc.nat(11) }) },
  fc.record({
    do: fc.constantFrom(
      'drop',
      'compact',
      'api down',
      'api up',
      'restore',
      'replica down',
      'replica up',
      'restart',
      'uninstall',
      'install',
      'heal',
    ),
  }),
  fc.record({
    do: fc.constant('fail' as const),
    kind: fc.constantFrom(...followed),
    how: fc.constantFrom(403, 500, 'reset' as const),
  }),
  fc.record({
    do: fc.constant('trouble' as const),
    trouble: fc.constantFrom<Trouble>(
      'unanswered',
      'hang',
      { status: 429 },
      { status: 500 },
      { status: 413 },
      { status: 400 },
    ),
  }),
  fc.record({ do: fc.constant('turn' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const makers = [service, route, gatewayClass]
const objectAt = (at: number) => (makers[at % 3] ?? service)(`n${Math.floor(at / 3)}`)

/** A cluster to which everything happens. */
class Ordeal {
  readonly #cluster: Cluster
  #isUp = true
  #isReplicaUp = true
  #moment

  constructor(cluster: Cluster) {
    this.#cluster = cluster
    this.#moment = cluster.api.history.moment()
  }

  async take(step: Step): Promise<void> {
    const { api, replica } = this.#cluster
    if (step.do === 'edit') api.put(objectAt(step.at))
    else if (step.do === 'remove') api.remove(locatorOf(objectAt(step.at)))
    else if (step.do === 'fail') api.fail(step.kind, step.how)
    else if (step.do === 'trouble') replica.troubles.push(step.trouble)
    else if (step.do === 'turn') await new Promise(resolve => setTimeout(resolve, 1))
    else await this.#happen(step.do)
  }

  /** All faults end. */
  async mend(): Promise<void> {
    const { api, replica } = this.#cluster
    await this.#happen('heal')
    replica.troubles.length = 0
    if (!this.#isReplicaUp) await this.#happen('replica up')
    if (!this.#isUp) await this.#happen('api up')
    api.install(ids.HTTPRoute)
    await this.#cluster.untilEqual()
  }

  async #happen(what: Extract<Step, { do: string }>['do']): Promise<void> {
    const { api, replica } = this.#cluster
    if (what === 'drop') api.dropWatches()
    else if (what === 'compact') api.compact()
    else if (what === 'uninstall') api.uninstall(ids.HTTPRoute)
    else if (what === 'install') api.install(ids.HTTPRoute)
    else if (what === 'heal') for (const kind of followed) api.heal(kind)
    else if (what === 'restart') await replica.restart()
    else if (what === 'restore') await this.#restore()
    else if (what.startsWith('api')) await this.#api(what === 'api up')
    else await this.#replica(what === 'replica up')
  }

  /** Versions that were lost come again, for other objects: the relay has to see that before. */
  async #restore(): Promise<void> {
    await this.mend()
    this.#cluster.api.restore(this.#moment)
    await this.#cluster.untilEqual()
    await this.#cluster.until('all is watched', () => this.#cluster.relay.degraded().length === 0)
    this.#moment = this.#cluster.api.history.moment()
  }

  async #api(isUp: boolean): Promise<void> {
    if (isUp === this.#isUp) return
    this.#isUp = isUp
    await (isUp ? this.#cluster.api.up() : this.#cluster.api.down())
  }

  async #replica(isUp: boolean): Promise<void> {
    if (isUp === this.#isReplicaUp) return
    this.#isReplicaUp = isUp
    await (isUp ? this.#cluster.replica.up() : this.#cluster.replica.down())
  }
}

t.test('whatever happens, the receiver comes to the state of the API server', async t => {
  const cluster = await aCluster(t, { bufferBytes: 3000 })
  const ordeal = new Ordeal(cluster)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async steps => {
      for (const each of steps) await ordeal.take(each)
      await ordeal.mend()
    }),
    { numRuns: 25, endOnFailure: true },
  )
  t.ok(cluster.isEqual(cluster.replica))
})
