/** The real server over a store of routes, in a process of its own; every ten milliseconds one of them changes. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createMetrics, silentLog } from '../../src/core/index.js'
import { createServer } from '../../src/server/index.js'
import { createAdmission } from '../../src/sources/index.js'
import { createStore } from '../../src/store/index.js'
import { crowded, route, upserts, world } from '../world.js'

/** Told once it listens. */
export interface Listening {
  readonly address: string
}

/** Told when it is asked, and then anew. */
export interface Held {
  /** ms that the event loop was held at most. */
  readonly loopMax: number
}

const n = Number(process.argv[2])
const changeEvery = 10

const store = createStore()
const admission = createAdmission({ store })
store.apply(upserts(world(n, crowded)))
const nobody = () => Promise.reject(new Error('nobody asks for it here'))
const server = await createServer(
  {
    ...{ version: '0', log: silentLog, metrics: createMetrics(), receive: nobody, reconcile: nobody },
    readiness: () => ({ ready: true, reasons: [] }),
    settled: () => Promise.resolve(),
    revision: () => store.snapshot().revision,
    admit: async (request, { timeoutMs }) => (await admission.decide(request, timeoutMs)).verdict,
  },
  { part: { tags: ['webhooks'], why: 'only admission is measured' } },
)
const address = await server.listen('127.0.0.1:0')

let turn = 0
setInterval(() => {
  turn++
  store.apply(upserts([route((turn * 7) % n, crowded, `/turn-${turn}`)]))
}, changeEvery)

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on('message', () => {
  process.send?.({ loopMax: delay.max / 1e6 } satisfies Held)
  delay.reset()
})
process.on('disconnect', () => process.exit())
process.send?.({ address } satisfies Listening)
