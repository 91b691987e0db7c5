/** Admission reviews for routes among N others: how many a second on one core, how long each takes, and the first. */
import { execFileSync, fork, spawn } from 'node:child_process'
import type { ChildProcess, ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { KubeObject } from '../src/core/index.js'
import { drive } from './admission/load.js'
import type { Held, Listening } from './admission/server.js'
import type { Bench, Measured } from './report.js'
import { middle, percentile, printReport, sizes } from './report.js'
import { crowded, route } from './world.js'

const PATH = '/webhooks/admission/validate?timeout=10s'
const REVIEWS = 15_000
const CONNECTIONS = 4
const COLD_STARTS = 7

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Routes that are new, and as many that are there and change, as an API server sends them; no two are alike. */
function reviews(n: number): string[] {
  return Array.from({ length: REVIEWS }, (_, i) => {
    const isUpdate = i % 2 === 0
    const object = route(isUpdate ? i % n : n + i, crowded, `/new-${i}`)
    return review(object, isUpdate ? route(i % n, crowded) : null)
  })
}

function review(object: KubeObject, oldObject: KubeObject | null): string {
  const kind = { group: 'gateway.networking.k8s.io', version: 'v1', kind: object.kind }
  const resource = { group: kind.group, version: kind.version, resource: 'httproutes' }
  const { name, namespace } = object.metadata
  const request = {
    uid: `review-of-${name}`,
    ...{ kind, resource, requestKind: kind, requestResource: resource, name, namespace },
    operation: oldObject ? 'UPDATE' : 'CREATE',
    userInfo: { username: 'someone', groups: ['system:authenticated'] },
    ...{ object, oldObject, dryRun: false, options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' } },
  }
  return JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request })
}

function allowed(answer: string): void {
  if (!answer.startsWith('HTTP/1.1 200') || !answer.includes('"allowed":true')) throw new Error(answer)
}

interface Figures {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** µs. */
  readonly cpu: number
}

interface Server {
  /** `host:port`. */
  readonly address: string
  readonly path: string
  readonly pid: number
  /** Done between warming up and measuring. */
  readonly warm?: () => Promise<unknown>
}

async function figures({ address, path, pid, warm }: Server, bodies: readonly string[]): Promise<Figures> {
  const load = { address, path, connections: CONNECTIONS, bodies, check: allowed }
  await drive({ ...load, count: REVIEWS / 3 })
  await warm?.()
  const before = cpuOf(pid)
  const { latencies, took } = await drive({ ...load, count: REVIEWS })
  const cpu = ((cpuOf(pid) - before) * 1_000) / REVIEWS
  const perSecond = (REVIEWS * 1_000) / took
  return { perSecond, p50: middle(latencies), p99: percentile(latencies, 0.99), cpu }
}

/** ms that a process has computed so far; NaN where the system does not say so in this way. */
function cpuOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return NaN
  }
}

/** Where the system can, a server has one core and not two: its collector's threads count as well. */
function onOneCore(child: ChildProcess): void {
  try {
    execFileSync('taskset', ['-apc', '0', String(child.pid)], { stdio: 'ignore' })
  } catch {
    console.log('  (taskset is not there: the server may use more than one core)')
  }
}

async function ours(n: number): Promise<Figures & Held> {
  const child = fork(here('admission/server.ts'), [String(n)], { execArgv: ['--import', 'tsx'] })
  try {
    const [{ address }] = (await once(child, 'message')) as [Listening]
    onOneCore(child)
    const held = async () => {
      child.send('held')
      const [answer] = (await once(child, 'message')) as [Held]
      return answer
    }
    const server = { address, path: PATH, pid: child.pid as number, warm: held }
    const found = await figures(server, reviews(n))
    return { ...found, ...(await held()) }
  } finally {
    child.kill()
  }
}

/** controller-runtime's webhook with the API server's own validation, built anew; nothing where there is no Go. */
async function peer(bodies: readonly string[]): Promise<Figures | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'gatewright-bench-'))
  try {
    const program = join(folder, 'peer')
    execFileSync('go', ['build', '-o', program, '.'], { cwd: here('peers/admission'), stdio: 'inherit' })
    const schema = here('../src/kinds/schemas/httproute.gen.json')
    const child = spawn(program, [schema], {
      env: { ...process.env, GOMAXPROCS: '1' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    try {
      const address = await addressOf(child)
      onOneCore(child)
      return await figures({ address, path: '/', pid: child.pid as number }, bodies)
    } finally {
      child.kill()
    }
  } catch (error) {
    console.log(`  the peer was not run: ${(error as Error).message}`)
    return undefined
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** What a server says first. */
async function addressOf(child: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('it ended before it listened')
  })
  const [address] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
  ended.catch(() => undefined)
  return (
    address
      .toString()
      .replace(/^HTTP +http:\/\//, '')
      .split('\n', 1)[0] ?? ''
  )
}

/** ms from starting the webhook side to its first answer about a route; its API server is away. */
async function coldStart(body: string): Promise<number> {
  const start = performance.now()
  const command = [here('../dist/cli/main.js'), 'serve', '--role', 'webhook', '--log-level', 'silent']
  const child = spawn(process.execPath, [...command, '--http', '127.0.0.1:0', '--kubeconfig', '/dev/null'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const load = { address: await addressOf(child), path: PATH, connections: 1, bodies: [body], count: 1 }
    await drive({ ...load, check: allowed })
    return performance.now() - start
  } finally {
    child.kill()
  }
}

const text = ({ perSecond, p50, p99, cpu }: Figures) =>
  `${Math.round(perSecond).toLocaleString('en')} reviews/s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ` +
  `${Math.round(cpu)} µs of CPU each`

export async function admission(): Promise<Bench[]> {
  const points: Measured[] = []
  const notes: string[] = []
  for (const n of sizes) {
    const found = await ours(n)
    points.push({ n, value: found.p99 })
    notes.push(`${n}: ${text(found)}, event loop held ${found.loopMax.toFixed(0)} ms at most`)
  }
  const other = await peer(reviews(5_000))
  if (other) notes.push(`controller-runtime, the same rules, no other objects: ${text(other)}`)
  const work =
    `reviews of HTTPRoutes among N, by HTTP on ${CONNECTIONS} connections, one route of the store changing every 10 ms: p99` +
    `\n  (goal for the rate: 3,000 reviews/s at 5,000)\n  ${notes.join('\n  ')}`
  return [{ name: 'admission', work, points, goals: { at: new Map([[5_000, 5]]), exponent: 0.2 } }]
}

export async function admissionCold(): Promise<Bench[]> {
  if (!existsSync(here('../dist/server/index.js'))) {
    console.log('admission-cold: not run, since there is no dist: run `npm run build` first\n')
    return []
  }
  const [body = ''] = reviews(1_000)
  const took: number[] = []
  for (let turn = 0; turn < COLD_STARTS; turn++) took.push(await coldStart(body))
  const points = [{ n: 1, value: middle(took), best: Math.min(...took) }]
  const work = 'starting a process until its first answer about a route'
  return [{ name: 'admission-cold', work, points, goals: { at: new Map([[1, 1_000]]) } }]
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const bench of [admission, admissionCold]) for (const each of await bench()) printReport(each)
}
