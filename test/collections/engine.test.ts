import fc from 'fast-check'
import t from 'tap'
import {
  createEngine,
  equal,
  type Collection,
  type Engine,
  type Source,
} from '../../src/collections/index.js'

/** Counts how often each entry is computed. */
function counting() {
  const calls: string[] = []
  return { calls, take: () => calls.splice(0).sort() }
}

t.test('a derived entry follows its source entry and nothing else', t => {
  const engine = createEngine()
  const words = engine.source<string>('words')
  const { calls, take } = counting()
  const lengths = engine.derive('lengths', words, (word, _context, key) => {
    calls.push(key)
    return word.length
  })
  words.set('a', 'one')
  words.set('b', 'three')
  t.equal(lengths.size, 0, 'nothing moves before the flush')
  engine.flush()
  t.strictSame(
    [...lengths.entries()],
    [
      ['a', 3],
      ['b', 5],
    ],
  )
  take()
  words.set('b', 'four')
  engine.flush()
  t.equal(lengths.get('b'), 4)
  t.strictSame(take(), ['b'], 'only the entry that changed is computed')
  words.delete('a')
  engine.flush()
  t.notOk(lengths.has('a'))
  t.end()
})

t.test('a read is remembered, also of a key that is missing', t => {
  const engine = createEngine()
  const names = engine.source<string>('names')
  const routes = engine.source<string>('routes')
  const { calls, take } = counting()
  const resolved = engine.derive('resolved', routes, (target, context, key) => {
    calls.push(key)
    return context.get(names, target) ?? 'not found'
  })
  routes.set('r1', 'x')
  routes.set('r2', 'y')
  names.set('y', 'Y')
  engine.flush()
  t.equal(resolved.get('r1'), 'not found')
  take()
  names.set('x', 'X')
  engine.flush()
  t.equal(resolved.get('r1'), 'X', 'what was missing has come')
  t.strictSame(take(), ['r1'])
  routes.set('r1', 'y')
  engine.flush()
  take()
  names.set('x', 'XX')
  engine.flush()
  t.strictSame(take(), [], 'a read that is no longer made no longer counts')
  t.end()
})

t.test('an equal value stops the wave', t => {
  const engine = createEngine()
  const numbers = engine.source<number>('numbers')
  const parity = engine.derive('parity', numbers, n => ({ odd: n % 2 === 1 }))
  const { calls, take } = counting()
  engine.derive('words', parity, (value, _context, key) => {
    calls.push(key)
    return value.odd ? 'odd' : 'even'
  })
  numbers.set('n', 1)
  engine.flush()
  take()
  numbers.set('n', 3)
  engine.flush()
  t.strictSame(take(), [])
  t.end()
})

t.test('one entry gives many, and an entry may move from one parent to another in one flush', t => {
  const engine = createEngine()
  const lists = engine.source<readonly string[]>('lists')
  const items = engine.expand('items', lists, (list, _context, key) => list.map(item => [item, key] as const))
  lists.set('l1', ['a', 'b'])
  lists.set('l2', ['c'])
  engine.flush()
  t.strictSame([...items.keys()].sort(), ['a', 'b', 'c'])
  lists.set('l2', ['c', 'b'])
  lists.set('l1', ['a'])
  engine.flush()
  t.equal(items.get('b'), 'l2')
  lists.set('l1', ['c'])
  t.throws(() => engine.flush(), /both l2 and l1 give the entry c/)
  t.end()
})

t.test('a group follows its members, a roster their names, a count their number', t => {
  const engine = createEngine()
  const pods = engine.source<{ app: string; ip: string }>('pods')
  const byApp = engine.index('by app', pods, pod => [pod.app])
  const apps = engine.group('apps', byApp, (_app, members) => members.map(pod => pod.ip))
  const roster = engine.roster('roster', byApp)
  const wanted = engine.source<string>('wanted')
  const { calls, take } = counting()
  const counts = engine.derive('counts', wanted, (app, context) => {
    calls.push(app)
    return context.count(byApp, app)
  })
  wanted.set('w', 'web')
  pods.set('p2', { app: 'web', ip: '10.0.0.2' })
  pods.set('p1', { app: 'web', ip: '10.0.0.1' })
  engine.flush()
  t.strictSame(apps.get('web'), ['10.0.0.1', '10.0.0.2'], 'in key order')
  t.strictSame(roster.get('web'), ['p1', 'p2'])
  t.equal(counts.get('w'), 2)
  take()
  const before = roster.get('web')
  pods.set('p1', { app: 'web', ip: '10.0.0.9' })
  engine.flush()
  t.strictSame(apps.get('web'), ['10.0.0.9', '10.0.0.2'])
  t.equal(roster.get('web'), before, 'membership did not move')
  t.strictSame(take(), [], 'nor did the count')
  pods.delete('p1')
  pods.delete('p2')
  engine.flush()
  t.notOk(apps.has('web'), 'a group without members is no entry')
  t.notOk(roster.has('web'))
  t.equal(counts.get('w'), 0)
  t.end()
})

t.test('a collection may read only what was made before it', t => {
  const engine = createEngine()
  const a = engine.source<number>('a')
  const later: { of?: Collection<number> } = {}
  engine.derive('early', a, (_value, context) => later.of && context.get(later.of, 'x'))
  later.of = engine.source<number>('late')
  a.set('k', 1)
  t.throws(() => engine.flush(), /late was made after the collection that reads it/)
  t.end()
})

t.test('a throw costs its own entry only, which keeps its value until something it read changes', t => {
  const errors: string[] = []
  const engine = createEngine({ onError: (collection, key) => errors.push(`${collection}/${key}`) })
  const limits = engine.source<number>('limits')
  const sizes = engine.source<number>('sizes')
  const checked = engine.derive('checked', sizes, (size, context) => {
    const limit = context.get(limits, 'max') ?? 0
    if (size > limit) throw new Error('too big')
    return size
  })
  limits.set('max', 10)
  sizes.set('a', 1)
  sizes.set('b', 2)
  engine.flush()
  sizes.set('a', 11)
  sizes.set('b', 3)
  engine.flush()
  t.strictSame([checked.get('a'), checked.get('b')], [1, 3])
  t.strictSame(errors, ['checked/a'])
  limits.set('max', 20)
  engine.flush()
  t.equal(checked.get('a'), 11)
  t.end()
})

t.test('watchers hear once per flush, when the whole graph has settled', t => {
  const engine = createEngine()
  const source = engine.source<number>('source')
  const doubled = engine.derive('doubled', source, n => n * 2)
  const sums = engine.derive('sums', source, (n, context, key) => n + (context.get(doubled, key) ?? 0))
  const heard: unknown[] = []
  const undo = engine.watch(doubled, changes => heard.push([changes, sums.get('k')]))
  source.set('k', 1)
  source.set('k', 2)
  engine.flush()
  t.strictSame(heard.splice(0), [[[{ key: 'k', old: undefined, new: 4 }], 6]])
  undo()
  source.set('k', 3)
  engine.flush()
  t.strictSame(heard, [])
  t.end()
})

t.test(
  'a sliced flush gives the event loop back, and what is set meanwhile waits for the next one',
  async t => {
    const engine = createEngine()
    const source = engine.source<number>('source')
    let now = 0
    const derived = engine.derive('derived', source, n => {
      now += 1
      return n
    })
    for (let i = 0; i < 500; i++) source.set(`k${i}`, i)
    let turns = 0
    const count = () => {
      turns++
      if (engine.flushing) setImmediate(count)
    }
    const done = engine.flushSliced({ sliceMs: 10, now: () => now })
    setImmediate(count)
    t.ok(engine.flushing)
    source.set('k0', 1000)
    await done
    t.notOk(engine.flushing)
    t.ok(turns > 5, `the loop turned ${turns} times`)
    t.equal(derived.get('k0'), 0)
    engine.flush()
    t.equal(derived.get('k0'), 1000)
  },
)

t.test('a flush in the middle of a sliced one ends both', async t => {
  const engine = createEngine()
  const source = engine.source<number>('source')
  const derived = engine.derive('derived', source, n => n)
  for (let i = 0; i < 200; i++) source.set(`k${i}`, i)
  const sliced = engine.flushSliced({ sliceMs: 0 })
  source.set('more', 1)
  engine.flush()
  t.equal(derived.size, 201)
  await sliced
})

t.test('a doubt computes everything anew, changes nothing that is right, and mends what is not', t => {
  const engine = createEngine()
  const source = engine.source<string>('source')
  const outside = { suffix: '!' }
  // Not pure: it reads what the engine cannot see, as a bug would.
  const shouted = engine.derive('shouted', source, word => word + outside.suffix)
  const heard: unknown[] = []
  source.set('a', 'x')
  engine.flush()
  engine.watch(shouted, changes => heard.push(...changes))
  engine.doubt()
  engine.flush()
  t.strictSame(heard, [])
  outside.suffix = '?'
  engine.flush()
  t.equal(shouted.get('a'), 'x!', 'nobody noticed')
  engine.doubt()
  engine.flush()
  t.strictSame(heard, [{ key: 'a', old: 'x!', new: 'x?' }])
  t.end()
})

interface World {
  readonly engine: Engine
  readonly services: Source<number>
  readonly routes: Source<{ host: string; to: string }>
  readonly outputs: readonly Collection<unknown>[]
}

/** A graph with every kind of collection, shaped like the real one. */
function world(): World {
  const engine = createEngine()
  const services = engine.source<number>('services')
  const routes = engine.source<{ host: string; to: string }>('routes')
  const targets = engine.derive('targets', routes, (route, context) => ({
    ...route,
    port: context.get(services, route.to) ?? 0,
  }))
  const parts = engine.expand('parts', targets, (target, _context, key) =>
    target.host.split(',').map(host => [`${host}|${key}`, { host, port: target.port }] as const),
  )
  const byHost = engine.index('by host', parts, part => (part.port > 2 ? [part.host, 'big'] : [part.host]))
  const hosts = engine.group('hosts', byHost, (host, members, context) => ({
    ports: members.map(member => member.port),
    service: context.get(services, host),
  }))
  const roster = engine.roster('roster', byHost)
  const uses = engine.index('uses', targets, target => [target.to])
  const counts = engine.derive('counts', services, (_port, context, key) => [
    context.count(uses, key),
    context.lookup(uses, key).map(target => target.host),
  ])
  const ports = engine.derive('ports', services, port => (port > 1 ? { port } : undefined))
  const either = engine.union('either', [
    ports,
    engine.derive('fallbacks', services, port => (port < 4 ? { port: -port } : undefined)),
    engine.derive('own', targets, target => ({ port: target.port })),
  ])
  return { engine, services, routes, outputs: [targets, parts, hosts, roster, counts, either] }
}

const state = ({ outputs }: World) =>
  outputs.map(output => [...output.entries()].sort(([a], [b]) => (a < b ? -1 : 1)))

t.test('incremental equals from scratch, for any sequence of edits and flushes', t => {
  const name = fc.constantFrom('a', 'b', 'c', 'd')
  const route = fc.record({
    host: fc.subarray(['a', 'x', 'y', 'z'], { minLength: 1 }).map(hosts => hosts.join(',')),
    to: name,
  })
  const edit = fc.oneof(
    fc.tuple(fc.constant('service' as const), name, fc.option(fc.integer({ min: 1, max: 4 }))),
    fc.tuple(fc.constant('route' as const), fc.constantFrom('a', 'r2', 'r3', 'r4'), fc.option(route)),
    fc.tuple(fc.constant('flush' as const)),
  )
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 40 }), edits => {
      const incremental = world()
      const services = new Map<string, number>()
      const routes = new Map<string, { host: string; to: string }>()
      const put = <V>(source: Source<V>, model: Map<string, V>, key: string, value: V | null) => {
        if (value === null) source.delete(key)
        else source.set(key, value)
        if (value === null) model.delete(key)
        else model.set(key, value)
      }
      for (const one of edits) {
        if (one[0] === 'flush') incremental.engine.flush()
        else if (one[0] === 'service') put(incremental.services, services, one[1], one[2])
        else put(incremental.routes, routes, one[1], one[2])
      }
      incremental.engine.flush()
      const before = state(incremental)
      incremental.engine.doubt()
      incremental.engine.flush()
      t.strictSame(state(incremental), before)
      const scratch = world()
      for (const [key, value] of [...services].reverse()) scratch.services.set(key, value)
      for (const [key, value] of [...routes].reverse()) scratch.routes.set(key, value)
      scratch.engine.flush()
      t.strictSame(state(incremental), state(scratch))
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test('equality looks into what a Set or a Map holds, not at its size', t => {
  t.ok(equal(new Set([1, 2]), new Set([2, 1])))
  t.notOk(equal(new Set([1, 2]), new Set([1, 3])))
  t.ok(equal(new Map([['a', { b: [1] }]]), new Map([['a', { b: [1] }]])))
  t.notOk(equal(new Map([['a', { b: [1] }]]), new Map([['a', { b: [2] }]])))
  t.notOk(equal(new Map([['a', undefined]]), new Map([['b', undefined]])))
  t.end()
})
