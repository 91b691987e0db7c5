import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { KubeObject, Locator } from '../../src/core/index.js'
import { locator, locatorOf } from '../../src/core/index.js'
import type { Update } from '../../src/store/index.js'
import type {
  Link,
  NodeKind,
  Topology,
  TopologyOptions,
  View,
  ViewOptions,
} from '../../src/topology/index.js'
import { anyPolicy, createTopology, toDot, toJSON, toMermaid, toTree } from '../../src/topology/index.js'

export function created(newObject: KubeObject): Update {
  return { type: 'create', locator: locatorOf(newObject), newObject }
}

export function topologyOf(objects: readonly KubeObject[], options: TopologyOptions = {}): Topology {
  const topology = createTopology(options)
  topology.apply(objects.map(created))
  return topology
}

/** `httproute.gateway.networking.k8s.io:shop/cart#rule-1` as `cart#rule-1`. */
export function short(id: Locator): string {
  return id.replace(/^[^:]*:(?:[^/#]*\/)?/, '')
}

/** Every node of the view with its children: what is not in here is not in the graph. */
export function drawn(view: View): Record<string, string> {
  const rows = view.nodes.map(({ id }) => {
    const below = view.edges.filter(({ from }) => from === id).map(({ to }) => short(to))
    return [short(id), [...new Set(below)].join(' ')] as const
  })
  return Object.fromEntries(rows)
}

export function drawnFrom(objects: readonly KubeObject[], options: ViewOptions = {}): Record<string, string> {
  return drawn(topologyOf(objects).view(options))
}

/** The edges that are not ok: `from -> to: state reason`. */
export function faultsOf(view: View): string[] {
  return view.edges
    .filter(({ state }) => state !== 'ok')
    .map(
      ({ from, to, link, state, reason }) =>
        `${short(from)} -${link}-> ${short(to)}: ${state} ${reason?.reason}`,
    )
}

export function names(nodes: readonly { readonly id: Locator }[]): string {
  return nodes.map(({ id }) => short(id)).join(' ')
}

/** Everything the graph can say, as text. */
export function everything(topology: Topology): string {
  const view = topology.view()
  const ids = topology.nodes().map(({ id }) => id)
  const near = ids.map(id => [names(topology.parents(id)), names(topology.children(id))])
  const far = ids.map(id => [names(topology.ancestors(id)), names(topology.descendants(id))])
  const all = ids.flatMap(id => topology.pathsTo(id, {}).map(names))
  const loop = topology.whyCyclic()?.message
  const { size } = topology
  return [
    toJSON(view),
    toDot(view),
    toMermaid(view),
    toTree(view),
    JSON.stringify({ size, near, far, all, loop }),
  ].join('\n')
}

/** Random batches of edits, each followed by a comparison with a graph built from what is left; then all is removed. */
export function editsEqualScratch(
  anObject: fc.Arbitrary<KubeObject>,
  options: TopologyOptions,
  numRuns: number,
): void {
  const edit = fc.record({ object: anObject, remove: fc.boolean() })
  const batches = fc.array(fc.array(edit, { maxLength: 6 }), { maxLength: 6 })
  const holds = (all: readonly (readonly { object: KubeObject; remove: boolean }[])[]) => {
    const topology = createTopology(options)
    const held = new Map<Locator, KubeObject>()
    for (const batch of all) {
      topology.apply(batch.map(({ object, remove }) => edited(held, object, remove)))
      assert.equal(everything(topology), everything(topologyOf([...held.values()], options)))
    }
    topology.apply([...held.values()].map(object => edited(held, object, true)))
    assert.equal(everything(topology), everything(createTopology(options)))
  }
  fc.assert(fc.property(batches, holds), { numRuns })
}

function edited(held: Map<Locator, KubeObject>, newObject: KubeObject, remove: boolean): Update {
  const id = locatorOf(newObject)
  const oldObject = held.get(id)
  if (remove) {
    held.delete(id)
    return { type: 'delete', locator: id, oldObject: oldObject ?? newObject }
  }
  held.set(id, newObject)
  return oldObject ? { type: 'update', locator: id, oldObject, newObject } : created(newObject)
}

/* Fruit: kinds of a user's own, with links in both directions, made of nothing but names. */

const group = 'example.test'
const fruits = ['apple', 'orange', 'banana', 'peach', 'lemon']
const idOf = (name: string) => locator(`${fruitKind(name)}.${group}`, 'garden', name)

function fruitKind(name: string): string {
  return name.replace(/-\d+$/, '').replace(/^my-/, '')
}

export interface Fruit extends KubeObject {
  readonly spec: { readonly of: readonly string[]; readonly gives: readonly string[] }
}

/** `aFruit('orange-1', { of: ['apple-1'], gives: ['banana-1'] })`: what is above it, and what is below. */
export function aFruit(
  name: string,
  { of = [], gives = [] }: { of?: readonly string[]; gives?: readonly string[] } = {},
): Fruit {
  const kind = fruitKind(name).replace(/^./, letter => letter.toUpperCase())
  return {
    apiVersion: `${group}/v1`,
    kind,
    metadata: { namespace: 'garden', name },
    spec: { of, gives },
  }
}

/** A policy of a kind that no table knows. */
export function aPolicy(name: string, target: string): KubeObject {
  const spec = { targetRefs: [{ group, kind: fruitKind(target), name: target }] }
  const policy = {
    apiVersion: `${group}/v1`,
    kind: 'Policy',
    metadata: { namespace: 'garden', name },
    spec,
  }
  return policy
}

export const fruitId = idOf

const kindOf = (name: string) => `${name}.${group}`
const kindIdOfName = (name: string) => (fruitKind(name) === 'policy' ? anyPolicy : kindOf(fruitKind(name)))
const above = (from: readonly string[], to: string): Link => ({
  name: `${from.join(' or ')} to ${to}`,
  from,
  to: [kindOf(to)],
  parents: ({ object }) =>
    (object as Fruit).spec.of.filter(name => from.includes(kindIdOfName(name))).map(idOf),
})

export const fruitRules: { kinds: readonly NodeKind[]; links: readonly Link[] } = {
  kinds: [
    ...fruits.map((name): NodeKind => ({ kindId: kindOf(name), role: 'target' })),
    { kindId: kindOf('info'), role: 'object' },
  ],
  links: [
    above([kindOf('apple')], 'orange'),
    {
      name: 'orange to banana',
      from: [kindOf('orange')],
      to: [kindOf('banana')],
      children: ({ object }) => (object as Fruit).spec.gives.map(idOf),
    },
    above([kindOf('orange')], 'peach'),
    above([kindOf('peach')], 'apple'),
    above([kindOf('peach')], 'lemon'),
    above([kindOf('apple'), kindOf('orange'), anyPolicy], 'info'),
    {
      name: 'target',
      from: [anyPolicy],
      to: ['*'],
      children: ({ object }) =>
        (object as KubeObject & { spec: { targetRefs: { name: string }[] } }).spec.targetRefs.map(
          ({ name }) => idOf(name),
        ),
    },
  ],
}
