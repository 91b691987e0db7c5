import t from 'tap'
import { createMetrics, manualClock } from '../../src/core/index.js'
import type { KubeObject } from '../../src/core/index.js'
import { createReceiver, reconcile } from '../../src/sources/index.js'
import type { Hint } from '../../src/sources/index.js'
import { createStore } from '../../src/store/index.js'
import { ports } from './manifests.js'

interface Meta {
  readonly namespace?: string
  readonly uid?: string
  readonly labels?: Readonly<Record<string, string>>
}

/** A Service whose port is its version. */
function service(name: string, version: number, metadata: Meta = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'shop', resourceVersion: String(version), ...metadata },
    spec: { ports: [{ port: version }] },
  } as KubeObject
}

const added = (object: object) => ({ type: 'ADDED', object })
const deleted = (object: object) => ({ type: 'DELETED', object })
const sync = (version: number, items: readonly object[], scope: object = {}, part = 1, of = 1) => ({
  type: 'SYNC',
  syncId: `sync-${version}-${JSON.stringify(scope)}`,
  scope: { kind: 'service', ...scope },
  version: String(version),
  part,
  of,
  items,
})

function aRelay() {
  const store = createStore({ freeze: true })
  const clock = manualClock()
  const hints: Hint[] = []
  const metrics = createMetrics()
  const relay = createReceiver({ store, clock, metrics, onHint: hint => void hints.push(hint) })
  return { store, clock, hints, metrics, relay, receive: (...messages: unknown[]) => relay.receive(messages) }
}

t.test('watch events', t => {
  t.test('are facts, taken by version, whatever their order', async t => {
    const { store, receive, metrics } = aRelay()
    t.strictSame(await receive(added(service('a', 3)), { type: 'MODIFIED', object: service('a', 5) }), {
      accepted: 2,
      stale: 0,
      duplicate: 0,
      rejected: [],
    })
    t.match(await receive(added(service('a', 3)), added(service('a', 5))), { stale: 1, duplicate: 1 })
    t.match(await receive(deleted(service('a', 4))), { stale: 1 })
    t.match(await receive(deleted(service('a', 6)), added(service('a', 5))), { accepted: 1, stale: 1 })
    t.strictSame(ports(store.snapshot()), {})
    t.match(await metrics.text(), /gatewright_relay_messages_total\{result="stale"\} 3/)
  })

  t.test('of one call are one step for whoever listens', async t => {
    const { store, receive } = aRelay()
    let notices = 0
    store.subscribe(() => {
      notices++
    })
    await receive(added(service('a', 1)), added(service('b', 2)), deleted(service('a', 3)))
    t.equal(notices, 2, 'the greeting and one more')
    t.strictSame(ports(store.snapshot()), { b: 2 })
  })

  t.test('a bookmark tells of no object; the end of a watch is no fact', async t => {
    const { store, receive } = aRelay()
    const bookmark = { type: 'BOOKMARK', object: { kind: 'Service', metadata: { resourceVersion: '9' } } }
    const error = {
      type: 'ERROR',
      object: { kind: 'Status', code: 410, message: 'too old resource version' },
    }
    t.match(await receive(bookmark, error), {
      accepted: 1,
      rejected: [{ index: 1, message: /too old resource version; list again/ }],
    })
    t.equal(store.snapshot().revision, 0)
  })

  t.test('of a cluster may have fields that are not known here', async t => {
    const { store, receive } = aRelay()
    const object = {
      ...service('a', 1),
      spec: { ports: [{ port: 1, novelty: true }], trafficDistribution: 'PreferClose' },
    }
    t.match(await receive(added(object)), { accepted: 1, rejected: [] })
    t.strictSame(ports(store.snapshot()), { a: 1 })
  })

  t.test('are defaulted as an API server would', async t => {
    const { store, receive } = aRelay()
    await receive(added(service('a', 1)))
    t.match(store.snapshot().get('service:shop/a'), { spec: { ports: [{ protocol: 'TCP', targetPort: 1 }] } })
  })

  t.test('each is judged alone: the bad ones are named with the reason, the others count', async t => {
    const { store, receive } = aRelay()
    await receive(added(service('a', 1)))
    const before = store.snapshot().get('service:shop/a')
    const broken = { ...service('a', 2), spec: { ports: [{ port: 'http' }] } }
    const { rejected, accepted } = await receive(
      added(broken),
      null,
      'text',
      [],
      { type: 'REPLACED', object: service('x', 1) },
      { type: 'ADDED' },
      added({ kind: 'Service', metadata: { name: 'x' } }),
      added({ ...service('x', 1), metadata: { namespace: 'shop' } }),
      added({ ...service('x', 1), kind: 'Deployment', apiVersion: 'apps/v1' }),
      added({ ...service('x', 1), metadata: { name: 'x', resourceVersion: 'abc' } }),
      deleted({ ...service('x', 1), metadata: 7 }),
      { type: 'HINT', kind: 'service', key: 'secret:shop/a' },
      { type: 'SYNC', syncId: '1', scope: {}, part: 1, of: 1 },
      added(service('b', 3)),
    )
    t.equal(accepted, 1)
    t.strictSame(
      rejected.map(({ index }) => index),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    )
    t.match(rejected[0], { object: 'service:shop/a', message: /spec\.ports\[0\]\.port/ })
    t.match(rejected[4]?.message, /type must be ADDED/)
    t.match(rejected[8]?.message, /Deployment in apps\/v1 is not among/)
    t.match(rejected[9]?.message, /must be a decimal number/)
    t.equal(store.snapshot().get('service:shop/a'), before)
    t.strictSame(ports(store.snapshot()), { a: 1, b: 3 })
  })
  t.end()
})

t.test('CloudEvents, as a Knative ApiServerSource sends them', async t => {
  const { store, receive, hints } = aRelay()
  const event = (operation: string, data: object) => ({
    specversion: '1.0',
    id: 'b3a7',
    source: 'https://10.96.0.1:443',
    type: `dev.knative.apiserver.${operation}`,
    subject: '/apis/v1/namespaces/shop/services/a',
    data,
  })
  t.match(await receive(event('resource.add', service('a', 1)), event('resource.update', service('a', 2))), {
    accepted: 2,
  })
  t.strictSame(ports(store.snapshot()), { a: 2 })
  t.match(await receive(event('resource.delete', service('a', 3))), { accepted: 1 })
  t.strictSame(ports(store.snapshot()), {})
  await receive(event('resource.update', service('b', 5)))
  t.match(
    await receive(event('resource.delete', service('b', 5)), event('resource.update', service('b', 5))),
    {
      accepted: 1,
      stale: 1,
    },
  )
  t.strictSame(ports(store.snapshot()), {}, 'a delete with the last state that was seen is one all the same')
  t.match(await receive(event('resource.grow', {}), { ...event('resource.add', {}), specversion: '2' }), {
    rejected: [{ message: /add, update or delete/ }, { message: /must be 1.0/ }],
  })

  const reference = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'a' }
  const foreign = { ...reference, apiVersion: 'apps/v1', kind: 'Deployment' }
  t.match(
    await receive(event('ref.delete', reference), event('ref.grow', reference), event('ref.add', foreign)),
    { accepted: 1, rejected: [{ message: /ref.add, update or delete/ }, { message: /Deployment in apps/ }] },
  )
  t.strictSame(
    hints,
    [{ kind: 'service', key: 'service:shop/a', operation: 'DELETE' }],
    'a reference is a hint',
  )
  const alone = createReceiver({ store: createStore() })
  t.match(
    await alone.receive([event('ref.add', reference)]),
    {
      rejected: [{ object: 'service:shop/a', message: /mode to Resource/ }],
    },
    'that is of no use where nobody can be asked',
  )
})

t.test('SYNC', t => {
  t.test('prunes what it does not show and could have seen', async t => {
    const { store, receive } = aRelay()
    await receive(added(service('gone', 3)), added(service('kept', 4)), added(service('newer', 12)))
    t.match(await receive(sync(10, [service('kept', 4), service('more', 5)])), { accepted: 2, duplicate: 1 })
    t.strictSame(ports(store.snapshot()), { kept: 4, more: 5, newer: 12 })
  })

  t.test('prunes only inside its namespaces and its selector', async t => {
    const { store, receive } = aRelay()
    const front = { labels: { tier: 'front' } }
    await receive(
      added(service('a', 1, front)),
      added(service('b', 2, { labels: { tier: 'back' } })),
      added(service('c', 3, { ...front, namespace: 'other' })),
    )
    await receive(sync(10, [], { namespaces: ['shop'], selector: 'tier in (front, middle),!canary' }))
    t.strictSame(ports(store.snapshot()), { b: 2, c: 3 })
    await receive(sync(11, [], { selector: 'tier!=front' }))
    t.strictSame(ports(store.snapshot()), { c: 3 })
    t.match(await receive(sync(12, [], { selector: '(((' })), {
      rejected: [{ message: /no label selector/ }],
    })
  })

  t.test('in parts, in any order, counts when the last one has come', async t => {
    const { store, receive } = aRelay()
    await receive(added(service('old', 1)))
    t.match(await receive(sync(10, [service('c', 5)], {}, 3, 3)), { accepted: 0 })
    t.match(await receive(sync(10, [service('a', 3)], {}, 1, 3)), { accepted: 0 })
    t.match(await receive(sync(10, [service('a', 3)], {}, 1, 3)), { duplicate: 1 })
    t.strictSame(ports(store.snapshot()), { old: 1 })
    t.match(await receive(sync(10, [service('b', 4)], {}, 2, 3)), { accepted: 4 })
    t.strictSame(ports(store.snapshot()), { a: 3, b: 4, c: 5 })
  })

  t.test('is discarded when a part has not come after a minute', async t => {
    const { store, receive, clock, metrics } = aRelay()
    await receive(added(service('old', 1)))
    await receive(sync(10, [service('a', 3)], {}, 1, 2))
    clock.advance(60_000)
    t.match(await receive(sync(10, [service('b', 4)], {}, 2, 2)), { accepted: 0 })
    t.strictSame(ports(store.snapshot()), { old: 1 })
    t.match(await metrics.text(), /relay_syncs_discarded_total 1/)
  })

  t.test('sixteen may be under way at once; the next is turned away until one has ended', async t => {
    const { receive, clock } = aRelay()
    const begin = (version: number) => receive(sync(version, [], {}, 1, 2))
    for (let version = 1; version <= 16; version++) t.match(await begin(version), { rejected: [] })
    t.match(await begin(17), { rejected: [{ message: /16 SYNCs are under way/ }] })
    await receive(sync(1, [], {}, 2, 2))
    t.match(await begin(17), { rejected: [] })
    clock.advance(60_000)
    t.match(await begin(18), { rejected: [] })
  })

  t.test('a part of another list under its name is rejected', async t => {
    const { receive } = aRelay()
    const first = sync(10, [], {}, 1, 2)
    await receive(first)
    t.match(await receive({ ...first, part: 2, version: '11' }), {
      rejected: [{ message: /of another list/ }],
    })
  })

  t.test('replayed or late, it does not turn back what is newer', async t => {
    const { store, receive } = aRelay()
    const old = sync(10, [service('a', 3)])
    await receive(old)
    await receive(sync(20, [service('b', 15)]))
    t.strictSame(ports(store.snapshot()), { b: 15 })
    t.match(await receive(old), { duplicate: 1 })
    t.match(await receive({ ...old, syncId: 'late' }), { accepted: 0, stale: 1 })
    t.strictSame(ports(store.snapshot()), { b: 15 })
  })

  t.test('older than what is known is late, or of a restored etcd: the kind is to be listed', async t => {
    const { store, receive, hints } = aRelay()
    await receive(sync(20, [service('a', 15)]))
    await receive({ ...sync(10, [service('a', 5), service('b', 6), service('c', 7)]), syncId: 'old' })
    t.strictSame(ports(store.snapshot()), { a: 15 })
    t.strictSame(hints, [{ kind: 'service' }], 'once, not for each object')
  })

  t.test('of thousands of objects is one notice and does not hold the event loop', async t => {
    const { store, receive } = aRelay()
    let notices = 0
    store.subscribe(() => {
      notices++
    })
    const items = Array.from({ length: 3000 }, (_, n) => service(`s${n}`, n + 1))
    await receive(sync(5000, items))
    t.equal(notices, 2)
    t.equal(store.snapshot().count('service'), 3000)
  })

  t.test('an item that is not valid is rejected, and what is held of it is not pruned', async t => {
    const { store, receive } = aRelay()
    await receive(added(service('a', 1)), added(service('b', 2)))
    const broken = { ...service('a', 5), spec: { ports: 'none' } }
    t.match(await receive(sync(10, [broken])), { rejected: [{ index: 0, object: 'service:shop/a' }] })
    t.strictSame(ports(store.snapshot()), { a: 1 })
  })
  t.end()
})

t.test('Secrets that nobody references are dropped and counted; where all are wanted, none is', async t => {
  const secret = (name: string, version: number) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'shop', resourceVersion: String(version) },
    stringData: { key: 'text' },
  })
  const store = createStore({ freeze: true })
  const wanted = new Set(['secret:shop/tls'])
  const relay = createReceiver({ store, isWanted: key => wanted.has(key) })
  const counts = await relay.receive([
    added(secret('tls', 1)),
    added(secret('other', 2)),
    added(service('a', 3)),
  ])
  t.match(counts, { accepted: 3, rejected: [] })
  t.strictSame([...store.snapshot().kinds()], ['secret', 'service'])
  t.match(await relay.receive([sync(9, [secret('tls', 1), secret('other', 2)], { kind: 'secret' })]), {
    accepted: 1,
    duplicate: 1,
  })
  t.equal(store.snapshot().count('secret'), 1)
  wanted.add('secret:shop/other')
  t.match(await relay.receive([added(secret('other', 10))]), { accepted: 1 })
  t.equal(store.snapshot().count('secret'), 2)
})

t.test('hints', t => {
  t.test('go to whoever reads back, with facts that are too old to be believed', async t => {
    const { hints, receive, store } = aRelay()
    const hint = { kind: 'service', key: 'service:shop/a', uid: 'u', operation: 'CREATE', version: '4' }
    t.match(await receive({ type: 'HINT', ...hint }, { type: 'HINT', kind: 'Service' }), { accepted: 2 })
    await receive(sync(10, []))
    await receive(added(service('b', 9)), added(service('b', 8)))
    t.strictSame(hints, [hint, { kind: 'service' }, { kind: 'service', key: 'service:shop/b', version: '9' }])
    t.match(await receive({ type: 'HINT', kind: 'service', version: 'new' }, { type: 'HINT' }), {
      rejected: [{ message: /version must be/ }, { message: /needs a kind/ }],
    })
    t.strictSame(ports(store.snapshot()), {})
  })
  t.end()
})

t.test('full lists', t => {
  t.test('are taken in one step; a kind that fails stays as it was, one that is absent is named', async t => {
    const store = createStore({ freeze: true })
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'shop', resourceVersion: '1' },
    }
    store.apply([
      { type: 'upsert', object: service('old', 1), version: '1' },
      { type: 'upsert', object: secret, version: '1' },
    ])
    let notices = 0
    store.subscribe(() => {
      notices++
    })
    const metrics = createMetrics()
    const report = await reconcile({
      store,
      metrics,
      kinds: ['service', 'secret', 'backend.gatewright.io', 'configmap'],
      lister: {
        list: kind => {
          if (kind === 'secret') return Promise.reject(new Error('403 Forbidden'))
          if (kind === 'backend.gatewright.io') return Promise.resolve('absent')
          return Promise.resolve({ items: kind === 'service' ? [service('new', 4)] : [], version: '9' })
        },
      },
    })
    t.strictSame(report, {
      accepted: 2,
      stale: 0,
      duplicate: 0,
      degraded: [{ source: 'secret', message: '403 Forbidden' }],
      rejected: [],
      absent: ['backend.gatewright.io'],
      resets: [],
    })
    t.equal(notices, 2)
    t.strictSame(store.snapshot().kinds(), ['secret', 'service'])
    t.match(
      await metrics.text(),
      /store_drift_total\{kind="service"\} 2[^]*list_failures_total\{kind="secret"\} 1/,
    )
  })

  t.test('of a restored database are taken whole', async t => {
    const store = createStore({ freeze: true })
    const list = (version: string, items: readonly object[]) =>
      reconcile({ store, kinds: ['service'], lister: { list: () => Promise.resolve({ items, version }) } })
    await list('100', [service('a', 90)])
    t.strictSame((await list('50', [service('b', 40)])).resets, ['service'])
    t.strictSame(ports(store.snapshot()), { b: 40 })
  })
  t.end()
})
