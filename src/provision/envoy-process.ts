import { spawn } from 'node:child_process'
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bootstrapPathOf, callAdmin, requestsInFlight } from './admin.js'
import { isAlive } from './lock.js'
import { logFormat } from './output.js'

/** What an Envoy process is started with. */
export interface Launch {
  /** The binary. */
  readonly envoy: string
  /** Its own directory: bootstrap, process number, admin address and output live there. */
  readonly directory: string
  readonly bootstrap: object
  readonly concurrency: number
  readonly logLevel: 'debug' | 'info' | 'warning'
}

export interface Exit {
  /** Absent when a signal ended it, or when it was adopted. */
  readonly code?: number
  readonly signal?: string
}

/** One running Envoy. */
export interface EnvoyProcess {
  readonly pid: number
  /** True for one that an earlier control plane left running. */
  readonly adopted: boolean
  /** `host:port` of its admin page, once it is bound; rejects when the process ends before. */
  readonly admin: Promise<string>
  readonly exited: Promise<Exit>
}

export const outputOf = (directory: string) => join(directory, 'envoy.log')
const bootstrapOf = (directory: string) => join(directory, 'bootstrap.json')
const recordOf = (directory: string) => join(directory, 'process.json')
const adminOf = (directory: string) => join(directory, 'admin.address')

const textOf = (launch: Launch) => `${JSON.stringify(launch.bootstrap, null, 2)}\n`

function argumentsOf(launch: Launch): string[] {
  return [
    ...['--config-path', bootstrapOf(launch.directory), '--admin-address-path', adminOf(launch.directory)],
    ...['--disable-hot-restart', '--concurrency', String(launch.concurrency)],
    ...['--log-level', launch.logLevel, '--log-format', logFormat, '--log-format-escaped'],
  ]
}

/** Starts an Envoy that outlives this process: only {@link endProcess} ends it, not a Ctrl-C at the terminal. */
export async function launchProcess(launch: Launch): Promise<EnvoyProcess> {
  const { directory, envoy } = launch
  await mkdir(directory, { recursive: true })
  await writeFile(bootstrapOf(directory), textOf(launch), { mode: 0o600 })
  await rm(adminOf(directory), { force: true })
  const output = await open(outputOf(directory), 'a')
  try {
    const child = spawn(envoy, argumentsOf(launch), {
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
    })
    const exited = new Promise<Exit>(resolve => {
      child.on('error', () => resolve({ signal: 'it could not be started' }))
      child.on('exit', (code, signal) => {
        resolve({ ...(code !== null && { code }), ...(signal !== null && { signal }) })
      })
    })
    const pid = child.pid ?? 0
    const record: Started = { pid, envoy, arguments: argumentsOf(launch) }
    await writeFile(recordOf(directory), JSON.stringify(record))
    return { pid, adopted: false, admin: adminAddress(directory, exited), exited }
  } finally {
    await output.close()
  }
}

interface Started {
  readonly pid: number
  readonly envoy: string
  readonly arguments: readonly string[]
}

/** The address that Envoy writes down once it is bound. */
async function adminAddress(directory: string, exited: Promise<Exit>): Promise<string> {
  const ended = new AbortController()
  void exited.then(() => ended.abort())
  while (!ended.signal.aborted) {
    const address = await readFile(adminOf(directory), 'utf8').catch(() => '')
    if (address !== '') return address
    await pause(20)
  }
  throw new Error('Envoy ended before its admin page was bound')
}

/** The Envoy that an earlier control plane left running in the directory, whatever it was started with. */
export async function findProcess(directory: string): Promise<EnvoyProcess | undefined> {
  const record = await readRecord(directory)
  if (!record || !isAlive(record.pid)) return undefined
  const admin = await readFile(adminOf(directory), 'utf8').catch(() => '')
  // The number alone may be another process by now; only that Envoy knows this bootstrap file.
  if (admin === '' || (await bootstrapPathOf(admin)) !== bootstrapOf(directory)) return undefined
  return { pid: record.pid, adopted: true, admin: Promise.resolve(admin), exited: disappearance(record.pid) }
}

/** True when a process found in the directory runs the same binary, arguments and bootstrap as this launch would. */
export async function isSame(launch: Launch): Promise<boolean> {
  const record = await readRecord(launch.directory)
  const bootstrap = await readFile(bootstrapOf(launch.directory), 'utf8').catch(() => '')
  return (
    record?.envoy === launch.envoy &&
    JSON.stringify(record.arguments) === JSON.stringify(argumentsOf(launch)) &&
    bootstrap === textOf(launch)
  )
}

async function readRecord(directory: string): Promise<Started | undefined> {
  const text = await readFile(recordOf(directory), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Started)
}

async function disappearance(pid: number): Promise<Exit> {
  while (isAlive(pid)) await pause(250)
  return {}
}

/**
 * Ends an Envoy: it stops listening at once, the requests it has are given `drainMs`, then it gets SIGTERM, and
 * SIGKILL if that does not help within 5 s.
 */
export async function endProcess(running: EnvoyProcess, drainMs: number): Promise<void> {
  const admin = await Promise.race([running.admin.catch(() => undefined), pause(1000, undefined)])
  if (admin !== undefined && drainMs > 0 && isAlive(running.pid)) {
    await drain(admin, drainMs).catch(() => {})
  }
  signal(running.pid, 'SIGTERM')
  await Promise.race([running.exited, pause(5000, undefined, { ref: false })])
  signal(running.pid, 'SIGKILL')
  await running.exited
}

async function drain(admin: string, drainMs: number): Promise<void> {
  // The first makes Envoy tell its clients to go (`connection: close`, GOAWAY), the second closes its sockets.
  await callAdmin(admin, 'POST', '/healthcheck/fail')
  await callAdmin(admin, 'POST', '/drain_listeners')
  for (let left = drainMs; left > 0; left -= 50) {
    if ((await requestsInFlight(admin)) === 0) return
    await pause(50)
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  if (!isAlive(pid)) return
  process.kill(pid, name)
}
