import { createRequire } from 'node:module'
import type { Log, Metrics } from './core/index.js'
import type { Derivation } from './derivation.js'
import { decode, typeUrls } from './envoy/index.js'
import type { Loop } from './loop.js'
import { topologyText } from './offline.js'
import type { Readiness, ServerContext, TopologyReader } from './server/index.js'
import { decideAdmission, type Directory, type Receiver } from './sources/index.js'
import type { Reporter } from './status/index.js'
import type { Store } from './store/index.js'
import type { XdsServer } from './xds/index.js'

export interface AnswerParts {
  readonly store: Store
  readonly derivation: Derivation
  readonly xds: XdsServer
  readonly reporter: Reporter
  readonly directory: Directory
  readonly receiver: Receiver
  readonly loop: Loop
  readonly log: Log
  readonly metrics: Metrics
}

/** The version of this package. */
export const version = (createRequire(import.meta.url)('../package.json') as { version: string }).version

/** What the server may ask, answered by the parts of a running control plane. */
export function answersFor(parts: AnswerParts): ServerContext {
  const { store, derivation, xds, reporter, directory, receiver, loop, log, metrics } = parts
  let readings = 0
  directory.subscribe(() => readings++)
  return {
    version,
    log,
    metrics,
    settled: () => loop.settled(),
    revision: () => store.snapshot().revision + reporter.revision + readings,
    snapshot: () => store.snapshot(),
    status: locator => reporter.get(locator),
    problems: () => directory.problems(),
    topology: topologyReader(derivation),
    xds: { ...xds, describe: resource => decode(typeUrls[resource.type], resource.bytes) },
    // What was admitted is no fact yet: without an API server there is nobody to read it back from.
    admit: async request => (await decideAdmission(request, { snapshot: store.snapshot() })).verdict,
    receive: messages => receiver.receive(messages),
    async reconcile() {
      const { accepted, stale, duplicate } = await directory.rescan()
      await loop.settled()
      await loop.verify()
      const bad = directory.problems().filter(({ severity }) => severity === 'error')
      const degraded = bad.map(({ place, message }) => ({ source: place?.file ?? 'directory', message }))
      return { accepted, stale, duplicate, degraded }
    },
    readiness: () => readiness(loop, directory),
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

function readiness(loop: Loop, directory: Directory): Readiness {
  const missing = directory.incomplete().map(file => `${file} has never been read without a problem`)
  if (!loop.published) {
    return { ready: false, reasons: missing.length > 0 ? missing : ['the manifests are being read'] }
  }
  const bad = new Set(
    directory
      .problems()
      .filter(({ severity }) => severity === 'error')
      .map(({ place, message }) => place?.file ?? message),
  )
  return {
    ready: true,
    reasons: [...bad].map(file => `${file} has problems: what was good before is served`),
  }
}
