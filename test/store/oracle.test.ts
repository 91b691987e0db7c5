/**
 * The store against the world it is told of. The world is a log of numbered changes, as an API server keeps it; the
 * store hears of them late, twice, out of order, and through lists that are old when they arrive.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { KubeObject, Locator } from '../../src/core/index.js'
import { locatorOf } from '../../src/core/index.js'
import { createStore } from '../../src/store/index.js'
import type { Applied, KindList, Notice, Snapshot, Store, StoreEvent } from '../../src/store/index.js'
import type { Widget } from './objects.js'
import { aWidget, widgetKey, widgetKind } from './objects.js'

const names = ['a', 'b', 'c', 'd']

/** What is true of every name after each change; index = revision. */
interface World {
  readonly events: readonly StoreEvent[]
  readonly states: readonly ReadonlyMap<string, Widget>[]
}

/** Toggles, changes and re-creates names: a name that is there is changed or deleted, one that is not is created. */
function worldOf(changes: readonly { name: string; remove: boolean }[]): World {
  const events: StoreEvent[] = []
  const states: ReadonlyMap<string, Widget>[] = [new Map()]
  for (const { name, remove } of changes) {
    const state = new Map(states.at(-1))
    const version = String(states.length)
    const held = state.get(name)
    if (held !== undefined && remove) {
      state.delete(name)
      events.push({ type: 'delete', locator: widgetKey(name), uid: held.metadata.uid ?? '', version })
    } else {
      const uid = held?.metadata.uid ?? `uid-${version}`
      const object = aWidget(name, Number(version), { uid, resourceVersion: version })
      state.set(name, object)
      events.push({ type: 'upsert', object, version })
    }
    states.push(state)
  }
  return { events, states }
}

function listAt(world: World, revision: number): KindList {
  const state = world.states[revision] ?? new Map<string, Widget>()
  return { kind: widgetKind, items: [...state.values()], version: String(revision) }
}

const versionOf = (event: StoreEvent) => ('version' in event ? Number(event.version) : NaN)
const nameOf = (event: StoreEvent) =>
  event.type === 'upsert' ? event.object.metadata.name : (event.locator.split('/')[1] ?? '')

/** The simple model: of all that was heard of a name, the newest is true. */
class Model {
  readonly #heard = new Map<string, { version: number; object: KubeObject | undefined }>()

  hear(event: StoreEvent): void {
    this.#believe(nameOf(event), versionOf(event), event.type === 'upsert' ? event.object : undefined)
  }

  hearList(list: KindList): void {
    const items = new Map(list.items.map(item => [item.metadata.name, item]))
    for (const name of names) {
      const item = items.get(name)
      if (item === undefined) this.#believe(name, Number(list.version), undefined)
      else this.#believe(name, Number(item.metadata.resourceVersion), item)
    }
  }

  state(): Record<string, KubeObject> {
    const there = [...this.#heard].filter(([, { object }]) => object !== undefined)
    return Object.fromEntries(there.map(([name, { object }]) => [name, object as KubeObject]))
  }

  #believe(name: string, version: number, object: KubeObject | undefined): void {
    if (version > (this.#heard.get(name)?.version ?? -1)) this.#heard.set(name, { version, object })
  }
}

const stateOf = (snapshot: Snapshot) =>
  Object.fromEntries(snapshot.list(widgetKind).map(object => [object.metadata.name, object]))

/** Follows updates by the book; every one must fit what was seen before it. */
class Follower {
  readonly view = new Map<Locator, KubeObject>()
  notices = 0

  follow({ snapshot, updates }: Notice): void {
    this.notices++
    const perObject = new Map<Locator, number>()
    for (const update of updates) {
      perObject.set(update.locator, (perObject.get(update.locator) ?? 0) + 1)
      const seen = this.view.get(update.locator)
      assert.equal(
        'oldObject' in update ? update.oldObject : undefined,
        seen,
        `${update.type} fits what was seen`,
      )
      if (update.type === 'delete') this.view.delete(update.locator)
      else this.view.set(update.locator, update.newObject)
      if (update.type === 'update') assert.equal(update.oldObject.metadata.uid, update.newObject.metadata.uid)
    }
    assert(Math.max(0, ...perObject.values()) <= 2, 'at most a delete and a create of one object')
    assert.deepEqual(
      Object.fromEntries([...this.view.values()].map(object => [object.metadata.name, object])),
      stateOf(snapshot),
    )
  }
}

/** What a story is made of: changes of the world, and numbers that choose what is delivered when. */
const stories = fc.record({
  changes: fc.array(fc.record({ name: fc.constantFrom(...names), remove: fc.boolean() }), {
    minLength: 1,
    maxLength: 25,
  }),
  /** Each chooses one event or list to deliver; duplicates and any order. */
  deliveries: fc.array(fc.record({ pick: fc.nat(), list: fc.nat({ max: 4 }), settle: fc.boolean() }), {
    maxLength: 60,
  }),
  /** In which order all events come at the end once more. */
  order: fc.nat(),
})

type Story = typeof stories extends fc.Arbitrary<infer S> ? S : never

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const weight = (n: number) => (Math.imul(n + 1, 2654435761) ^ Math.imul(seed + 1, 40503)) >>> 0
  return items
    .map((item, n) => ({ item, n }))
    .sort((a, b) => weight(a.n) - weight(b.n))
    .map(({ item }) => item)
}

/** Delivers the story's events and lists, lists never older than the newest before (that would be a reset). */
function deliver(story: Story, world: World, tell: (event?: StoreEvent, list?: KindList) => unknown): void {
  let listed = 0
  for (const { pick, list } of story.deliveries) {
    if (list > 0) tell(world.events[pick % world.events.length])
    else {
      listed += pick % (world.states.length - listed)
      tell(undefined, listAt(world, listed))
    }
  }
}

const tick = () => new Promise(resolve => setImmediate(resolve))

t.test('at every step the store holds what the simple model holds', t => {
  const holds = (story: Story) => {
    const world = worldOf(story.changes)
    const store = createStore({ freeze: true })
    const model = new Model()
    const follower = new Follower()
    store.subscribe(notice => follower.follow(notice))
    deliver(story, world, (event, list) => {
      const applied = event ? store.apply([event]) : store.replace(list as KindList)
      if (event) model.hear(event)
      if (list) model.hearList(list)
      assert.deepEqual(applied.resets, [])
      assert.deepEqual(stateOf(store.snapshot()), model.state())
    })
  }
  fc.assert(fc.property(stories, holds), { numRuns: 400 })
  t.end()
})

t.test('when all events have come, in any order, in batches, the store holds the world', t => {
  const holds = (story: Story) => {
    const world = worldOf(story.changes)
    const store = createStore({ freeze: true })
    deliver(story, world, (event, list) => (event ? store.apply([event]) : store.replace(list as KindList)))
    const rest = shuffled(world.events, story.order)
    for (let at = 0; at < rest.length; at += 3) store.apply(rest.slice(at, at + 3))
    assert.deepEqual(stateOf(store.snapshot()), Object.fromEntries(world.states.at(-1) ?? []))
  }
  fc.assert(fc.property(stories, holds), { numRuns: 300 })
  t.end()
})

t.test(
  'with little memory for deletes and every hint read back, the store still comes to hold the world',
  t => {
    let hinted = 0
    /** As a hint is read back from an API server: a list of the one name, which has a version even when empty. */
    const readBack = (store: Store, world: World, applied: Applied) => {
      for (const locator of applied.hints) {
        hinted++
        const { items, ...list } = listAt(world, world.events.length)
        const within = (object: KubeObject) => locatorOf(object) === locator
        store.replace({ ...list, items: items.filter(within), within })
      }
    }
    const holds = (story: Story) => {
      const world = worldOf(story.changes)
      const store = createStore({ freeze: true, tombstones: 1 })
      deliver(story, world, (event, list) => {
        readBack(store, world, event ? store.apply([event]) : store.replace(list as KindList))
      })
      for (const event of shuffled(world.events, story.order)) readBack(store, world, store.apply([event]))
      assert.deepEqual(stateOf(store.snapshot()), Object.fromEntries(world.states.at(-1) ?? []))
    }
    fc.assert(fc.property(stories, holds), { numRuns: 400 })
    t.ok(hinted > 50, `hints took part: ${hinted}`)
    t.end()
  },
)

t.test(
  'slow and fast listeners come to the same view, and every update fits what its listener saw',
  async t => {
    let merged = 0
    const holds = async (story: Story) => {
      const world = worldOf(story.changes)
      const store = createStore({ freeze: true })
      const [fast, slow] = [new Follower(), new Follower()]
      const failures: unknown[] = []
      let settle: () => void = () => undefined
      store.subscribe(notice => fast.follow(notice))
      store.subscribe(notice => {
        try {
          slow.follow(notice)
        } catch (error) {
          failures.push(error)
        }
        return new Promise(resolve => (settle = resolve))
      })
      for (const { pick, list, settle: now } of story.deliveries) {
        if (list > 0) store.apply([world.events[pick % world.events.length] as StoreEvent])
        else store.replace(listAt(world, world.events.length))
        if (now) {
          settle()
          await tick()
        }
      }
      for (let round = 0; round < 2; round++) {
        settle()
        await tick()
      }
      assert.deepEqual(failures, [])
      assert.deepEqual(slow.view, fast.view)
      if (slow.notices < fast.notices) merged++
    }
    await fc.assert(fc.asyncProperty(stories, holds), { numRuns: 150 })
    t.ok(merged > 20, `notices were merged: ${merged}`)
  },
)

t.test('a reset adopts the list whole, whatever was held', t => {
  const holds = (story: Story, restored: number) => {
    const world = worldOf(story.changes)
    const last = world.events.length
    const store = createStore({ freeze: true, tombstones: 2 })
    deliver(story, world, (event, list) => (event ? store.apply([event]) : store.replace(list as KindList)))
    store.replace(listAt(world, last))
    const revision = restored % last
    assert.deepEqual(store.replace(listAt(world, revision)).resets, [widgetKind])
    assert.deepEqual(stateOf(store.snapshot()), Object.fromEntries(world.states[revision] ?? []))
  }
  fc.assert(fc.property(stories, fc.nat(), holds), { numRuns: 200 })
  t.end()
})
