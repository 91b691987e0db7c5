/**
 * Whatever is published, accepted, refused, delayed or torn off in between: a proxy never has a route to a cluster
 * that it has not, and when all is quiet it has what the server has.
 */
import fc from 'fast-check'
import t from 'tap'
import { createMetrics, manualClock, silentLog } from '../../src/core/index.js'
import type { ManualClock } from '../../src/core/index.js'
import { typeUrls } from '../../src/envoy/index.js'
import type { Resource, ResourceType } from '../../src/envoy/index.js'
import { createMeters } from '../../src/xds/meters.js'
import { Registry } from '../../src/xds/registry.js'
import { listsAll } from '../../src/xds/snapshot.js'
import type { AnyRequest, Stream } from '../../src/xds/stream.js'
import { decodeAnswer } from '../support/xds-client.js'
import type { Answer, Protocol } from '../support/xds-client.js'
import { aCluster, aListener, aPublication, aRoute, someEndpoints } from '../support/xds-resources.js'

const gateway = 'gateway.gateway.networking.k8s.io:shop/public'
const turn = () => new Promise<void>(resolve => setImmediate(resolve))

/** What the user's objects say: every listener's route names a cluster that there is. */
interface World {
  /** Revision by cluster; a cluster of an odd revision above 100 is refused. */
  readonly clusters: Map<string, number>
  readonly ports: Map<string, number>
  /** Cluster by listener. */
  readonly listeners: Map<string, string>
}

const BAD = 777
/** Longer than all waiting in a run: only the end outlasts it. */
const PATIENCE = 1e7

function resourcesOf({ clusters, ports, listeners }: World): readonly Resource[] {
  return [
    ...[...clusters].map(([name, revision]) => aCluster(name, revision)),
    ...[...clusters.keys()].map(name => someEndpoints(name, 1000 + (ports.get(name) ?? 0))),
    ...[...listeners.keys()].map(name => aListener(name)),
    ...[...listeners].map(([name, cluster]) => aRoute(name, cluster)),
  ]
}

const key = ({ type, name }: Resource) => `${type} ${name}`
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** What a body says that the proxy acts upon. */
const routeTo = new Map<string, string>()
const isBad = new Set<string>()
for (const cluster of ['c0', 'c1', 'c2', 'c3', 'c4']) {
  isBad.add(hex(aCluster(cluster, BAD).bytes))
  for (const listener of ['l0', 'l1', 'l2']) routeTo.set(hex(aRoute(listener, cluster).bytes), cluster)
}

/** A proxy that does as Envoy does, over two queues in place of a connection. */
class ModelProxy {
  readonly toServer: { type: ResourceType; request: AnyRequest }[] = []
  readonly fromServer: Answer[] = []
  /** Body by name, in hex. */
  readonly held = {
    cluster: new Map<string, string>(),
    endpoint: new Map<string, string>(),
    listener: new Map<string, string>(),
    route: new Map<string, string>(),
    secret: new Map<string, string>(),
  }
  readonly #versions = new Map<string, string>()
  readonly #sotwVersions = new Map<ResourceType, string>()
  #nonces = new Map<ResourceType, string>()
  /** Clusters that take requests: their endpoints came after them. */
  readonly active = new Set<string>()
  readonly #asked = { endpoint: new Set<string>(), route: new Set<string>() }
  #first = true
  /** Requests of a new stream's beginning that the server has not had yet. */
  begins = 0
  readonly protocol: Protocol

  constructor(protocol: Protocol) {
    this.protocol = protocol
  }

  /** Begins a stream: all that is subscribed is asked for, with the versions that are held. */
  connect(): void {
    this.toServer.length = 0
    this.fromServer.length = 0
    this.#nonces = new Map()
    this.#first = true
    this.#request('cluster', [], [], true)
    if (this.#asked.endpoint.size > 0) this.#request('endpoint', [...this.#asked.endpoint], [], true)
    this.#request('listener', [], [], true)
    if (this.#asked.route.size > 0) this.#request('route', [...this.#asked.route], [], true)
    this.begins = this.toServer.length
  }

  #request(
    type: ResourceType,
    subscribe: readonly string[],
    unsubscribe: readonly string[],
    starts = false,
    ack = false,
    refusal?: string,
  ): void {
    const nonce = this.protocol === 'sotw' || ack ? (this.#nonces.get(type) ?? '') : ''
    const node = this.#first ? { id: 'model', cluster: gateway } : undefined
    this.#first = false
    const common = { node, typeUrl: typeUrls[type], nonce, refusal }
    if (this.protocol === 'delta') {
      const own = [...this.held[type].keys()].map(
        name => [name, this.#versions.get(`${type} ${name}`)!] as const,
      )
      const initialVersions = new Map(starts ? own : [])
      this.toServer.push({ type, request: { ...common, subscribe, unsubscribe, initialVersions } })
      return
    }
    const names = type === 'endpoint' || type === 'route' ? [...this.#asked[type]] : []
    const version = this.#sotwVersions.get(type) ?? ''
    this.toServer.push({ type, request: { ...common, names, version } })
  }

  /** Takes the next response, if there is one. */
  receive(): void {
    const answer = this.fromServer.shift()
    if (answer === undefined) return
    const { type } = answer
    this.#nonces.set(type, answer.nonce)
    if (type === 'cluster' && [...answer.bodies.values()].some(body => isBad.has(hex(body)))) {
      this.#request(type, [], [], false, true, 'a bad cluster')
      return
    }
    if (answer.names.every(name => listsAll(type) || this.#wants(type, name)))
      this.#sotwVersions.set(type, answer.version)
    else this.#sotwVersions.delete(type)
    const changed = this.#apply(answer)
    if (type === 'cluster') this.#clustersChanged(changed)
    if (type === 'endpoint')
      for (const name of answer.names) if (this.held.cluster.has(name)) this.active.add(name)
    if (type === 'listener') this.#resubscribe('route', [...this.held.listener.keys()])
    this.#request(type, [], [], false, true)
  }

  #apply(answer: Answer): readonly string[] {
    const held = this.held[answer.type]
    const whole = listsAll(answer.type)
    const absent = this.protocol === 'sotw' ? [...held.keys()].filter(name => !answer.bodies.has(name)) : []
    for (const name of whole ? [...absent, ...answer.removed] : []) held.delete(name)
    const changed: string[] = []
    for (const [name, body] of answer.bodies) {
      if (!whole && !this.#wants(answer.type, name)) continue
      if (held.get(name) !== hex(body)) changed.push(name)
      held.set(name, hex(body))
      this.#versions.set(`${answer.type} ${name}`, answer.resources.get(name)!)
    }
    return changed
  }

  #wants(type: ResourceType, name: string): boolean {
    return (type === 'endpoint' || type === 'route') && this.#asked[type].has(name)
  }

  #clustersChanged(changed: readonly string[]): void {
    const { cluster, endpoint } = this.held
    for (const name of this.active) if (!cluster.has(name)) this.active.delete(name)
    for (const name of changed) if (!this.active.has(name)) endpoint.delete(name)
    this.#resubscribe('endpoint', [...cluster.keys()])
  }

  #resubscribe(type: 'endpoint' | 'route', names: readonly string[]): void {
    const asked = this.#asked[type]
    const [more, less] = [
      names.filter(name => !asked.has(name)),
      [...asked].filter(name => !names.includes(name)),
    ]
    if (more.length + less.length === 0) return
    for (const name of less) {
      asked.delete(name)
      this.held[type].delete(name)
    }
    for (const name of more) asked.add(name)
    // SotW cannot say "I have that version, but let go of this resource of it": a client that is torn off between asking
    // again and being answered keeps quiet of its version, or else it would wait for the next change.
    if (less.length > 0) this.#sotwVersions.delete(type)
    this.#request(type, more, less)
  }

  /** A route that the proxy serves and whose cluster takes no requests. */
  whyBroken(): string | undefined {
    for (const name of this.held.listener.keys()) {
      const to = routeTo.get(this.held.route.get(name) ?? '')
      if (to !== undefined && !this.active.has(to)) return `${name} routes to ${to}, which takes no requests`
    }
    return undefined
  }
}

class Harness {
  readonly clock: ManualClock = manualClock(1_000_000)
  readonly registry = new Registry({
    clock: this.clock,
    log: silentLog,
    meters: createMeters(createMetrics()),
    warmth: () => new Promise(() => undefined),
    limits: { warmMs: PATIENCE, removalMs: 15_000 },
    maxBytes: 400,
    redact: text => text,
  })
  readonly world: World = {
    clusters: new Map([['c0', 1]]),
    ports: new Map(),
    listeners: new Map([['l0', 'c0']]),
  }
  #published = new Map<string, Resource>()
  readonly proxy: ModelProxy
  #stream: Stream | undefined
  #streams = 0

  constructor(protocol: Protocol) {
    this.proxy = new ModelProxy(protocol)
    this.publish()
    this.connect()
  }

  connect(): void {
    if (this.#stream) this.registry.closed(this.#stream)
    // A proxy that holds nothing is a new one: nothing is held back for it, were its first clusters bad.
    if (this.proxy.held.cluster.size === 0) this.heal()
    const { proxy, clock } = this
    const id = ++this.#streams
    const node = { id: 'model', cluster: gateway }
    this.#stream = {
      ...{
        id,
        protocol: proxy.protocol,
        only: undefined,
        node,
        gateway,
        address: '',
        connectedAt: clock.now(),
      },
      writable: true,
      write: bytes => {
        if (id === this.#streams) proxy.fromServer.push(decodeAnswer(proxy.protocol, bytes))
      },
      end: () => undefined,
    }
    this.registry.opened(this.#stream)
    proxy.connect()
  }

  publish(): void {
    const next = new Map(resourcesOf(this.world).map(resource => [key(resource), resource]))
    const gone = [...this.#published.values()].filter(resource => !next.has(key(resource)))
    const removed = gone.map(({ type, name }) => [type, name] as const)
    this.#published = next
    this.registry.publish([aPublication(gateway, [...next.values()], removed)])
  }

  /** Time passes; a proxy that comes back has asked for everything by then. */
  wait(ms: number): void {
    while (this.proxy.begins > 0) this.serve()
    this.clock.advance(ms)
  }

  /** The user corrects what is bad. */
  heal(): void {
    for (const [name, revision] of this.world.clusters) if (revision === BAD) this.world.clusters.set(name, 5)
    this.publish()
  }

  serve(): void {
    const next = this.proxy.toServer.shift()
    if (this.proxy.begins > 0) this.proxy.begins--
    if (next && this.#stream) this.registry.request(this.#stream, next.type, next.request)
  }

  /** Everything is delivered and time passes until nothing comes any more. */
  async quiesce(): Promise<void> {
    let delivered = 0
    for (let round = 0; round < 8; round++) {
      await turn()
      while (this.proxy.toServer.length + this.proxy.fromServer.length > 0) {
        this.serve()
        this.proxy.receive()
        if (++delivered > 2000) throw new Error('it never ends')
      }
      this.clock.advance(round % 2 ? PATIENCE : 15_000)
    }
  }

  /** What the proxy has and should not, or has not and should. */
  difference(): readonly string[] {
    const { clusters, listeners } = this.world
    const wanted = (type: ResourceType) =>
      new Map(
        resourcesOf(this.world)
          .filter(resource => resource.type === type)
          .map(resource => [resource.name, hex(resource.bytes)]),
      )
    const { held, active } = this.proxy
    const types = ['cluster', 'endpoint', 'listener', 'route'] as const
    const differs = types.filter(type => !sameMap(held[type], wanted(type)))
    const cold = [...clusters.keys()].filter(name => !active.has(name))
    return [...differs, ...cold, ...(listeners.size < 0 ? ['none'] : [])]
  }
}

const sameMap = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>) =>
  a.size === b.size && [...a].every(([name, value]) => b.get(name) === value)

/** One step, as data, so that a counterexample can be read. */
type Edit =
  | { readonly cluster: string; readonly revision: number }
  | { readonly endpoints: string; readonly port: number }
  | { readonly listener: string; readonly to: string }
  | { readonly dropCluster: string }
  | { readonly dropListener: string }
type Step =
  'serve' | 'receive' | 'reconnect' | { readonly advance: number } | { readonly publish: readonly Edit[] }

const cluster = fc.constantFrom('c0', 'c1', 'c2', 'c3', 'c4')
const listener = fc.constantFrom('l0', 'l1', 'l2')
const anEdit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ cluster, revision: fc.constantFrom(1, 2, 3, BAD) }),
  fc.record({ endpoints: cluster, port: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ listener, to: cluster }),
  fc.record({ dropCluster: cluster }),
  fc.record({ dropListener: listener }),
)
const steps = fc.array(
  fc.oneof<fc.WeightedArbitrary<Step>[]>(
    { weight: 3, arbitrary: fc.record({ publish: fc.array(anEdit, { minLength: 1, maxLength: 3 }) }) },
    { weight: 8, arbitrary: fc.constant('serve') },
    { weight: 8, arbitrary: fc.constant('receive') },
    { weight: 2, arbitrary: fc.record({ advance: fc.integer({ min: 1, max: 20_000 }) }) },
    { weight: 1, arbitrary: fc.constant('reconnect') },
  ),
  { maxLength: 150, size: 'max' },
)

/** A listener goes; before the proxy has heard of it, it comes back with another route and goes again. */
const goneAndChanged: Step[] = [
  { publish: [{ listener: 'l2', to: 'c4' }] },
  ...(['receive', 'serve'] as const),
  { publish: [{ dropListener: 'l0' }] },
  ...(['receive', 'serve', 'serve'] as const),
  { publish: [{ listener: 'l0', to: 'c1' }] },
  { publish: [{ dropListener: 'l0' }, { listener: 'l1', to: 'c0' }] },
  ...(['receive', 'receive', 'receive'] as const),
]

function edit({ clusters, ports, listeners }: World, one: Edit): void {
  if ('cluster' in one) clusters.set(one.cluster, one.revision)
  else if ('endpoints' in one) ports.set(one.endpoints, one.port)
  else if ('listener' in one) {
    if (!clusters.has(one.to)) clusters.set(one.to, 1)
    listeners.set(one.listener, one.to)
  } else if ('dropListener' in one) listeners.delete(one.dropListener)
  else if (![...listeners.values()].includes(one.dropCluster)) clusters.delete(one.dropCluster)
}

function take(harness: Harness, step: Step): void {
  if (step === 'serve') harness.serve()
  else if (step === 'receive') harness.proxy.receive()
  else if (step === 'reconnect') harness.connect()
  else if ('advance' in step) harness.wait(step.advance)
  else {
    for (const one of step.publish) edit(harness.world, one)
    harness.publish()
  }
}

for (const protocol of ['sotw', 'delta'] as const) {
  t.test(`${protocol}: never a route without its cluster, and in the end the server's state`, async t => {
    let [published, hops] = [0, 0]
    await fc.assert(
      fc.asyncProperty(steps, async list => {
        const harness = new Harness(protocol)
        await harness.quiesce()
        for (const step of list) {
          take(harness, step)
          await turn()
          hops++
          const broken = harness.proxy.whyBroken()
          if (broken !== undefined) throw new Error(broken)
        }
        harness.heal()
        published++
        await harness.quiesce()
        const difference = harness.difference()
        if (difference.length > 0) throw new Error(`differs: ${difference.join(', ')}`)
      }),
      { numRuns: Number(process.env.RUNS ?? 150), examples: [[goneAndChanged]] },
    )
    t.ok(published >= 150 && hops > 1000, `${published} runs, ${hops} steps`)
  })
}
