import fc from 'fast-check'
import t from 'tap'
import { createEngine, type Engine } from '../../src/collections/index.js'
import { locatorOf, type KubeObject } from '../../src/core/index.js'
import { http, pool } from '../support/pool.js'
import { other, shop } from './pairs.js'
import {
  aClass,
  aGateway,
  aRoute,
  aRule,
  aSecret,
  aSecureListener,
  aService,
  aSlice,
  aWorld,
  everything,
} from './world.js'

const edit = fc
  .integer({ min: 0, max: pool.length - 1 })
  .chain(at =>
    fc.record({ at: fc.constant(at), variant: fc.option(fc.integer({ min: 0, max: pool[at]!.length - 1 })) }),
  )
const batches = fc.array(fc.array(edit, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 })
const order = fc.array(fc.nat(), { minLength: pool.length, maxLength: pool.length })

/** Throws with the first part that differs, so that a failure can be shrunk and read. */
function sameOrThrow(got: ReturnType<typeof everything>, wanted: ReturnType<typeof everything>): void {
  for (const part of Object.keys(wanted) as (keyof typeof wanted)[]) {
    const [left, right] = [JSON.stringify(got[part]), JSON.stringify(wanted[part])]
    if (left !== right) throw new Error(`${part}: incremental ${left} from scratch ${right}`)
  }
}

t.test('after any edits, the model is the one made from scratch, in whatever order objects come', t => {
  let compared = 0
  fc.assert(
    fc.property(batches, order, (edits, keys) => {
      const held = new Map<number, KubeObject>(pool.map((variants, i) => [i, variants[0]!]))
      const world = aWorld([...held.values()])
      for (const batch of edits) {
        for (const { at, variant } of batch) {
          if (variant === null) held.delete(at)
          else held.set(at, pool[at]![variant]!)
        }
        const touched = [...new Set(batch.map(({ at }) => at))]
        world.remove(...touched.filter(at => !held.has(at)).map(at => locatorOf(pool[at]![0]!)))
        world.put(...touched.filter(at => held.has(at)).map(at => held.get(at)!))
        const shuffled = [...held].sort(([a], [b]) => keys[a]! - keys[b]!).map(([, object]) => object)
        compared++
        sameOrThrow(everything(world), everything(aWorld(shuffled)))
      }
    }),
    { numRuns: 60 },
  )
  t.ok(compared >= 60, `${compared} states were compared`)
  t.end()
})

// ---- What a change costs. ----

/** An engine that counts how often each collection's function runs. */
function counting(): { readonly engine: Engine; readonly runs: Map<string, number> } {
  const engine = createEngine()
  const runs = new Map<string, number>()
  const counted = <A extends readonly unknown[], R>(name: string, fn: (...args: A) => R) => {
    return (...args: A): R => {
      runs.set(name, (runs.get(name) ?? 0) + 1)
      return fn(...args)
    }
  }
  const counters: Pick<Engine, 'derive' | 'expand' | 'group'> = {
    derive: (name, from, fn, options) => engine.derive(name, from, counted(name, fn), options),
    expand: (name, from, fn, options) => engine.expand(name, from, counted(name, fn), options),
    group: (name, index, fn, options) => engine.group(name, index, counted(name, fn), options),
  }
  return { engine: { ...engine, ...counters }, runs }
}

function manyRoutes(count: number): KubeObject[] {
  const each = Array.from({ length: count }, (_, i) => [
    aRoute(`r${i}`, [aRule('/', `s${i}`)], { hostnames: [`h${i}.test`] }),
    aService(`s${i}`),
    aSlice(`s${i}-1`, `s${i}`, [{ addresses: ['10.0.0.1'] }]),
  ])
  return [
    aClass(),
    aGateway('public', [http, aSecureListener('https', 'tls')]),
    aSecret('tls', shop),
    ...each.flat(),
  ]
}

t.test('a change runs what depends on it, however many other objects there are', t => {
  const { engine, runs } = counting()
  const world = aWorld(manyRoutes(300), {}, engine)
  const cost = (change: () => void) => {
    runs.clear()
    change()
    return Object.fromEntries([...runs].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  t.strictSame(
    cost(() => world.put(aSlice('s7-1', 's7', [{ addresses: ['10.0.0.9'] }]))),
    { endpoints: 1 },
    'one endpoint: the endpoints of its Service',
  )
  t.strictSame(
    cost(() => world.put(aRoute('r7', [aRule('/new', 's7')], { hostnames: ['h7.test'] }))),
    {
      attachments: 1,
      contributions: 1,
      // The same host on the HTTP and on the HTTPS port.
      'filled hosts': 2,
      hosts: 2,
      'route backends': 1,
      'route plans': 1,
      'route statuses': 1,
      'cluster uses': 1,
      'accepted routes': 1,
    },
    'one rule: its route and its hosts',
  )
  const added = cost(() => world.put(aRoute('new', [aRule('/', 's7')], { hostnames: ['new.test'] })))
  t.equal(added['hosts'], 2, 'one more route: its own hosts')
  t.equal(added['route tables'], 2, '… the lists of hosts')
  t.equal(added['gateway statuses'], 1, '… and the number of attached routes')
  t.ok(
    Object.values(added).every(times => times <= 2),
    JSON.stringify(added),
  )
  const renewed = cost(() => world.put(aSecret('tls', other)))
  t.strictSame(renewed, {
    certificates: 1,
    'certificates by name': 1,
    'parsed certificates': 1,
    'servable secrets': 1,
  })
  t.strictSame(
    cost(() => world.put(aService('foreign'), aSlice('f-1', 'foreign', []))),
    {},
    'what nobody refers to: nothing',
  )
  t.end()
})

t.test('a renewed certificate changes the certificate and nothing else', t => {
  const world = aWorld(manyRoutes(1))
  const changed: string[] = []
  for (const name of ['ports', 'routeTables', 'hosts', 'clusters', 'certificates', 'statuses'] as const) {
    world.engine.watch<unknown>(world.model[name], changes =>
      changed.push(...changes.map(({ key }) => `${name} ${key}`)),
    )
  }
  world.put(aSecret('tls', other))
  t.strictSame(changed, ['certificates shop/tls'])
  t.end()
})
