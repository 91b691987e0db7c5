/**
 * The pipeline as `run.ts` joins it, without its sockets: objects in the store → references → model → Envoy resources
 * as bytes. Run with `node --import tsx bench/pipeline.ts`.
 */
import { pathToFileURL } from 'node:url'
import type { KubeObject } from '../src/core/index.js'
import type { Change } from '../src/collections/index.js'
import { createDerivation, type Derivation } from '../src/derivation.js'
import type { Placed } from '../src/envoy/index.js'
import { createStore, type Store, type StoreEvent } from '../src/store/index.js'
import type { Bench } from './report.js'
import { measured, printReport, sizes } from './report.js'
import { crowded, endpointSlice, route, upserts, world } from './world.js'

interface Pipeline {
  readonly store: Store
  readonly derivation: Derivation
}

function derived(events: readonly StoreEvent[]): Pipeline {
  const store = createStore()
  const derivation = createDerivation()
  store.apply(events)
  store.subscribe(({ updates }) => derivation.take(updates))
  return { store, derivation }
}

function pipelineOf(n: number): Pipeline {
  const pipeline = derived(upserts(world(n, crowded)))
  const { size } = pipeline.derivation.placed
  const expected = 2 * n + 2
  if (size !== expected) throw new Error(`${size} resources instead of ${expected}`)
  return pipeline
}

export function pipelineFull(): Bench {
  const points = sizes.map(n => {
    const events = upserts(world(n, crowded))
    return measured(n, () => derived(events), { times: n > 1_000 ? 7 : 20 })
  })
  return {
    name: 'pipeline-full',
    work: 'N routes with a host, a Service and an EndpointSlice each, on one port → every Envoy resource encoded',
    points,
    goals: { exponent: 1.1 },
  }
}

const otherPath = (i: number, turn: number) => route(i, crowded, `/turn-${turn}`)

/** The rule's path changes: another host, chunk and route table. */
export function pipelineRoute(): Bench {
  return updates(
    'route',
    'one rule of one route changed → its host encoded, the table in chunks',
    otherPath,
    2,
  )
}

/** The same with what a proxy asks for: new memory for the whole table each time. */
export function pipelineRouteJoined(): Bench {
  return updates('route, joined', 'the same → the whole table joined', otherPath, 2)
}

export function pipelineEndpoint(): Bench {
  const next = (i: number, turn: number) => endpointSlice(i, crowded, 1 + (turn % 255))
  return updates('endpoint', 'the address of one endpoint changed → bytes ready', next, 0.5)
}

type Edit = (i: number, turn: number) => KubeObject

function updates(what: string, work: string, edited: Edit, goal: number): Bench {
  const points = sizes.map(n => {
    const pipeline = pipelineOf(n)
    const prepare = (turn: number) => edited((turn * 7) % n, turn)
    const joined = what.endsWith('joined')
    return measured(n, object => change(pipeline, object, joined), { times: 400, prepare })
  })
  return {
    name: `pipeline-update (${what})`,
    work: `${work}, in that world`,
    points,
    goals: { at: new Map([[5_000, goal]]), exponent: 0.5 },
  }
}

function change({ store, derivation }: Pipeline, object: KubeObject, joined: boolean): void {
  const changed: (Placed | undefined)[] = []
  const note = (changes: readonly Change<Placed>[]) => changes.forEach(each => changed.push(each.new))
  const undo = derivation.engine.watch(derivation.placed, note)
  store.apply([{ type: 'upsert', object }])
  undo()
  const [only] = changed
  if (!only || changed.length > 1) throw new Error(`${changed.length} resources changed instead of 1`)
  if (joined && only.resource.bytes.length === 0) throw new Error('a table without bytes')
}

export const benches = [pipelineFull, pipelineRoute, pipelineRouteJoined, pipelineEndpoint]

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const bench of benches) printReport(bench())
}
