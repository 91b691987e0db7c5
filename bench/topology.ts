/**
 * The three topology benches: build from scratch, one route changed, all class → rule paths.
 * Run with `node --import tsx bench/topology.ts`.
 */
import { pathToFileURL } from 'node:url'
import type { KubeObject } from '../src/core/index.js'
import { locator, locatorOf } from '../src/core/index.js'
import { ids } from '../src/kinds/index.js'
import type { Update } from '../src/store/index.js'
import type { Topology } from '../src/topology/index.js'
import { createTopology } from '../src/topology/index.js'
import type { Bench } from './report.js'
import { measured, printReport, sizes } from './report.js'
import { route, world } from './world.js'

/** policy-machinery 0.10 on the same world: a build from scratch, and one event until its reconcile is called. */
const peer = 'policy-machinery'
const peerBuild = new Map([
  [100, 18.6],
  [1_000, 1_170],
  [5_000, 33_200],
])
const peerUpdate = new Map([
  [100, 12.9],
  [1_000, 590],
])
const peerPaths = new Map([
  [100, 167],
  [1_000, 21_200],
  [5_000, 620_000],
])
const benchClass = locator(ids.GatewayClass, undefined, 'bench')

export function creates(objects: readonly KubeObject[]): Update[] {
  return objects.map(newObject => ({ type: 'create', locator: locatorOf(newObject), newObject }))
}

function built(n: number): Topology {
  const topology = createTopology()
  topology.apply(creates(world(n, { policies: true })))
  return topology
}

export function topologyBuild(): Bench {
  const points = sizes.map(n => {
    const updates = creates(world(n, { policies: true }))
    const build = () => createTopology().apply(updates)
    return measured(n, build, { times: n > 1_000 ? 15 : 40 })
  })
  return {
    name: 'topology-build',
    work: '1 class, 10 gateways of 10 listeners, N routes of 2 rules, N services, N/10 policies, from scratch',
    points,
    anchors: { of: peer, at: peerBuild },
    goals: {
      at: new Map([
        [1_000, 10],
        [5_000, 60],
      ]),
      exponent: 1.1,
    },
  }
}

/** Each measurement is one route whose path and backend change, and a look at what is above and below it. */
export function topologyUpdate(): Bench {
  const points = sizes.map(n => {
    const topology = built(n)
    const look = (update: Update) => lookAfter(topology, update)
    return measured(n, look, { times: 400, prepare: turn => changed(n, turn) })
  })
  return {
    name: 'topology-update',
    work: 'one route changed in that world, its parents and descendants read back',
    points,
    anchors: { of: peer, at: peerUpdate },
    goals: { at: new Map([[5_000, 1]]), exponent: 0.1 },
  }
}

function lookAfter(topology: Topology, update: Update): number {
  topology.apply([update])
  return topology.parents(update.locator).length + topology.descendants(update.locator).length
}

function changed(n: number, turn: number): Update {
  const i = (turn * 7) % n
  const [oldObject, newObject] = [route(i), route(i, {}, `/turn-${turn}`)]
  return { type: 'update', locator: locatorOf(newObject), oldObject, newObject }
}

export function topologyPaths(): Bench {
  const points = sizes.map(n => {
    const topology = built(n)
    const found = () => topology.pathsTo(benchClass, { kind: 'HTTPRouteRule' })
    if (found().length !== 2 * n) throw new Error(`${found().length} paths to ${2 * n} rules`)
    return measured(n, found, { times: n > 1_000 ? 15 : 40 })
  })
  return {
    name: 'topology-paths',
    work: 'every path from the class to every rule of every route (2N paths of 5 nodes)',
    points,
    anchors: { of: peer, at: peerPaths },
    goals: { at: new Map([[5_000, 100]]) },
  }
}

export const benches = [topologyBuild, topologyUpdate, topologyPaths]

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const bench of benches) printReport(bench())
}
