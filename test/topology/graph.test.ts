/**
 * The graph itself, on fruit: links that a user brings, whole graphs compared (a node or an edge too few fails as one
 * too many does), and the two promises: any order gives the same bytes, any sequence of edits the same graph as
 * building from scratch.
 */
import fc from 'fast-check'
import t from 'tap'
import type { KubeObject } from '../../src/core/index.js'
import { locatorOf } from '../../src/core/index.js'
import type { Topology } from '../../src/topology/index.js'
import { sectionNames, toTree } from '../../src/topology/index.js'
import {
  aFruit,
  aPolicy,
  created,
  drawn,
  editsEqualScratch,
  everything,
  fruitId,
  fruitRules,
  names,
  short,
  topologyOf,
} from './objects.js'

const garden = (...objects: KubeObject[]) => topologyOf(objects, fruitRules)
const paths = (topology: Topology, from: string, to: string) =>
  topology.paths(fruitId(from), fruitId(to)).map(names)

t.test('nothing, one node, and two', t => {
  t.same(drawn(garden().view()), {})
  t.same(drawn(garden(aFruit('apple-1')).view()), { 'apple-1': '' })
  const two = garden(aFruit('my-apple'), aFruit('my-orange', { of: ['my-apple'] }))
  t.same(drawn(two.view()), { 'my-apple': 'my-orange', 'my-orange': '' })
  t.equal(two.size, 2)
  t.end()
})

t.test('roots, parents and children of a garden with policies', t => {
  const topology = garden(
    aFruit('apple-1'),
    aFruit('apple-2'),
    aFruit('orange-1', { of: ['apple-1', 'apple-2'], gives: ['banana-1', 'banana-2'] }),
    aFruit('orange-2', { of: ['apple-2'], gives: ['banana-2', 'banana-3'] }),
    aFruit('banana-1'),
    aFruit('banana-2'),
    aFruit('banana-3'),
    aPolicy('policy-1', 'apple-2'),
    aPolicy('policy-2', 'orange-1'),
  )
  t.same(drawn(topology.view({ role: 'target' })), {
    'apple-1': 'orange-1',
    'apple-2': 'orange-1 orange-2',
    'orange-1': 'banana-1 banana-2',
    'orange-2': 'banana-2 banana-3',
    'banana-1': '',
    'banana-2': '',
    'banana-3': '',
  })
  t.equal(names(topology.roots()), 'apple-1 policy-1 policy-2')
  t.equal(names(topology.parents(fruitId('orange-1'))), 'apple-1 apple-2 policy-2')
  t.equal(names(topology.parents(fruitId('orange-2'))), 'apple-2')
  t.equal(names(topology.children(fruitId('apple-1'))), 'orange-1')
  t.equal(names(topology.children(fruitId('apple-2'))), 'orange-1 orange-2')
  t.equal(names(topology.ancestors(fruitId('banana-3'))), 'apple-2 orange-2 policy-1')
  t.equal(names(topology.descendants(fruitId('apple-1'))), 'banana-1 banana-2 orange-1')
  t.same(topology.parents(fruitId('apple-9')), [], 'nothing is above what is not there')
  t.end()
})

t.test('objects and policies beside targets, all links in one graph', t => {
  const topology = garden(
    aFruit('apple-1'),
    aFruit('orange-1', { of: ['apple-1'] }),
    aFruit('orange-2', { of: ['apple-1'] }),
    aFruit('info-1', { of: ['apple-1'] }),
    aFruit('info-2', { of: ['orange-1'] }),
    aFruit('info-3', { of: ['policy-1'] }),
    aPolicy('policy-1', 'apple-1'),
    aPolicy('policy-2', 'orange-1'),
  )
  t.same(drawn(topology.view()), {
    'policy-1': 'apple-1 info-3',
    'policy-2': 'orange-1',
    'apple-1': 'info-1 orange-1 orange-2',
    'orange-1': 'info-2',
    'orange-2': '',
    'info-1': '',
    'info-2': '',
    'info-3': '',
  })
  t.same(drawn(topology.view({ role: 'target' })), {
    'apple-1': 'orange-1 orange-2',
    'orange-1': '',
    'orange-2': '',
  })
  t.equal(names(topology.roots()), 'policy-1 policy-2')
  t.same(paths(topology, 'policy-1', 'apple-1'), ['policy-1 apple-1'])
  t.same(paths(topology, 'policy-1', 'info-2'), ['policy-1 apple-1 orange-1 info-2'])
  t.same(paths(topology, 'apple-1', 'orange-1'), ['apple-1 orange-1'])
  t.end()
})

t.test('paths', t => {
  const topology = garden(
    aFruit('apple-1'),
    aFruit('orange-1', { of: ['apple-1'], gives: ['banana-1'] }),
    aFruit('orange-2', { of: ['apple-1'], gives: ['banana-1'] }),
    aFruit('banana-1'),
  )
  t.same(paths(topology, 'orange-1', 'banana-1'), ['orange-1 banana-1'])
  t.same(paths(topology, 'apple-1', 'banana-1'), ['apple-1 orange-1 banana-1', 'apple-1 orange-2 banana-1'])
  t.same(paths(topology, 'apple-1', 'apple-1'), ['apple-1'], 'a node is a path of itself')
  t.same(paths(topology, 'banana-1', 'apple-1'), [], 'none against the direction')
  t.same(paths(topology, 'apple-1', 'banana-9'), [], 'none to what is not there')
  t.same(topology.pathsTo(fruitId('apple-1'), { kind: ['banana', 'orange'] }).map(names), [
    'apple-1 orange-1',
    'apple-1 orange-1 banana-1',
    'apple-1 orange-2',
    'apple-1 orange-2 banana-1',
  ])
  t.end()
})

t.test('loops', t => {
  const looped = [
    aFruit('apple-1', { of: ['peach-1'] }),
    aFruit('orange-1', { of: ['apple-1'] }),
    aFruit('orange-2', { of: ['apple-1'] }),
    aFruit('orange-3', { of: ['apple-1'] }),
    aFruit('peach-1', { of: ['orange-1'] }),
    aFruit('peach-2', { of: ['orange-2', 'orange-3'] }),
    aFruit('lemon-1', { of: ['peach-2'] }),
  ]
  t.test('one is named, and is gone when the object that closed it is', t => {
    const topology = garden(...looped)
    const why = topology.whyCyclic()
    t.equal(why?.reason, 'LoopDetected')
    const ids = ['apple-1', 'orange-1', 'peach-1', 'apple-1'].map(fruitId)
    t.match(why?.message, `loop detected: ${ids.join(' -> ')}`)
    t.same(paths(topology, 'apple-1', 'peach-1'), ['apple-1 orange-1 peach-1'], 'no path goes round')
    t.same(names(topology.ancestors(fruitId('apple-1'))), 'apple-1 orange-1 peach-1')
    const closer = looped[0]!
    topology.apply([
      { type: 'update', locator: locatorOf(closer), oldObject: closer, newObject: aFruit('apple-1') },
    ])
    t.equal(topology.whyCyclic(), undefined)
    topology.apply([created(closer)])
    t.equal(topology.whyCyclic()?.message, why?.message, 'the same words for the same loop')
    t.end()
  })
  t.test('one is named alike in whatever order the objects came', t => {
    const message = garden(...looped).whyCyclic()?.message
    t.equal(garden(...[...looped].reverse()).whyCyclic()?.message, message)
    t.end()
  })
  t.test('they may be allowed, and paths still end', t => {
    const topology = topologyOf(looped, { ...fruitRules, allowLoops: true })
    t.equal(topology.whyCyclic(), undefined)
    t.same(topology.pathsTo(fruitId('orange-2'), { name: 'lemon-1' }).map(names), [
      'orange-2 peach-2 lemon-1',
    ])
    t.same(topology.pathsTo(fruitId('orange-1'), { name: 'lemon-1' }).map(names), [
      'orange-1 peach-1 apple-1 orange-2 peach-2 lemon-1',
      'orange-1 peach-1 apple-1 orange-3 peach-2 lemon-1',
    ])
    t.match(toTree(topology.view()), 'Lemon garden/lemon-1')
    t.end()
  })
  t.test('a garden without any', t => {
    const topology = garden(
      ...['apple-1', 'apple-2', 'apple-3'].map(name => aFruit(name)),
      aFruit('orange-1', { of: ['apple-1'] }),
      aFruit('orange-2', { of: ['apple-2'] }),
      aFruit('orange-3', { of: ['apple-3', 'apple-1'] }),
      aFruit('orange-4', { of: ['apple-3'] }),
      aFruit('peach-1', { of: ['orange-1'] }),
      aFruit('peach-2', { of: ['orange-1', 'orange-3', 'orange-4'] }),
      aFruit('lemon-1', { of: ['peach-1'] }),
    )
    t.equal(topology.whyCyclic(), undefined)
    t.end()
  })
  t.test('two policies that target each other', t => {
    const policies = [aPolicy('policy-1', 'policy-2'), aPolicy('policy-2', 'policy-1')]
    t.match(garden(...policies).whyCyclic()?.message, 'policy-1')
    t.end()
  })
  t.end()
})

t.test('a reference to what is not there is kept, and drawn as broken', t => {
  const topology = garden(aFruit('orange-1', { of: ['apple-1'] }), aPolicy('policy-1', 'lemon-7'))
  const broken = () => topology.view().edges.filter(({ state }) => state === 'broken')
  t.same(
    broken().map(({ from, to, reason }) => [short(from), short(to), reason?.message]),
    [
      ['apple-1', 'orange-1', `${fruitId('apple-1')} does not exist`],
      ['policy-1', 'lemon-7', `${fruitId('lemon-7')} does not exist`],
    ],
  )
  t.same(
    topology
      .view()
      .nodes.filter(({ missing }) => missing)
      .map(({ id }) => short(id)),
    ['apple-1', 'lemon-7'],
  )
  t.equal(names(topology.nodes()), 'orange-1 policy-1', 'it is no node')
  t.equal(names(topology.roots()), 'orange-1 policy-1')
  topology.apply([created(aFruit('apple-1'))])
  t.equal(names(topology.children(fruitId('apple-1'))), 'orange-1', 'it heals by itself')
  t.equal(broken().length, 1)
  t.end()
})

t.test('many refer to one, and go in any order', t => {
  const oranges = ['orange-1', 'orange-2', 'orange-3', 'orange-4', 'orange-5']
  const order = fc.shuffledSubarray(oranges, { minLength: oranges.length })
  const holds = (going: readonly string[]) => {
    const topology = garden(aFruit('apple-1'), ...oranges.map(name => aFruit(name, { of: ['apple-1'] })))
    return going.every((name, i) => {
      const oldObject = aFruit(name)
      topology.apply([{ type: 'delete', locator: locatorOf(oldObject), oldObject }])
      return names(topology.children(fruitId('apple-1'))) === [...going.slice(i + 1)].sort().join(' ')
    })
  }
  t.doesNotThrow(() => fc.assert(fc.property(order, holds), { numRuns: 60 }))
  t.end()
})

t.test('a reference to a kind that cannot stand there is broken', t => {
  const topology = garden(aFruit('orange-1', { gives: ['lemon-1'] }), aFruit('lemon-1'))
  const [edge] = topology.view().edges
  t.match(edge, { state: 'broken', reason: { reason: 'InvalidKind' } })
  t.same(topology.children(fruitId('orange-1')), [])
  t.end()
})

t.test('names of sections never meet', t => {
  const named = (...given: (string | undefined)[]) =>
    sectionNames(
      given.map(name => (name === undefined ? {} : { name })),
      'rules',
      (_, i) => `rule-${i + 1}`,
    )
  t.same(named(undefined), ['rule-1'])
  t.same(named('first', undefined, 'third'), ['first', 'rule-2', 'third'])
  t.same(named('rule-2', undefined), ['rule-2', 'rules[1]'], 'an own name wins')
  t.same(named(undefined, 'rule-1'), ['rules[0]', 'rule-1'], 'whoever comes first')
  t.same(named('a', 'a'), ['a', 'rules[1]'])
  t.end()
})

/* Random gardens: few names, so that objects meet, go and come back. */

const fruitNames = ['apple-1', 'apple-2', 'orange-1', 'orange-2', 'banana-1', 'peach-1', 'lemon-1', 'info-1']
const someNames = fc.uniqueArray(fc.constantFrom(...fruitNames), { maxLength: 4 })
const anObject: fc.Arbitrary<KubeObject> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...fruitNames), someNames, someNames)
    .map(([name, of, gives]) => aFruit(name, { of, gives })),
  fc
    .tuple(fc.constantFrom('policy-1', 'policy-2'), fc.constantFrom(...fruitNames, 'policy-1'))
    .map(([name, target]) => aPolicy(name, target)),
)

t.test('any sequence of edits gives the graph that building from scratch gives', t => {
  t.doesNotThrow(() => editsEqualScratch(anObject, fruitRules, 150))
  t.end()
})

t.test('shuffled objects give the same bytes', t => {
  const objects = fc.uniqueArray(anObject, { selector: locatorOf, maxLength: 10 })
  const shuffled = objects.chain(list =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  )
  fc.assert(
    fc.property(
      shuffled,
      ([a, b]) => everything(topologyOf(a, fruitRules)) === everything(topologyOf(b, fruitRules)),
    ),
    { numRuns: 150 },
  )
  t.end()
})

t.test('paths are what a plain search finds', t => {
  fc.assert(
    fc.property(fc.array(anObject, { maxLength: 10 }), objects => {
      const topology = topologyOf(objects, fruitRules)
      const ids = topology.nodes().map(({ id }) => id)
      return ids.every(from =>
        ids.every(to => {
          const found = topology.paths(from, to).map(names)
          return JSON.stringify(found) === JSON.stringify(plainPaths(topology, from, to))
        }),
      )
    }),
    { numRuns: 100 },
  )
  t.end()
})

/** Every simple path, by trying all children. */
function plainPaths(topology: Topology, from: string, to: string, on: readonly string[] = []): string[] {
  if (on.includes(from)) return []
  const path = [...on, from]
  if (from === to) return [path.map(short).join(' ')]
  return topology.children(from).flatMap(({ id }) => plainPaths(topology, id, to, path))
}
