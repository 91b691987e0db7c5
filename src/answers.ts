import type { Log, Metrics } from './core/index.js'
import type { Derivation } from './derivation.js'
import { decode, typeUrls } from './envoy/index.js'
import type { Intake } from './intake.js'
import type { Loop } from './loop.js'
import { topologyText } from './offline.js'
import { reasonsOf, type Origin } from './origin.js'
import type { Readiness, ServerContext, TopologyReader } from './server/index.js'
import type { Reporter } from './status/index.js'
import type { Store } from './store/index.js'
import { version } from './version.js'
import type { XdsServer } from './xds/index.js'

export interface AnswerParts {
  readonly store: Store
  readonly derivation: Derivation
  readonly xds: XdsServer
  readonly reporter: Reporter
  readonly origin: Origin
  readonly intake: Intake
  readonly loop: Loop
  readonly log: Log
  readonly metrics: Metrics
}

/** What the server may ask, answered by the parts of a running control plane. */
export function answersFor(parts: AnswerParts): ServerContext {
  const { store, derivation, xds, reporter, origin, intake, loop, log, metrics } = parts
  let readings = 0
  origin.subscribe(() => readings++)
  return {
    version,
    log,
    metrics,
    settled: () => loop.settled(),
    revision: () => store.snapshot().revision + reporter.revision + readings,
    snapshot: () => store.snapshot(),
    status: locator => reporter.get(locator),
    problems: () => origin.problems(),
    topology: topologyReader(derivation),
    xds: { ...xds, describe: resource => decode(typeUrls[resource.type], resource.bytes) },
    ...intake,
    async reconcile() {
      const reconciled = await origin.reconcile()
      await loop.settled()
      await loop.verify()
      return reconciled
    },
    readiness: () => readinessOf(loop, origin),
  }
}

function topologyReader(derivation: Derivation): TopologyReader {
  const { topology, decisions } = derivation
  return {
    has: id => topology.node(id) !== undefined,
    graph: filter => topology.view(filter, { decisions }),
    text: (filter, format) => topologyText(derivation, filter, format),
    paths: (from, to) => topology.paths(from, to).map(path => path.map(node => node.id)),
  }
}

function readinessOf(loop: Loop, origin: Origin): Readiness {
  if (!loop.published) {
    const missing = origin.waitingFor()
    return { ready: false, reasons: missing.length > 0 ? missing : ['what was read is being derived'] }
  }
  return { ready: true, reasons: reasonsOf(origin) }
}
