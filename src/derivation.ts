import { nextTurn } from './core/index.js'
import { createEngine, type Collection, type Engine } from './collections/index.js'
import { createResources, type Placed } from './envoy/index.js'
import { createModel, type GatewayAddress, type Model } from './model/index.js'
import { mirror, type Update } from './store/index.js'
import {
  createTopology,
  resolveReferences,
  type Decisions,
  type References,
  type Topology,
} from './topology/index.js'

export interface DerivationOptions {
  /** Where proxies bind their ports; default `0.0.0.0`. */
  readonly listenerAddress?: string
  /** One proxy has a port for itself, see ResourceOptions; default: false. */
  readonly exclusivePorts?: boolean
  /** Where Gateways can be reached; default: nowhere. */
  readonly addresses?: readonly GatewayAddress[]
  /** Told of a bug in the derivation of one entry, see EngineOptions; absent: it throws. */
  readonly onError?: (collection: string, key: string, error: unknown) => void
}

/** Everything that follows from the objects of a store: a pure function of them, kept up to date. */
export interface Derivation {
  readonly engine: Engine
  readonly references: References
  readonly model: Model
  /** The Envoy resources of every Gateway. */
  readonly placed: Collection<Placed>
  readonly topology: Topology
  readonly decisions: Decisions
  /** Takes a notice of the store and brings everything up to date. */
  take(updates: readonly Update[]): void
  /** Derives everything anew, in slices; answers how many resources and statuses were not as held. */
  verify(): Promise<number>
  /** The same, giving the event loop back in between; readers wait for it to end. */
  takeSliced(updates: readonly Update[]): Promise<void>
}

/** The sentence of the system's pure part: objects → references → model → Envoy resources, and the topology. */
export function createDerivation(options: DerivationOptions = {}): Derivation {
  const { onError, listenerAddress, exclusivePorts = false, addresses = [] } = options
  const engine = createEngine({ ...(onError && { onError }) })
  const mirrored = mirror(engine)
  const { objects } = mirrored
  const references = resolveReferences(engine, objects)
  const model = createModel(engine, objects, references, { addresses })
  const { placed } = createResources(engine, model, {
    exclusivePorts,
    ...(listenerAddress && { listenerAddress }),
  })
  const topology = createTopology()
  return {
    engine,
    references,
    model,
    placed,
    topology,
    decisions: {
      attachment: route => references.attachments.get(route),
      backends: route => references.backends.get(route),
    },
    take(updates) {
      mirrored.apply(updates)
      topology.apply(updates)
      engine.flush()
    },
    async verify() {
      let differing = 0
      const count = (changes: readonly unknown[]) => void (differing += changes.length)
      const undo = [engine.watch(placed, count), engine.watch(model.statuses, count)]
      engine.doubt()
      await engine.flushSliced()
      for (const each of undo) each()
      return differing
    },
    async takeSliced(updates) {
      mirrored.apply(updates)
      for (let from = 0; from < updates.length; from += slice) {
        if (from > 0) await nextTurn()
        topology.apply(updates.slice(from, from + slice))
      }
      await engine.flushSliced()
      // Whoever publishes all of it begins a turn of the event loop of its own.
      await nextTurn()
    },
  }
}

/** Updates of the topology in one turn of the event loop: some milliseconds of work. */
const slice = 100
