/**
 * How long the event loop is held: a cold start with N routes through the real loop (store → derivation → publisher
 * and statuses, in this process, without sockets), and then a route that changes every 20 ms.
 * Run with `node --import tsx bench/loop-delay.ts`.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createMetrics, silentLog, systemClock } from '../src/core/index.js'
import { createDerivation } from '../src/derivation.js'
import { Loop } from '../src/loop.js'
import { applySliced } from '../src/sources/apply.js'
import { createReporter } from '../src/status/index.js'
import { createStore, type Store } from '../src/store/index.js'
import { createPublisher, createXds, type XdsServer } from '../src/xds/index.js'
import { printReport, sizes, type Bench } from './report.js'
import { crowded, route, upserts, world } from './world.js'

const gateway = 'gateway.gateway.networking.k8s.io:bench/gw-0'
const spinMs = 10
const churnMs = 20
const churns = 200

interface System {
  readonly store: Store
  readonly loop: Loop
  readonly xds: XdsServer
  /** Says that all has been read. */
  readonly release: () => void
}

/** What `run.ts` joins, but for what has sockets and files. */
function system(): System {
  const [clock, log, metrics] = [systemClock, silentLog, createMetrics()]
  const store = createStore()
  const derivation = createDerivation({ addresses: [{ type: 'IPAddress', value: '127.0.0.1' }] })
  const { engine, model, placed, references } = derivation
  const xds = createXds({ clock, log, metrics })
  const publisher = createPublisher(engine, { placed, gateways: references.gateways }, xds)
  const reporter = createReporter(engine, model.statuses, xds, clock)
  const read = { whole: false }
  const complete = () => read.whole
  const loop = new Loop({ store, derivation, publisher, reporter, complete, log, metrics })
  const release = () => {
    read.whole = true
    loop.release()
  }
  return { store, loop, xds, release }
}

interface Delay {
  readonly n: number
  readonly p99: number
  readonly max: number
  readonly seconds: number
}

/** How late timers of 1 ms came while `work` went on, in milliseconds. */
async function delayOf(n: number, work: () => Promise<void>): Promise<Delay> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const start = performance.now()
  delay.enable()
  await work()
  delay.disable()
  const seconds = (performance.now() - start) / 1000
  return { n, seconds, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 }
}

async function measure(n: number): Promise<Record<Phase, Delay>> {
  const { store, loop, xds, release } = system()
  const events = upserts(world(n, crowded))
  await wait(200)
  const machine = await delayOf(n, spin)
  const start = await delayOf(n, async () => {
    await applySliced(store, events)
    release()
    while (!loop.published) await wait(1)
  })
  const served = xds.resources(gateway).length
  if (served !== 2 * n + 2) throw new Error(`${served} resources published instead of ${2 * n + 2}`)
  await wait(100)
  const churn = await delayOf(n, async () => {
    for (let turn = 0; turn < churns; turn++) {
      store.apply(upserts([route((turn * 7) % n, crowded, `/turn-${turn}`)]))
      await wait(churnMs)
    }
    await loop.settled()
  })
  loop.close()
  await xds.close()
  return { machine, start, churn }
}

async function spin(): Promise<void> {
  for (let slice = 0; slice < 200; slice++) {
    const end = performance.now() + spinMs
    while (performance.now() < end);
    await new Promise(resolve => setImmediate(resolve))
  }
}

const phases = ['machine', 'start', 'churn'] as const
type Phase = (typeof phases)[number]

const works: Readonly<Record<Phase, string>> = {
  machine: `arithmetic for 2 s in slices of ${spinMs} ms: what exceeds those is others at work on the machine`,
  start: 'a cold start with N routes on one port, read in slices, until published',
  churn: `one route changes every ${churnMs} ms in that world`,
}

export async function loopDelay(): Promise<readonly Bench[]> {
  const all: Record<Phase, Delay>[] = []
  for (const n of sizes) all.push(await measure(n))
  return phases.flatMap(phase => [bench(phase, 'p99', 20, all), bench(phase, 'max', 50, all)])
}

function bench(phase: Phase, of: 'p99' | 'max', goal: number, all: readonly Record<Phase, Delay>[]): Bench {
  return {
    name: `loop-delay (${phase}, ${of})`,
    work: works[phase],
    points: all.map(delays => ({ n: delays[phase].n, value: delays[phase][of] })),
    ...(phase !== 'machine' && { goals: { at: new Map([[10_000, goal]]) } }),
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const each of await loopDelay()) printReport(each)
}
