/** One change, 1,000 proxies: how long until all have it, and what that takes. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createXds } from '../src/xds/index.js'
import type { Publication } from '../src/xds/index.js'
import { encode, typeUrls } from '../src/envoy/index.js'
import type { Resource } from '../src/envoy/index.js'
import type { Count, Order } from './fanout/clients.js'
import type { Bench, Measured } from './report.js'
import { middle, printReport, sizes } from './report.js'

const gateway = 'gateway.gateway.networking.k8s.io:shop/public'
const STREAMS = 1000
const CHANGES = 7

/** A cluster as a Gateway's Services give them: about 150 bytes. */
function cluster(n: number, revision: number): Resource {
  const name = `shop/service-${n}/8080/3f2a9c`
  const eds_config = { ads: {}, resource_api_version: 'V3' }
  const bytes = encode(typeUrls.cluster, {
    name,
    type: 'EDS',
    connect_timeout: `${5 + (revision % 2)}.${String(revision).padStart(3, '0')}s`,
    eds_cluster_config: { eds_config, service_name: `shop/service-${n}/8080` },
    alt_stat_name: `shop_service-${n}_8080`,
  })
  return { type: 'cluster', name, version: `${revision}-${n}`, bytes, edsName: `shop/service-${n}/8080` }
}

const publication = (resources: readonly Resource[]): Publication => ({
  gateway,
  changes: resources.map(resource => ({ type: resource.type, name: resource.name, resource })),
})

interface Fanout {
  /** Milliseconds from publish until the last stream has it. */
  readonly change: readonly number[]
  readonly connect: number
  /** Of one response. */
  readonly bytes: number
  /** What the streams have the server hold, in KiB each. */
  readonly kib: number
  readonly loopMax: number
}

async function fanout(protocol: Order['protocol'], n: number, streams: number): Promise<Fanout> {
  const server = createXds()
  const address = await server.listen('127.0.0.1:0')
  server.publish([publication(Array.from({ length: n }, (_, at) => cluster(at, 0)))])
  const child = fork(new URL('./fanout/clients.ts', import.meta.url), { execArgv: ['--import', 'tsx'] })
  await once(child, 'message')
  const before = await memory()
  const began = performance.now()
  child.send({ address, protocol, streams, gateway } satisfies Order)
  await once(child, 'message')
  const connect = performance.now() - began
  const change: number[] = []
  let bytes = 0
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  for (let turn = 1; turn <= CHANGES; turn++) {
    await acknowledged(server)
    const start = performance.now()
    server.publish([publication([cluster(turn % n, turn)])])
    const [count] = (await once(child, 'message')) as [Count]
    change.push(performance.now() - start)
    bytes = count.bytes
  }
  delay.disable()
  await acknowledged(server)
  const kib = ((await memory()) - before) / 1024 / streams
  child.disconnect()
  await once(child, 'exit')
  await server.close()
  return { change, connect, bytes, kib, loopMax: delay.max / 1e6 }
}

/** Nothing is on its way to anybody. */
function acknowledged(server: ReturnType<typeof createXds>): Promise<void> {
  return new Promise(resolve => {
    const look = () => {
      if (server.clients().some(client => client.types.cluster?.state !== 'synced')) return
      undo()
      resolve()
    }
    const undo = server.subscribe(look)
    look()
  })
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Heap and buffers that are in use, in bytes. */
async function memory(): Promise<number> {
  // Buffers are let go of in the turn after the one that found them unused.
  for (let turn = 0; turn < 3; turn++) {
    collect()
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** SotW sends every cluster to every stream: beyond this much in all it measures the kernel. */
const MOST_BYTES = 2e9

export async function xdsFanout(protocol: Order['protocol']): Promise<Bench> {
  const points: Measured[] = []
  const notes: string[] = []
  for (const n of sizes) {
    const streams = protocol === 'sotw' ? Math.min(STREAMS, Math.floor(MOST_BYTES / (n * 250))) : STREAMS
    const { change, connect, bytes, kib, loopMax } = await fanout(protocol, n, streams)
    points.push({ n, value: middle(change), best: Math.min(...change) })
    notes.push(
      `${n}: ${streams} streams, ${bytes} bytes each, all connected and told in ${connect.toFixed(0)} ms, ` +
        `${kib.toFixed(0)} KiB a stream, event loop held ${loopMax.toFixed(0)} ms at most`,
    )
  }
  const work = `one of N clusters changes, until 1,000 ADS streams have it (${protocol})\n  ${notes.join('\n  ')}`
  return { name: `xds-fanout-${protocol}`, work, points }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const protocol of ['delta', 'sotw'] as const) printReport(await xdsFanout(protocol))
}
