import type { Locator } from '../core/index.js'
import type { Resource, ResourceType } from '../envoy/index.js'
import { typeState } from './clients.js'
import { isEmptyRemoval, removalBetween } from './order.js'
import type { ProxyEvent } from './proxy.js'
import type { Home, Setting } from './runner.js'
import { Runner } from './runner.js'
import type { Snapshot } from './snapshot.js'
import { inOrder, published, pushOrder } from './snapshot.js'
import type { AnyRequest, Stream, StreamEvents } from './stream.js'
import type { ClientState, Publication } from './types.js'
import type { DeltaRequest, SotwRequest } from './wire.js'

export type RegistryOptions = Omit<Setting, 'heard'> & { readonly redact: (text: string) => string }

/** How long one slice of a fan-out may hold the event loop, in milliseconds. */
const SLICE_MS = 8

/** The server but for its sockets: Gateways, their proxies, and which stream is whose. */
export class Registry implements StreamEvents {
  readonly #options: RegistryOptions
  readonly #setting: Setting
  readonly #homes = new Map<Locator, Home>()
  readonly #runners = new Map<number, Runner>()
  readonly #news = createNews()
  readonly #fanOut = createFanOut()

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#setting = { ...options, heard: gateway => this.#news.tell(gateway) }
  }

  publish(publications: readonly Publication[]): void {
    const now = this.#options.clock.now()
    for (const { gateway, changes } of publications) {
      const home = this.#homeOf(gateway)
      const next = published(home.snapshot, changes)
      if (next === home.snapshot) continue
      home.recent = remembered(home, next, now, this.#options.limits.removalMs)
      home.snapshot = next
      this.#fanOut(home.proxies)
    }
  }

  opened(stream: Stream): void {
    const home = this.#homeOf(stream.gateway)
    const shared = stream.only && [...home.proxies].find(runner => isOf(runner, stream))
    const runner = shared ?? new Runner(home, this.#setting)
    home.proxies.add(runner)
    runner.streams.set(stream.id, stream)
    this.#runners.set(stream.id, runner)
    this.#options.meters.opened(stream.protocol)
    this.#news.tell(stream.gateway)
  }

  request(stream: Stream, type: ResourceType, request: AnyRequest): void {
    this.#runners.get(stream.id)?.handle(eventOf(stream, type, request, this.#options.redact))
  }

  drained(stream: Stream): void {
    this.#runners.get(stream.id)?.handle({ kind: 'moved' })
  }

  closed(stream: Stream): void {
    const runner = this.#runners.get(stream.id)
    if (runner === undefined) return
    this.#runners.delete(stream.id)
    runner.handle({ kind: 'closed', stream: stream.id })
    this.#options.meters.closed(stream.protocol)
    const home = this.#homes.get(stream.gateway)
    if (home && runner.streams.size === 0) this.#left(home, runner)
    if (home?.proxies.size === 0 && home.snapshot === undefined) this.#homes.delete(stream.gateway)
    this.#news.tell(stream.gateway)
  }

  /** A proxy that comes back may still name what was lingering for it. */
  #left(home: Home, runner: Runner): void {
    home.proxies.delete(runner)
    const at = this.#options.clock.now()
    const lingering = runner.proxy.view?.lingering.map(({ removal }) => removal) ?? []
    if (lingering.length === 0) return
    const others = home.recent.filter(({ removal }) => !lingering.includes(removal))
    const all = [...others, ...lingering.map(removal => ({ removal, at }))]
    home.recent = all.sort((a, b) => b.removal.generation - a.removal.generation)
  }

  forget(gateway: Locator): void {
    for (const stream of this.#streams()) if (stream.gateway === gateway) stream.end()
    this.#homes.delete(gateway)
  }

  end(): void {
    for (const stream of this.#streams()) stream.end()
  }

  clients(): readonly ClientState[] {
    return this.#streams().map(stream => clientState(stream, this.#runners.get(stream.id)))
  }

  resources(gateway: Locator): readonly Resource[] {
    const held = this.#homes.get(gateway)?.snapshot?.resources
    return held ? [...pushOrder].sort().flatMap(type => inOrder(held[type])) : []
  }

  gateways(): readonly Locator[] {
    return [...this.#homes.values()].filter(home => home.snapshot).map(home => home.gateway)
  }

  subscribe(listener: (gateway: Locator) => void): () => void {
    return this.#news.subscribe(listener)
  }

  #streams(): readonly Stream[] {
    const held = [...this.#runners].map(([id, runner]) => runner.streams.get(id))
    return held.filter(stream => stream !== undefined)
  }

  #homeOf(gateway: Locator): Home {
    const held = this.#homes.get(gateway)
    if (held) return held
    const home: Home = { gateway, snapshot: undefined, recent: [], proxies: new Set() }
    this.#homes.set(gateway, home)
    return home
  }
}

function remembered({ snapshot, recent }: Home, next: Snapshot, now: number, ms: number): Home['recent'] {
  if (snapshot === undefined) return []
  const kept = recent.filter(({ at }) => at > now - ms)
  const removal = removalBetween(snapshot, next)
  return isEmptyRemoval(removal) ? kept : [{ removal, at: now }, ...kept]
}

/** Separate streams with one node id are one proxy; every ADS stream is one by itself. */
function isOf(runner: Runner, { node }: Stream): boolean {
  const [one] = runner.streams.values()
  return one?.only !== undefined && one.node.id === node.id
}

function eventOf(
  { id, protocol }: Stream,
  type: ResourceType,
  request: AnyRequest,
  redact: (text: string) => string,
): ProxyEvent {
  const refusal = request.refusal === undefined ? undefined : redact(request.refusal)
  return protocol === 'sotw'
    ? { kind: 'sotw', stream: id, type, request: { ...(request as SotwRequest), refusal } }
    : { kind: 'delta', stream: id, type, request: { ...(request as DeltaRequest), refusal } }
}

function clientState(stream: Stream, runner: Runner | undefined): ClientState {
  const own = runner?.proxy.talks.filter(one => one.stream === stream.id) ?? []
  return {
    id: stream.id,
    node: stream.node.id,
    gateway: stream.gateway,
    address: stream.address,
    connectedAt: stream.connectedAt,
    types: Object.fromEntries(own.map(({ talk }) => [talk.type, typeState(talk)])),
  }
}

/** Tells of each Gateway once per turn of the event loop, however much happened. */
function createNews() {
  const listeners = new Set<(gateway: Locator) => void>()
  const pending = new Set<Locator>()
  const flush = () => {
    const gateways = [...pending]
    pending.clear()
    for (const gateway of gateways) for (const listener of listeners) listener(gateway)
  }
  return {
    tell(gateway: Locator) {
      if (pending.size === 0) setImmediate(flush)
      pending.add(gateway)
    },
    subscribe(listener: (gateway: Locator) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Thousands of proxies are told in slices: each is told the newest, whenever its turn comes. */
function createFanOut() {
  const waiting = new Set<Runner>()
  let running = false
  const slice = () => {
    const end = performance.now() + SLICE_MS
    for (const runner of waiting) {
      waiting.delete(runner)
      if (runner.streams.size > 0) runner.handle({ kind: 'moved' })
      if (performance.now() > end) break
    }
    running = waiting.size > 0
    if (running) setImmediate(slice)
  }
  return (runners: Iterable<Runner>) => {
    for (const runner of runners) waiting.add(runner)
    if (!running && waiting.size > 0) setImmediate(slice)
    running = waiting.size > 0
  }
}
