import type { Relaying, RelayStart } from './cli/index.js'
import { startedWith } from './closing.js'
import { credentialsOf } from './credentials.js'
import { createMetrics, systemClock } from './core/index.js'
import { serveOps } from './http.js'
import { servedKinds } from './kinds/index.js'
import { connect } from './kube/index.js'
import { startRelay } from './sources/index.js'
import { version } from './version.js'

/** The sentence of the relay: an API server is watched, and what changes is posted to every replica that serves. */
export function start(options: RelayStart): Promise<Relaying> {
  return startedWith(async closing => {
    const { api, targets, credentials, log } = options
    const metrics = createMetrics({ processMetrics: true })
    const shell = { clock: systemClock, log, metrics }
    const client = await connect({ ...shell, ...api })
    closing.add(() => client.close())
    const shown = credentialsOf(client, credentials)
    const relay = startRelay({ ...shell, client, kinds: servedKinds, targets, credentials: shown })
    closing.add(() => relay.close())
    const readiness = () => ({
      ready: relay.ready(),
      reasons: relay.degraded().map(({ source, message }) => `${source}: ${message}`),
    })
    const ops = await serveOps(options.ops, { version, log, metrics, readiness }, closing)
    return { ops, close: () => closing.close() }
  })
}
