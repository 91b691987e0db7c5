import type { Served, WebhookOptions } from './cli/index.js'
import { startedWith } from './closing.js'
import { createMetrics, systemClock } from './core/index.js'
import { serveHttp } from './http.js'
import { takeIn } from './intake.js'
import { ids, servedKinds } from './kinds/index.js'
import { openOrigin, reasonsOf } from './origin.js'
import { createStore } from './store/index.js'
import { version } from './version.js'
import { nothingWanted } from './wanted.js'

/** What waits for a webhook that was just woken is answered before anything else is done. */
const firstMs = 500

/** No review asks about these; what a certificate holds is read when it is asked. */
const unasked: readonly string[] = [ids.Secret, ids.ConfigMap, ids.EndpointSlice]
const kinds = servedKinds.filter(kind => !unasked.includes(kind))

/**
 * The sentence of the webhook side: objects are reviewed beside a store of the cluster's, and the replicas that serve are
 * told of what was admitted. Nothing is derived, and there are no proxies.
 */
export function start(options: WebhookOptions): Promise<Served> {
  return startedWith(async closing => {
    const { log, from } = options
    const metrics = createMetrics({ processMetrics: true })
    const store = createStore()
    const shell = { store, clock: systemClock, log, metrics, wanted: nothingWanted, firstMs }
    const { origin, opened } = await openOrigin({ ...shell, from, kinds }, closing)
    const intake = takeIn({ ...shell, origin, opened }, closing)
    const reconcile = () => origin.reconcile()
    const bound = await serveHttp(
      options,
      {
        ...{ version, log, metrics },
        // What needs no other object is answered from the start.
        readiness: () => ({ ready: true, reasons: reasonsOf(origin) }),
        ...intake,
        reconcile,
        settled: () => Promise.resolve(),
        revision: () => store.snapshot().revision,
      },
      opened?.client,
      closing,
    )
    return { ...bound, reconcile: () => reconcile().then(() => undefined), close: () => closing.close() }
  })
}
