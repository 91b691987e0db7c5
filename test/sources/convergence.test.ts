/**
 * The sources against a model of an API server. Whatever is lost, late, repeated or out of order: nothing that was
 * deleted comes back, nothing newer than a list is lost by it, and the next full list makes everything right.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { manualClock } from '../../src/core/index.js'
import type { KindId, KubeObject, Locator } from '../../src/core/index.js'
import { locatorOf } from '../../src/core/index.js'
import type { KubeClient, KubeList, ListOptions } from '../../src/kube/index.js'
import { createCluster, createReceiver } from '../../src/sources/index.js'
import type { Wanted } from '../../src/sources/index.js'
import { createStore } from '../../src/store/index.js'

const kinds = ['service', 'secret'] as const
const names = ['a', 'b', 'c'] as const
type Kind = (typeof kinds)[number]
type Name = (typeof names)[number]

/** One of them is in a namespace of its own, of which a SYNC of the other says nothing. */
const namespaceOf = (name: Name) => (name === 'c' ? 'bank' : 'shop')
const keyOf = (kind: Kind, name: Name): Locator => `${kind}:${namespaceOf(name)}/${name}`

/** `version` stands twice in an object, so that a mixture would be seen. */
function anObject(kind: Kind, name: Name, version: number, uid: string): KubeObject {
  const metadata = { name, namespace: namespaceOf(name), uid, resourceVersion: String(version) }
  return kind === 'service'
    ? ({ apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: version }] } } as KubeObject)
    : ({ apiVersion: 'v1', kind: 'Secret', metadata, data: { of: btoa(String(version)) } } as KubeObject)
}

type State = ReadonlyMap<Locator, KubeObject>

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly kind: Kind
  readonly key: Locator
  readonly version: number
  readonly object: KubeObject
}

/** What etcd holds: a state for every version, and the changes between. */
class ApiServer {
  states: State[] = [new Map()]
  #uids = 0
  /** No object has one version in two histories: that is all that a restored database must not do. */
  readonly #used = new Set<string>()

  get version(): number {
    return this.states.length - 1
  }

  write(kind: Kind, name: Name, remove: boolean): Change {
    const key = keyOf(kind, name)
    const state = new Map(this.states.at(-1))
    const before = state.get(key)
    while (this.#used.has(`${key} ${this.states.length}`)) this.states.push(state)
    const version = this.states.length
    this.#used.add(`${key} ${version}`)
    let change: Change
    if (before !== undefined && remove) {
      state.delete(key)
      const metadata = { ...before.metadata, resourceVersion: String(version) }
      const object = { ...before, metadata }
      change = { type: 'DELETED', kind, key, version, object }
    } else {
      const object = anObject(kind, name, version, before?.metadata.uid ?? `uid-${++this.#uids}`)
      state.set(key, object)
      change = { type: before ? 'MODIFIED' : 'ADDED', kind, key, version, object }
    }
    this.states.push(state)
    return change
  }

  /** Everything after a version never happened; what is written next has other uids and contents. */
  restore(version: number): void {
    this.states = this.states.slice(0, version + 1)
  }

  list(kind: KindId, { name, metadataOnly = false }: ListOptions = {}): KubeList {
    const items = [...(this.states.at(-1) ?? [])]
      .filter(
        ([key, object]) =>
          key.startsWith(`${kind}:`) && (name ?? object.metadata.name) === object.metadata.name,
      )
      .map(([, { apiVersion, kind, metadata, ...rest }]) => ({
        apiVersion,
        kind,
        metadata,
        ...(!metadataOnly && rest),
      }))
    return { items, version: String(this.version) }
  }
}

/** A request is answered by the state of the moment it came, and the answer arrives when the story says so. */
class SlowClient implements KubeClient {
  readonly server = 'https://model'
  readonly inCluster = false
  readonly #api: ApiServer
  readonly #onAnswer: (kind: Kind, options: ListOptions, list: KubeList) => void
  readonly #waiting: { readonly answer: () => void; readonly fail: () => void }[] = []

  constructor(api: ApiServer, onAnswer: (kind: Kind, options: ListOptions, list: KubeList) => void) {
    this.#api = api
    this.#onAnswer = onAnswer
  }

  list(kind: KindId, options: ListOptions = {}): Promise<KubeList> {
    const list = this.#api.list(kind, options)
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Error('500: etcd has no leader'))
      const answer = () => {
        this.#onAnswer(kind as Kind, options, list)
        resolve(list)
      }
      this.#waiting.push({ answer, fail })
    })
  }

  /** Lets one request be answered, in any order. */
  settle(pick: number, isFailure: boolean): void {
    const [request] = this.#waiting.splice(pick % Math.max(1, this.#waiting.length), 1)
    if (isFailure) request?.fail()
    else request?.answer()
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0
  }

  watch = () => assert.fail('the cluster holds no watch')
  reviewToken = () => assert.fail('nobody is reviewed')
  whyNotAllowed = () => assert.fail('nobody is reviewed')
  close = () => undefined
}

class Chosen implements Wanted {
  readonly #keys = new Set<Locator>()
  readonly #listeners = new Set<Parameters<Wanted['subscribe']>[0]>()

  has = (key: Locator) => this.#keys.has(key)
  keys = () => this.#keys

  subscribe(listener: Parameters<Wanted['subscribe']>[0]): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  toggle(key: Locator): void {
    const isThere = this.#keys.delete(key)
    if (!isThere) this.#keys.add(key)
    for (const listener of this.#listeners)
      listener(isThere ? { came: [], went: [key] } : { came: [key], went: [] })
  }
}

const pick = fc.nat({ max: 1000 })
const kind = fc.constantFrom(...kinds)
const name = fc.constantFrom(...names)

/** What can happen. `pick` chooses among what there is to choose from at that moment. */
const happenings = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('write'), kind, name, remove: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('event'), pick, recent: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('hint'),
      pick,
      keyed: fc.boolean(),
      versioned: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('sync begins'), kind, isScoped: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('sync part'), pick, part: fc.constantFrom(1, 2) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('list'), kinds: fc.subarray([...kinds], { minLength: 1 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('answer'), pick, fails: fc.nat({ max: 4 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('time'), ms: fc.constantFrom(100, 1000, 20_000, 61_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wanted'), name }) },
)
type Happening = typeof happenings extends fc.Arbitrary<infer H> ? H : never

const tick = () => new Promise(resolve => setImmediate(resolve))

/** The newest that was told of every object, and what follows from it. */
class Told {
  readonly #newest = new Map<Locator, { readonly version: number; readonly object: KubeObject | undefined }>()
  readonly #listed = new Map<string, number>()

  tell(key: Locator, version: number, object: KubeObject | undefined): void {
    if (version > (this.#newest.get(key)?.version ?? -1)) this.#newest.set(key, { version, object })
  }

  /** @param isHeld - for a list of a part of a kind: it says nothing of what is not held */
  tellList(kind: Kind, { items, version }: KubeList, isHeld: (key: Locator) => boolean = () => true): void {
    const shown = new Map((items as KubeObject[]).map(item => [item.metadata.name, item]))
    for (const name of names) {
      const [key, item] = [keyOf(kind, name), shown.get(name)]
      if (item === undefined && isHeld(key)) this.tell(key, Number(version), undefined)
      // Of a Secret a list of metadata shows no content.
      else if (item !== undefined && ('spec' in item || 'data' in item)) this.tell(key, versionOf(item), item)
    }
  }

  /** A whole kind or one Secret was listed: what is told of a time before need not be believed. */
  listed(what: string, version: string): void {
    this.#listed.set(what, Math.max(Number(version), this.#listed.get(what) ?? 0))
  }

  forget(key: Locator): void {
    this.#newest.delete(key)
  }

  /** What is held is as new as the newest that was told, and what was told to be gone is gone. */
  check(key: Locator, held: KubeObject | undefined): void {
    const told = this.#newest.get(key)
    if (key.startsWith('service')) {
      assert.equal(
        held && versionOf(held),
        told?.object && versionOf(told.object),
        `${key} is the newest told`,
      )
    } else if (told !== undefined) this.#checkSecret(key, told.version, told.object !== undefined, held)
  }

  #checkSecret(key: Locator, told: number, isThere: boolean, held: KubeObject | undefined): void {
    if (held !== undefined) assert(versionOf(held) > told - Number(isThere), `${key} is not old, nor back`)
    else if (isThere) {
      const listed = Math.max(this.#listed.get('secret') ?? -1, this.#listed.get(key) ?? -1)
      assert(told <= listed, `${key} is not lost`)
    }
  }
}

const versionOf = ({ metadata }: KubeObject) => Number(metadata.resourceVersion)

interface SyncUnderWay {
  readonly id: string
  readonly kind: Kind
  readonly list: KubeList
  readonly isScoped: boolean
  parts: Set<number>
  since: number
  isDone: boolean
}

/** The sources, their surroundings, and what happens to them. */
class Play {
  readonly api = new ApiServer()
  readonly clock = manualClock()
  readonly store = createStore({ freeze: true })
  readonly wanted = new Chosen()
  readonly told = new Told()
  readonly client = new SlowClient(this.api, (kind, options, list) => this.#answered(kind, options, list))
  readonly cluster = createCluster({
    ...{ client: this.client, store: this.store, clock: this.clock, wanted: this.wanted },
    ...{ kinds, periodMs: 1e12 },
  })
  readonly receiver = createReceiver({
    ...{ store: this.store, clock: this.clock },
    isWanted: key => this.wanted.has(key),
    onHint: hint => this.cluster.hint(hint),
  })
  /** Everything that ever happened, in whatever history. */
  readonly heard: Change[] = []
  readonly syncs: SyncUnderWay[] = []
  #round: { readonly kind: Kind; readonly list: KubeList }[] = []

  constructor() {
    this.cluster.subscribe(report => {
      if (report === undefined) return
      for (const { kind, list } of this.#round) {
        if (report.degraded.some(({ source }) => source === kind)) continue
        this.told.tellList(kind, list)
        this.told.listed(kind, list.version)
      }
      this.#round = []
    })
  }

  async happen(what: Happening): Promise<void> {
    await this.#do(what)
    this.clock.advance(0)
    await tick()
    await tick()
  }

  /** Every request is answered, and every time-out passes. */
  async settle(): Promise<void> {
    for (let round = 0; round < 500; round++) {
      if (this.client.isIdle && round % 7 === 6) this.clock.advance(10_000)
      else this.client.settle(0, false)
      await tick()
      if (round > 30 && this.client.isIdle) return
    }
    assert.fail('the requests do not end')
  }

  /** What holds at every step, as long as no database is restored. */
  check(): void {
    for (const kind of kinds) {
      for (const name of names)
        this.told.check(keyOf(kind, name), this.store.snapshot().get(keyOf(kind, name)))
    }
  }

  checkWanted(): void {
    for (const object of this.store.snapshot().list('secret'))
      assert(this.wanted.has(locatorOf(object)), 'wanted')
  }

  /** The store holds what the API server has. */
  checkEqual(): void {
    const state = new Map([...(this.api.states.at(-1) ?? [])].filter(([key]) => !this.#isUnwanted(key)))
    const held = new Map(
      kinds.flatMap(kind =>
        this.store
          .snapshot()
          .list(kind)
          .map(each => [locatorOf(each), each]),
      ),
    )
    assert.deepEqual(new Set(held.keys()), new Set(state.keys()))
    for (const [key, object] of state) assert.deepEqual(essence(held.get(key)), essence(object), key)
  }

  close(): void {
    this.cluster.close()
    this.receiver.close()
  }

  #isUnwanted(key: Locator): boolean {
    return key.startsWith('secret:') && !this.wanted.has(key)
  }

  #answered(kind: Kind, options: ListOptions, list: KubeList): void {
    if (options.name === undefined) this.#round.push({ kind, list })
    else if (kind === 'service') {
      const [item] = list.items as KubeObject[]
      this.told.tell(keyOf(kind, options.name as Name), item ? versionOf(item) : Number(list.version), item)
    }
    // A Secret may be read in the course of a list, and is in the store when all of that list is.
    else this.told.listed(keyOf(kind, options.name as Name), list.version)
  }

  async #do(what: Happening): Promise<void> {
    if (what.do === 'write') this.heard.push(this.api.write(what.kind, what.name, what.remove))
    else if (what.do === 'event')
      await this.#deliver(what.recent ? this.heard.slice(-3) : this.heard, what.pick)
    else if (what.do === 'hint') await this.#hint(what)
    else if (what.do === 'sync begins') this.#beginSync(what.kind, what.isScoped)
    else if (what.do === 'sync part')
      await this.#deliverPart(this.syncs[what.pick % this.syncs.length], what.part)
    else if (what.do === 'list') void this.cluster.reconcile(what.kinds)
    else if (what.do === 'answer') this.client.settle(what.pick, what.fails === 0)
    else if (what.do === 'time') this.clock.advance(what.ms)
    else this.#toggle(keyOf('secret', what.name))
  }

  async #deliver(changes: readonly Change[], pick: number): Promise<void> {
    const change = changes[pick % changes.length]
    if (change === undefined) return
    const { type, key, version, object } = change
    await this.receiver.receive([{ type, object }])
    if (!this.#isUnwanted(key)) this.told.tell(key, version, type === 'DELETED' ? undefined : object)
  }

  /** Of something that changed lately. */
  async #hint({ pick, keyed, versioned }: Happening & { do: 'hint' }): Promise<void> {
    const recent = this.heard.slice(-4)
    const change = recent[pick % recent.length]
    if (change === undefined) return
    const { kind, key, version } = change
    const message = {
      type: 'HINT',
      kind,
      ...(keyed && { key }),
      ...(versioned && { version: String(version) }),
    }
    await this.receiver.receive([message])
  }

  #beginSync(kind: Kind, isScoped: boolean): void {
    const id = `sync-${this.syncs.length}`
    const { items, version } = this.api.list(kind)
    const isListed = (item: KubeObject) => !isScoped || item.metadata.namespace === 'shop'
    const list = { items: (items as KubeObject[]).filter(isListed), version }
    this.syncs.push({ id, kind, list, isScoped, parts: new Set(), since: 0, isDone: false })
  }

  async #deliverPart(sync: SyncUnderWay | undefined, part: number): Promise<void> {
    if (sync === undefined) return
    const { id, kind, list, isScoped } = sync
    const scope = { kind, ...(isScoped && { namespaces: ['shop'] }) }
    const items = list.items.filter((_, at) => at % 2 === part - 1)
    const before = this.store.snapshot()
    await this.receiver.receive([
      { type: 'SYNC', syncId: id, scope, version: list.version, part, of: 2, items },
    ])
    if (sync.isDone) return
    if (this.clock.now() - sync.since >= 60_000) sync.parts.clear()
    if (sync.parts.size === 0) sync.since = this.clock.now()
    sync.parts.add(part)
    sync.isDone = sync.parts.size === 2
    if (!sync.isDone) return
    const known = (list.items as KubeObject[]).filter(item => !this.#isUnwanted(locatorOf(item)))
    const isHeld = (key: Locator) => !isScoped || before.get(key)?.metadata.namespace === 'shop'
    this.told.tellList(kind, { ...list, items: known }, key => isHeld(key) && !this.#isUnwanted(key))
    if (!isScoped) this.told.listed(kind, list.version)
  }

  #toggle(key: Locator): void {
    this.wanted.toggle(key)
    this.told.forget(key)
  }
}

/** What an object says, without defaults. */
function essence(object: KubeObject | undefined): unknown {
  const { metadata, spec, data } = (object ?? {}) as KubeObject & {
    spec?: { ports: { port: number }[] }
    data?: unknown
  }
  return { metadata, data, port: spec?.ports[0]?.port }
}

async function converge(play: Play): Promise<void> {
  await play.settle()
  const report = play.cluster.reconcile()
  await play.settle()
  assert.deepEqual((await report).degraded, [])
  play.checkWanted()
  play.checkEqual()
}

const story = fc.array(happenings, { minLength: 1, maxLength: 60, size: 'max' })

t.test(
  'whatever is lost, late or repeated: nothing comes back, nothing newer is lost, a full list ends it',
  async t => {
    const holds = async (happenings: readonly Happening[]) => {
      const play = new Play()
      for (const each of happenings) {
        await play.happen(each)
        play.check()
        play.checkWanted()
      }
      await converge(play)
      play.close()
    }
    await fc.assert(fc.asyncProperty(story, holds), { numRuns: 300 })
    t.end()
  },
)

t.test(
  'a restored database is found by the next full list, whatever of the old one is still under way',
  async t => {
    const holds = async (before: readonly Happening[], back: number, after: readonly Happening[]) => {
      const play = new Play()
      for (const each of before) await play.happen(each)
      play.api.restore(Math.max(0, play.api.version - back))
      for (const each of after) await play.happen(each)
      await converge(play)
      play.close()
    }
    await fc.assert(fc.asyncProperty(story, fc.nat({ max: 12 }), story, holds), { numRuns: 150 })
    t.end()
  },
)
