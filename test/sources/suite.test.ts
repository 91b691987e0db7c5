/** One suite for every source: whatever way the same objects come in, the store comes to hold the same. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { createMetrics, locatorOf, manualClock } from '../../src/core/index.js'
import type { KubeObject, Locator } from '../../src/core/index.js'
import { connect } from '../../src/kube/index.js'
import { createCluster, createReceiver, reconcile, watchDirectory } from '../../src/sources/index.js'
import type { Wanted } from '../../src/sources/index.js'
import { createStore } from '../../src/store/index.js'
import type { Snapshot, Store } from '../../src/store/index.js'
import { ApiServer } from '../support/api-server.js'
import { aFolder } from './manifests.js'

type Manifest = Readonly<Record<string, unknown>> & {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** A source that is made to show exactly these objects, as a cluster or a folder does from one moment to the next. */
interface Source {
  show(objects: readonly Manifest[]): Promise<void>
}

type MakeSource = (t: Test, store: Store) => Promise<Source>

const sources: Readonly<Record<string, MakeSource>> = {
  directory: async (t, store) => {
    const folder = await aFolder(t)
    const directory = watchDirectory({ path: folder, store })
    t.teardown(() => directory.close())
    await directory.ready
    return {
      async show(objects) {
        for (const entry of ['a', 'b', 'c']) await rm(join(folder, entry), { recursive: true, force: true })
        for (const [index, object] of objects.entries()) {
          const below = join(folder, ['a', 'b', 'c'][index % 3] ?? 'a')
          await mkdir(below, { recursive: true })
          await writeFile(join(below, `${index}.json`), JSON.stringify(object))
        }
        await directory.rescan()
      },
    }
  },
  'relayed events': (_, store) => {
    const relay = createReceiver({ store })
    let shown: readonly Manifest[] = []
    let version = 0
    const event = (type: string, { metadata, ...object }: Manifest) => ({
      type,
      object: { ...object, metadata: { ...metadata, resourceVersion: String(++version) } },
    })
    return Promise.resolve({
      async show(objects: readonly Manifest[]) {
        const events = [
          ...shown.filter(object => !objects.some(sameName(object))).map(object => event('DELETED', object)),
          ...objects.map(object => event('ADDED', object)),
        ]
        // Twice, and the second time backwards: that is how it is delivered.
        await relay.receive(events)
        await relay.receive(events.toReversed())
        shown = objects
      },
    })
  },
  'relayed SYNCs': (_, store) => {
    const relay = createReceiver({ store })
    let version = 0
    return Promise.resolve({
      async show(objects: readonly Manifest[]) {
        const resourceVersion = String(++version)
        for (const kind of kinds) {
          const items = itemsOf(kind, objects, resourceVersion)
          const messages = [1, 2].map(part => ({
            type: 'SYNC',
            syncId: `${kind} ${version}`,
            scope: { kind },
            version: resourceVersion,
            part,
            of: 2,
            items: items.filter((__, index) => index % 2 === part - 1),
          }))
          await relay.receive(messages)
        }
      },
    })
  },
  'full lists': (_, store) => {
    let version = 0
    return Promise.resolve({
      async show(objects: readonly Manifest[]) {
        const resourceVersion = String(++version)
        const list = (kind: string) =>
          Promise.resolve({ items: itemsOf(kind, objects, resourceVersion), version: resourceVersion })
        await reconcile({ store, kinds, lister: { list } })
      },
    })
  },
  'the lists of a cluster': async (t, store) => {
    const { write, cluster } = await aCluster(t, store)
    return {
      async show(objects) {
        write(objects)
        await cluster.reconcile()
      },
    }
  },
  'a cluster, read back': async (t, store) => {
    const { write, cluster, api, clock, metrics } = await aCluster(t, store)
    await new Promise<unknown>(resolve => cluster.subscribe(resolve))
    let hints = 0
    return {
      async show(objects) {
        const keys = write(objects)
        const { version } = api.history
        for (const key of keys) cluster.hint({ kind: key.slice(0, key.indexOf(':')), key, version })
        hints += keys.length
        clock.advance(0)
        const isDone = async () => (await metrics.text()).includes(`{result="found"} ${hints}\n`)
        while (keys.length > 0 && !(await isDone())) await new Promise(resolve => setImmediate(resolve))
      },
    }
  },
}

const everything: Wanted = {
  has: () => true,
  keys: () => ['secret:shop/tls'],
  subscribe: () => () => undefined,
}

async function aCluster(t: Test, store: Store) {
  const api = await ApiServer.start()
  const client = await connect({ environment: {}, kubeconfig: api.kubeconfig })
  const [clock, metrics] = [manualClock(), createMetrics()]
  const options = { client, store, kinds, wanted: everything, periodMs: 1e9, clock, metrics }
  const cluster = createCluster(options)
  t.teardown(async () => {
    cluster.close()
    client.close()
    await api.close()
  })
  /** Returns the keys of what it has written or removed. */
  const write = (objects: readonly Manifest[]): readonly Locator[] => {
    const [all, before] = [inNamespaces(objects), kinds.flatMap(kind => api.objects(kind))]
    const gone = before.map(locatorOf).filter(key => !all.some(object => locatorOf(object) === key))
    for (const key of gone) api.remove(key)
    for (const object of all) api.put(object)
    return [...gone, ...all.map(locatorOf)]
  }
  return { api, cluster, clock, metrics, write }
}

/** As an API server has them: each object of a namespaced kind is in one. */
function inNamespaces(objects: readonly Manifest[]): readonly KubeObject[] {
  return objects.map(({ metadata, ...object }) => ({
    ...object,
    metadata: object.kind === 'Namespace' ? metadata : { namespace: 'default', ...metadata },
  })) as unknown as readonly KubeObject[]
}

const sameName = (a: Manifest) => (b: Manifest) => a.kind === b.kind && a.metadata.name === b.metadata.name

const kinds = ['service', 'httproute.gateway.networking.k8s.io', 'namespace', 'secret']

function itemsOf(kind: string, objects: readonly Manifest[], resourceVersion: string): readonly object[] {
  return objects
    .filter(object => kind.split('.')[0] === object.kind.toLowerCase())
    .map(({ metadata, ...object }) => ({ ...object, metadata: { ...metadata, resourceVersion } }))
}

const service = (name: string, port: number): Manifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'shop' },
  spec: { ports: [{ port }] },
})

const first: readonly Manifest[] = [
  service('cart', 80),
  service('cart-2', 81),
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: { team: 'a' } } as never },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tls', namespace: 'shop' }, stringData: { a: 'b' } },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'cart', namespace: 'shop' },
    spec: { parentRefs: [{ name: 'public' }], rules: [{ backendRefs: [{ name: 'cart', port: 80 }] }] },
  },
  { apiVersion: 'v1', kind: 'Service', metadata: { name: 'no-namespace' }, spec: { ports: [{ port: 1 }] } },
]

const invalid: Manifest = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'cart', namespace: 'shop' },
  spec: { ports: 'many' },
}

/** All objects, but for what an API server adds to them. */
const contents = (snapshot: Snapshot) =>
  snapshot
    .kinds()
    .flatMap(kind => snapshot.list(kind))
    .map(object => ({ ...object, metadata: { ...object.metadata, ...added } }))
const added = { resourceVersion: '', uid: '', creationTimestamp: '', generation: 0 }

const stories: Readonly<Record<string, readonly (readonly Manifest[])[]>> = {
  'objects that come': [first],
  'objects that change, come and go': [
    first,
    [service('cart', 8080), service('new', 1), ...first.slice(2)],
    [service('new', 2)],
  ],
  'everything goes': [first, []],
  'everything goes and comes back': [first, [], first],
  'an invalid object leaves what was there': [first, [invalid, ...first.slice(1)]],
}

for (const [story, steps] of Object.entries(stories)) {
  t.test(story, async t => {
    const wanted: { name?: string; contents?: unknown } = {}
    for (const [name, make] of Object.entries(sources)) {
      const store = createStore({ freeze: true })
      const source = await make(t, store)
      for (const objects of steps) await source.show(objects)
      const found = contents(store.snapshot())
      t.strictSame(found, wanted.contents ?? found, `${name} says what ${wanted.name ?? name} says`)
      wanted.name ??= name
      wanted.contents ??= found
    }
    const last = steps.at(-1) ?? []
    t.equal((wanted.contents as unknown[]).length, last.length, 'and that is all of it')
  })
}
