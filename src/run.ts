import { createXds, createPublisher } from './xds/index.js'
import type { Running, StartOptions } from './cli/index.js'
import { answersFor } from './answers.js'
import { startedWith, type Closing } from './closing.js'
import { createMetrics, systemClock, type Clock, type Locator } from './core/index.js'
import { createDerivation } from './derivation.js'
import { bootstrap } from './envoy/index.js'
import { serveHttp } from './http.js'
import { takeIn } from './intake.js'
import { servedKinds } from './kinds/index.js'
import { Loop } from './loop.js'
import { openOrigin } from './origin.js'
import { startProxies, type Proxies } from './provision/index.js'
import { servedBy } from './served.js'
import { createReporter } from './status/index.js'
import { createStore } from './store/index.js'
import { wantedOf } from './wanted.js'

export { load, translate } from './offline.js'

/**
 * The sentence of the system: a folder or a cluster, and webhooks, fill the store; what follows from it is derived, published to
 * the proxies and reported as status; the server answers questions about all of it.
 */
export function start(options: StartOptions): Promise<Running> {
  return startedWith(closing => started(options, closing))
}

async function started(options: StartOptions, closing: Closing): Promise<Running> {
  const { log, from, listenerAddress } = options
  const clock = systemClock
  const metrics = createMetrics({ processMetrics: true })
  const store = createStore()
  const derivation = createDerivation({
    listenerAddress,
    // Envoys of one machine would else share a port, each with half of the connections.
    exclusivePorts: options.envoy !== undefined,
    addresses: [{ type: 'IPAddress', value: reachable(listenerAddress) }],
    onError: (collection, key, error) =>
      log.error({ collection, key, error }, 'a bug: this entry keeps its last value'),
  })
  const { engine, references, model, placed } = derivation

  const local: { proxies?: Proxies } = {}
  const warmth = (gateway: string, cluster: string) =>
    local.proxies?.warmth(gateway, cluster) ?? Promise.reject(new Error('no Envoy of ours'))
  const xds = createXds({ clock, log, metrics, warmth })
  closing.add(() => xds.close())
  const xdsAddress = await xds.listen(options.xds)
  const publisher = createPublisher(engine, { placed, gateways: references.gateways }, xds)
  const reporter = createReporter(engine, model.statuses, xds, clock)

  const shell = { store, clock, log, metrics }
  const wanted = wantedOf(engine, model.wanted)
  const { origin, opened } = await openOrigin({ ...shell, from, kinds: servedKinds, wanted }, closing)
  const complete = () => origin.complete()
  const loop = new Loop({ ...shell, derivation, publisher, reporter, complete })
  closing.add(() => loop.close())

  const intake = takeIn({ ...shell, origin, opened, wanted }, closing)
  const answers = answersFor({ ...shell, derivation, xds, reporter, origin, intake, loop })
  const { http, ops } = await serveHttp(options, answers, opened?.client, closing)

  if (options.envoy) {
    const proxies = await startProxies({ ...proxiesOptions(options.envoy, xdsAddress), clock, log })
    local.proxies = proxies
    closing.add(() => proxies.close())
    const want = () => loop.published && proxies.want([...references.gateways.keys()])
    closing.add(loop.subscribe(want))
    // The state may have been whole, and published, before they were looked for.
    want()
  }
  closing.add(origin.subscribe(() => loop.release()))
  closing.add(repeat(clock, reconcileMs, () => answers.reconcile()))
  await origin.ready
  loop.release()
  const { proxies } = local
  const served = servedBy({ derivation, xds, loop, proxies, address: reachable(listenerAddress) })
  return {
    http,
    ...(ops !== undefined && { ops }),
    xds: xdsAddress,
    ...served,
    problems: () => origin.problems(),
    waitingFor: () => origin.waitingFor(),
    reconcile: () => answers.reconcile().then(() => undefined),
    close: () => closing.close(),
  }
}

/** Envoys of this machine, that ask the xDS server at `xdsAddress` for their own Gateway's resources. */
function proxiesOptions(envoy: NonNullable<StartOptions['envoy']>, xdsAddress: string) {
  const { path, admin, concurrency, stateDirectory, dns } = envoy
  return {
    ...{ envoy: path, admin, concurrency, directory: stateDirectory },
    bootstrap: (gateway: Locator, adminAddress: string) =>
      bootstrap({
        ...{ node: { id: gateway, cluster: gateway }, xdsAddress, adminAddress },
        ...(dns !== undefined && { dns }),
      }),
  }
}

/** How often everything is derived anew, after it was read again: a folder's watch and a cluster's period tell of changes. */
const reconcileMs = 600_000

/** Runs `task` every `ms` ± 10 %, never twice at a time. Returns its undo. */
function repeat(clock: Clock, ms: number, task: () => Promise<unknown>): () => void {
  let cancel = () => {}
  const wait = () => {
    cancel = clock.after(ms * (0.9 + 0.2 * Math.random()), () => void task().then(wait, wait))
  }
  wait()
  return () => cancel()
}

/** Where a Gateway whose ports are bound to `address` is reached from this machine. */
function reachable(address: string): string {
  return address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address
}
