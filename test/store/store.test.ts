import t from 'tap'
import { createEngine } from '../../src/collections/index.js'
import type { KubeObject } from '../../src/core/index.js'
import { compareVersions, createStore, isVersion, mirror } from '../../src/store/index.js'
import type { Notice, Store, StoreEvent, Update } from '../../src/store/index.js'
import { aWidget, widgetKey, widgetKind } from './objects.js'

/** `name` at `version`, as an event; the size tells versions apart. */
function at(name: string, version: string, uid?: string): StoreEvent {
  return {
    type: 'upsert',
    version,
    object: aWidget(name, Number(version), { resourceVersion: version, ...(uid !== undefined && { uid }) }),
  }
}

function gone(name: string, version?: string, uid?: string): StoreEvent {
  return {
    type: 'delete',
    locator: widgetKey(name),
    ...(version !== undefined && { version }),
    ...(uid !== undefined && { uid }),
  }
}

const item = (name: string, version: string, uid?: string): KubeObject => {
  const event = at(name, version, uid)
  if (event.type !== 'upsert') throw new Error('unreachable')
  return event.object
}

const sizes = (store: Store) =>
  Object.fromEntries(
    store
      .snapshot()
      .list(widgetKind)
      .map(object => [object.metadata.name, (object as ReturnType<typeof aWidget>).spec.size]),
  )

const brief = (updates: readonly Update[]) =>
  updates.map(update => {
    const sizeOf = (object: KubeObject) => (object as ReturnType<typeof aWidget>).spec.size
    const [, name] = update.locator.split('/')
    if (update.type === 'create') return `+${name} ${sizeOf(update.newObject)}`
    if (update.type === 'delete') return `-${name} ${sizeOf(update.oldObject)}`
    return `~${name} ${sizeOf(update.oldObject)}>${sizeOf(update.newObject)}`
  })

/** Every notice after the first, as text. */
function heard(store: Store) {
  const notices: string[][] = []
  store.subscribe(notice => void notices.push(brief(notice.updates)))
  notices.length = 0
  return notices
}

t.test('versions are ordered as numbers of any length, and only numbers are versions', t => {
  t.equal(compareVersions('99', '100') < 0, true)
  t.equal(compareVersions('18446744073709551617', '18446744073709551616') > 0, true)
  t.equal(compareVersions('7', '7'), 0)
  t.strictSame(['0', '12', '', '01', '-1', '1e3', 'abc', '1.0'].filter(isVersion), ['0', '12'])
  t.end()
})

t.test('events', t => {
  t.test('an older event is stale, the same one a duplicate, a newer one is taken', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '9')])
    const applied = store.apply([at('a', '8'), at('a', '9'), at('a', '10'), at('a', '9')])
    t.match(applied, { accepted: 1, stale: 2, duplicate: 1, hints: [], resets: [] })
    t.strictSame(sizes(store), { a: 10 })
    t.end()
  })

  t.test('versions of one kind say nothing of another kind', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '900')])
    const gadget = { ...aWidget('a', 5), kind: 'Gadget' }
    t.match(store.apply([{ type: 'upsert', object: gadget, version: '5' }]), { accepted: 1, stale: 0 })
    t.end()
  })

  t.test('what was deleted does not come back by an older event', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '5'), gone('a', '7')])
    t.match(store.apply([at('a', '6'), at('a', '7'), gone('a', '6')]), { accepted: 0, stale: 3 })
    t.match(store.apply([gone('a', '7')]), { duplicate: 1 })
    t.strictSame(sizes(store), {})
    store.apply([at('a', '8')])
    t.strictSame(sizes(store), { a: 8 })
    t.end()
  })

  t.test('a delete that comes before the create it ends leaves nothing', t => {
    const store = createStore({ freeze: true })
    store.apply([gone('a', '7')])
    t.match(store.apply([at('a', '5')]), { stale: 1 })
    t.strictSame(sizes(store), {})
    t.end()
  })

  t.test('a late delete of the object that had the name before does not touch its successor', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '3', 'first'), at('a', '9', 'second')])
    t.match(store.apply([gone('a', '8', 'first')]), { stale: 1 })
    t.match(store.apply([gone('a', undefined, 'first')]), { stale: 1 }, 'by its uid, where it has no version')
    t.strictSame(sizes(store), { a: 9 })
    t.end()
  })

  t.test('a forgotten delete raises the floor: an unknown key at or below it is only a hint', t => {
    const store = createStore({ freeze: true, tombstones: 2 })
    store.apply([gone('a', '10'), gone('b', '11'), gone('c', '12')])
    const applied = store.apply([at('a', '9'), at('new', '10'), at('newer', '11')])
    t.strictSame(applied.hints, [widgetKey('a'), widgetKey('new')])
    t.equal(applied.accepted, 1)
    t.strictSame(sizes(store), { newer: 11 })
    t.match(store.apply([at('b', '11')]), { stale: 1, hints: [] }, 'a tombstone that is kept says more')
    t.end()
  })

  t.test('facts without a version are taken as they come, and once', t => {
    const store = createStore({ freeze: true })
    const upsert = (size: number): StoreEvent => ({ type: 'upsert', object: aWidget('a', size) })
    t.match(store.apply([upsert(2), upsert(1)]), { accepted: 2 })
    const { revision } = store.snapshot()
    t.match(store.apply([upsert(1)]), { accepted: 0, duplicate: 1 })
    t.equal(store.snapshot().revision, revision)
    t.match(store.apply([gone('a')]), { accepted: 1 })
    t.match(store.apply([gone('a')]), { duplicate: 1 })
    t.end()
  })

  t.test('a file that took over an object does not let its older events back in', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '5')])
    store.apply([{ type: 'upsert', object: aWidget('a', -1) }])
    t.match(store.apply([at('a', '5'), at('a', '4')]), { stale: 2 })
    t.match(store.apply([at('a', '6')]), { accepted: 1 })
    t.end()
  })

  t.test('one apply is one transaction: one revision, one notice', t => {
    const store = createStore({ freeze: true })
    const notices = heard(store)
    store.apply([at('a', '1'), at('b', '2'), at('a', '3')])
    t.equal(store.snapshot().revision, 1)
    t.strictSame(notices, [['+a 3', '+b 2']])
    store.apply([at('a', '2')])
    t.equal(store.snapshot().revision, 1)
    t.equal(notices.length, 1)
    t.end()
  })
  t.end()
})

t.test('what is forgotten leaves no trace, so that the same version may come back', t => {
  const store = createStore({ freeze: true })
  const notices = heard(store)
  store.apply([at('a', '5')])
  t.match(store.apply([{ type: 'forget', locator: widgetKey('a') }]), { accepted: 1 })
  t.match(store.apply([{ type: 'forget', locator: widgetKey('a') }]), { duplicate: 1 })
  t.strictSame(sizes(store), {})
  t.match(store.apply([at('a', '5')]), { accepted: 1 })
  t.strictSame(notices, [['+a 5'], ['-a 5'], ['+a 5']])
  t.end()
})

t.test('lists', t => {
  t.test('a list skips what is older than held, and removes only what it could have seen', t => {
    const store = createStore({ freeze: true })
    store.apply([at('kept', '14'), at('old', '4'), at('newer', '15')])
    const applied = store.replace({
      kind: widgetKind,
      version: '13',
      items: [item('kept', '11'), item('more', '6')],
    })
    t.match(applied, { accepted: 2, stale: 1 })
    t.strictSame(sizes(store), { kept: 14, more: 6, newer: 15 })
    t.end()
  })

  t.test('a list that could have seen what is held, or a delete, and shows an older state is right', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '12'), at('b', '5'), gone('b', '11')])
    const items = [item('a', '4'), item('b', '5')]
    t.match(store.replace({ kind: widgetKind, version: '13', items }), { accepted: 2, resets: [] })
    t.strictSame(sizes(store), { a: 4, b: 5 }, 'the database was restored and has been written to since')
    t.end()
  })

  t.test('a list does not bring back what was deleted after it', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '4'), gone('a', '14')])
    t.match(store.replace({ kind: widgetKind, version: '13', items: [item('a', '4')] }), {
      accepted: 0,
      stale: 1,
    })
    t.strictSame(sizes(store), {})
    t.end()
  })

  t.test('a late event of something that a list showed to be gone stays out', t => {
    const store = createStore({ freeze: true })
    store.apply([at('known', '4')])
    store.replace({ kind: widgetKind, version: '13', items: [] })
    t.match(store.apply([at('known', '4')]), { stale: 1 })
    t.strictSame(store.apply([at('never-seen', '9')]).hints, [widgetKey('never-seen')])
    t.match(store.apply([at('later', '14')]), { accepted: 1 })
    t.strictSame(sizes(store), { later: 14 })
    t.end()
  })

  t.test('a list below the newest one seen is a reset: adopted whole, the past forgotten', t => {
    const store = createStore({ freeze: true })
    store.replace({ kind: widgetKind, version: '100', items: [item('a', '90'), item('b', '91')] })
    store.apply([gone('b', '101'), at('c', '102')])
    const applied = store.replace({
      kind: widgetKind,
      version: '50',
      items: [item('a', '40'), item('b', '41')],
    })
    t.strictSame(applied.resets, [widgetKind])
    t.strictSame(sizes(store), { a: 40, b: 41 })
    t.match(store.apply([at('new', '51')]), { accepted: 1 }, 'the floor went down with it')
    t.end()
  })

  t.test('the same list again changes nothing', t => {
    const store = createStore({ freeze: true })
    const list = { kind: widgetKind, version: '10', items: [item('a', '9')] }
    store.replace(list)
    t.match(store.replace(list), { accepted: 0, duplicate: 1, resets: [] })
    t.equal(store.snapshot().revision, 1)
    t.end()
  })

  t.test('a list of a part of a kind prunes only that part and says nothing of the rest', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '4'), at('b', '5')])
    const within = (held: KubeObject) => held.metadata.name === 'a'
    store.replace({ kind: widgetKind, version: '10', items: [], within })
    t.strictSame(sizes(store), { b: 5 })
    t.match(store.apply([at('other', '9')]), { accepted: 1, hints: [] })
    t.match(store.replace({ kind: widgetKind, version: '8', items: [], within }), { resets: [] })
    t.end()
  })

  t.test('a list of one name says that it is not there, heard of or not', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '4'), at('b', '5')])
    const only = (name: string, version: string) =>
      store.replace({ kind: widgetKind, version, items: [], only: widgetKey(name) })
    only('a', '10')
    only('never-seen', '10')
    t.strictSame(sizes(store), { b: 5 })
    t.match(store.apply([at('a', '9'), at('never-seen', '9'), at('other', '9')]), { accepted: 1, stale: 2 })
    only('b', '4')
    t.strictSame(sizes(store), { b: 5, other: 9 }, 'an older one removes nothing')
    t.end()
  })

  t.test(
    'what is there but not among the items stays, and the list is one of the whole kind all the same',
    t => {
      const store = createStore({ freeze: true })
      store.replace({ kind: widgetKind, version: '10', items: [item('a', '4'), item('b', '5')] })
      const spares = (key: string) => key === widgetKey('a')
      store.replace({ kind: widgetKind, version: '20', items: [], spares })
      t.strictSame(sizes(store), { a: 4 })
      t.strictSame(store.apply([at('late', '15')]).hints, [widgetKey('late')], 'the floor has risen')
      t.match(store.replace({ kind: widgetKind, version: '9', items: [item('c', '8')], spares }), {
        resets: [widgetKind],
      })
      t.strictSame(sizes(store), { a: 4, c: 8 })
      store.apply([at('a', '3')])
      t.strictSame(sizes(store), { a: 3, c: 8 }, 'after a reset anything is newer than what was spared')
      t.end()
    },
  )

  t.test('a list is one of a restored database when more was known before it was begun', t => {
    const store = createStore({ freeze: true })
    store.replace({ kind: widgetKind, version: '10', items: [item('a', '4')] })
    const since = store.newest(widgetKind)
    store.apply([at('b', '30')])
    store.replace({ kind: widgetKind, version: '25', items: [item('a', '4')], mayBeLate: true })
    const overtaken = { kind: widgetKind, version: '20', items: [item('a', '4')], since }
    t.match(store.replace(overtaken), { resets: [] }, 'it was begun before the newer one was known')
    t.strictSame(sizes(store), { a: 4, b: 30 })
    t.match(store.replace({ ...overtaken, since: store.newest(widgetKind) }), { resets: [widgetKind] })
    t.strictSame(sizes(store), { a: 4 })
    t.end()
  })

  t.test('a list that may be late and is older than what is known is named', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '12')])
    const list = { kind: widgetKind, items: [], mayBeLate: true }
    t.match(store.replace({ ...list, version: '11' }), { late: [widgetKind], resets: [] })
    t.match(store.replace({ ...list, version: '12' }), { late: [] })
    t.strictSame(sizes(store), {})
    t.end()
  })

  t.test('a kind that is gone takes its objects with it, and late events do not bring them back', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '4'), at('b', '9'), { type: 'upsert', object: aWidget('file', 1) }])
    t.match(store.replace({ kind: widgetKind, items: [], isAbsent: true }), { accepted: 2 })
    t.strictSame(sizes(store), { file: 1 })
    t.match(store.apply([at('a', '6'), at('c', '8')]), { accepted: 0 })
    store.replace({
      kind: widgetKind,
      version: '20',
      items: [item('a', '18')],
      since: store.newest(widgetKind),
    })
    t.strictSame(sizes(store), { a: 18, file: 1 }, 'installed again')
    t.end()
  })

  t.test('in slices is the same: one notice, and what is taken meanwhile is not lost', async t => {
    const store = createStore({ freeze: true })
    store.apply([at('gone', '1'), at('newer', '2'), at('removed', '3')])
    const notices = heard(store)
    const items = Array.from({ length: 1000 }, (_, n) => item(`n${n}`, String(n + 10)))
    let pauses = 0
    const pause = () => {
      if (pauses++ === 0) store.apply([at('newer', '6000'), at('late', '8'), gone('n900', '6001')])
      return Promise.resolve()
    }
    const all = [...items, item('newer', '2'), item('removed', '3')]
    const applied = await store.replaceInSlices([{ kind: widgetKind, version: '5000', items: all }], pause)
    t.ok(pauses > 3)
    t.match(applied, { accepted: 1000, stale: 2, duplicate: 1, resets: [] })
    t.equal(notices.length, 1)
    const { gone: wentAway, late, n900, newer, removed, ...rest } = sizes(store)
    t.strictSame([wentAway, late, n900, newer, removed], [undefined, undefined, undefined, 6000, 3])
    t.equal(Object.keys(rest).length, 999)
    t.end()
  })

  t.test('lists of several kinds are one transaction', t => {
    const store = createStore({ freeze: true })
    let notices = 0
    store.subscribe(() => {
      notices++
    })
    const gadget = { ...aWidget('g', 1, { resourceVersion: '3' }), kind: 'Gadget' }
    store.replaceAll([
      { kind: widgetKind, version: '10', items: [item('a', '9')] },
      { kind: 'gadget.example.test', version: '3', items: [gadget] },
    ])
    t.equal(notices, 2, 'the greeting and one more')
    t.strictSame(store.snapshot().kinds(), ['gadget.example.test', widgetKind])
    t.end()
  })

  t.test('files and versioned facts do not prune each other', t => {
    const store = createStore({ freeze: true })
    store.apply([at('fact', '4'), { type: 'upsert', object: aWidget('file', 1) }])
    store.replace({ kind: widgetKind, items: [] })
    t.strictSame(sizes(store), { fact: 4 })
    store.apply([{ type: 'upsert', object: aWidget('file', 1) }])
    store.replace({ kind: widgetKind, version: '9', items: [] })
    t.strictSame(sizes(store), { file: 1 })
    t.end()
  })

  t.test('a list with an item of another kind is a bug of the lister', t => {
    const store = createStore()
    t.throws(() => store.replace({ kind: 'gadget.example.test', items: [aWidget('a')] }), /holds a widget/)
    t.equal(store.snapshot().revision, 0)
    t.end()
  })
  t.end()
})

t.test('notices', t => {
  t.test('the first one holds everything as creates, of the very state of its snapshot', t => {
    const store = createStore({ freeze: true })
    store.apply([at('b', '1'), at('a', '2')])
    const notices: Notice[] = []
    store.subscribe(notice => void notices.push(notice))
    t.equal(notices.length, 1)
    t.strictSame(brief(notices[0]?.updates ?? []).sort(), ['+a 2', '+b 1'])
    t.equal(notices[0]!.snapshot, store.snapshot())
    t.end()
  })

  t.test('a name that was given to another object is a delete and a create, in that order', t => {
    const store = createStore({ freeze: true })
    const notices = heard(store)
    store.apply([at('a', '1', 'first')])
    store.apply([at('a', '5', 'second')])
    t.strictSame(notices, [['+a 1'], ['-a 1', '+a 5']])
    t.end()
  })

  t.test('what nobody derives from is stored and not told', t => {
    const store = createStore({ freeze: true })
    const route = (version: string, extra: object, status?: unknown): StoreEvent => ({
      type: 'upsert',
      version,
      object: {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: { name: 'r', namespace: 'shop', resourceVersion: version, ...extra },
        ...(status !== undefined && { status }),
      },
    })
    const ours = { controllerName: 'gatewright.io/gateway-controller', conditions: [] }
    const foreign = (word: string) => ({ controllerName: 'other.example/controller', conditions: [word] })
    const notices: number[] = []
    store.apply([route('1', {})])
    store.subscribe(notice => void notices.push(notice.updates.length))
    store.apply([route('2', { managedFields: [{ manager: 'kubectl' }] })])
    store.apply([route('3', {}, { parents: [ours] })])
    store.apply([route('4', {}, { parents: [] })])
    store.apply([route('5', {}, null)])
    t.strictSame(notices, [1], 'only the greeting')
    t.equal(store.snapshot().list('httproute.gateway.networking.k8s.io')[0]?.metadata.resourceVersion, '5')
    t.equal(store.snapshot().revision, 5)
    store.apply([route('6', {}, { parents: [ours, foreign('a')] })])
    store.apply([route('7', {}, { parents: [foreign('b')] })])
    store.apply([route('8', { labels: { a: 'b' } }, { parents: [foreign('b')] })])
    t.strictSame(notices, [1, 1, 1, 1], 'foreign status and labels are told')
    t.end()
  })

  t.test('the status of a Gateway is ours to write; that of a Service is not', t => {
    const store = createStore({ freeze: true })
    const withStatus = (apiVersion: string, kind: string, version: string): StoreEvent => ({
      type: 'upsert',
      version,
      object: {
        apiVersion,
        kind,
        metadata: { name: 'x', namespace: 'y' },
        status: { version },
      } as KubeObject,
    })
    const told: string[] = []
    store.subscribe(
      ({ updates }) => void told.push(...updates.map(({ type, locator }) => `${type} ${locator}`)),
    )
    for (const version of ['1', '2']) {
      store.apply([withStatus('gateway.networking.k8s.io/v1', 'Gateway', version)])
      store.apply([withStatus('gatewright.io/v1alpha1', 'Backend', version)])
      store.apply([withStatus('v1', 'Service', version)])
    }
    t.strictSame(told.slice(3), ['update service:y/x'])
    t.end()
  })

  t.test('a slow listener gets one notice with everything merged', async t => {
    const store = createStore({ freeze: true })
    const notices: string[][] = []
    let settle: () => void = () => undefined
    store.apply([at('u', '1'), at('d', '2'), at('x', '3', 'first')])
    store.subscribe(notice => {
      notices.push(brief(notice.updates).sort())
      return new Promise(resolve => (settle = resolve))
    })
    store.apply([at('u', '10'), at('c', '11'), at('n', '12'), gone('x', '13', 'first')])
    store.apply([at('u', '20'), at('c', '21'), gone('n', '22'), at('x', '23', 'second')])
    store.apply([gone('d', '24'), at('x', '30', 'second')])
    t.equal(notices.length, 1, 'it is still at work on the first')
    settle()
    await new Promise(resolve => setImmediate(resolve))
    t.strictSame(notices[1], ['+c 21', '+x 30', '-d 2', '-x 3', '~u 1>20'])
    store.apply([at('c', '40')])
    settle()
    await new Promise(resolve => setImmediate(resolve))
    t.strictSame(notices[2], ['~c 21>40'])
    t.end()
  })

  t.test(
    'a slow listener is not told of a part of a list, and the store knows when it has heard all',
    async t => {
      const store = createStore({ freeze: true })
      const sizes: number[] = []
      const settle: (() => void)[] = []
      store.subscribe(({ updates }) => {
        sizes.push(updates.length)
        return updates.length === 0 ? undefined : new Promise(resolve => settle.push(resolve))
      })
      t.ok(store.isHeard())
      store.apply([at('first', '1')])
      t.notOk(store.isHeard(), 'it is at work')
      const items = Array.from({ length: 1000 }, (_, n) => item(`n${n}`, String(n + 10)))
      const pause = async () => {
        settle.shift()?.()
        await new Promise(resolve => setImmediate(resolve))
        t.notOk(store.isHeard())
      }
      const list = { kind: widgetKind, version: '5000', items: [...items, item('first', '1')] }
      await store.replaceInSlices([list], pause)
      t.strictSame(sizes, [0, 1, 1000])
      t.notOk(store.isHeard())
      settle.shift()?.()
      await new Promise(resolve => setImmediate(resolve))
      t.ok(store.isHeard())
      t.end()
    },
  )

  t.test('a listener that calls the store sees the consequence next, and so do the others, in order', t => {
    const store = createStore({ freeze: true })
    const first: string[][] = []
    store.subscribe(({ updates, snapshot }) => {
      first.push(brief(updates))
      if (snapshot.size === 1) store.apply([at('b', '2')])
    })
    const second = heard(store)
    store.apply([at('a', '1')])
    t.strictSame(first, [[], ['+a 1'], ['+b 2']])
    t.strictSame(second.flat(), ['+a 1', '+b 2'])
    t.end()
  })

  t.test('a listener that throws or rejects is reported and stops nobody, itself included', async t => {
    const errors: unknown[] = []
    const store = createStore({ freeze: true, onListenerError: error => void errors.push(error) })
    let calls = 0
    store.subscribe(() => {
      calls++
      throw new Error('thrown')
    })
    store.subscribe(() => Promise.reject(new Error('rejected')))
    const other = heard(store)
    store.apply([at('a', '1')])
    await new Promise(resolve => setImmediate(resolve))
    t.strictSame(errors.map(error => (error as Error).message).sort(), [
      'rejected',
      'rejected',
      'thrown',
      'thrown',
    ])
    t.equal(calls, 2)
    t.strictSame(other, [['+a 1']])
    t.end()
  })

  t.test('whoever left hears nothing more, even when it leaves in the middle of a notice', t => {
    const store = createStore({ freeze: true })
    let calls = 0
    const leave = store.subscribe(() => {
      if (++calls === 2) leave()
    })
    store.apply([at('a', '1')])
    store.apply([at('a', '2')])
    t.equal(calls, 2)
    t.end()
  })
  t.end()
})

t.test('snapshots', t => {
  t.test('an older snapshot stays as it was', t => {
    const store = createStore({ freeze: true })
    store.apply([at('b', '1'), at('a', '2')])
    const before = store.snapshot()
    store.apply([at('a', '3'), gone('b', '4')])
    t.equal(before.size, 2)
    t.strictSame(
      before.list(widgetKind).map(object => object.metadata.name),
      ['a', 'b'],
    )
    t.equal(before.get(widgetKey('b'))?.metadata.name, 'b')
    t.equal(store.snapshot().get(widgetKey('b')), undefined)
    t.equal(store.snapshot().count(widgetKind), 1)
    t.strictSame(store.snapshot().list('nothing'), [])
    t.end()
  })

  t.test('a kind that did not change is listed once for all snapshots', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '1')])
    const list = store.snapshot().list(widgetKind)
    store.apply([{ type: 'upsert', object: { ...aWidget('g'), kind: 'Gadget' } }])
    t.equal(store.snapshot().list(widgetKind), list)
    t.end()
  })

  t.test('under test nobody can change an object that is held', t => {
    const store = createStore({ freeze: true })
    store.apply([at('a', '1')])
    const held = store.snapshot().get(widgetKey('a')) as unknown as { spec: { size: number } }
    t.throws(() => (held.spec.size = 2), TypeError)
    t.end()
  })
  t.end()
})

t.test('the mirror holds each kind in a collection of its own, at the next flush', t => {
  const engine = createEngine()
  const store = createStore({ freeze: true })
  const mirrored = mirror(engine)
  const { objects } = mirrored
  store.subscribe(notice => mirrored.apply(notice.updates))
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'shop' }, spec: {} }
  store.apply([{ type: 'upsert', object: service }, at('a', '1')])
  engine.flush()
  t.strictSame([...objects.services.keys()], ['service:shop/s'])
  t.equal(objects.services.get('service:shop/s'), service)
  t.equal(objects.httpRoutes.size, 0)
  store.apply([{ type: 'delete', locator: 'service:shop/s' }])
  engine.flush()
  t.equal(objects.services.size, 0)
  t.end()
})
