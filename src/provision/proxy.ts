import { mkdir, rm, writeFile } from 'node:fs/promises'
import type { Clock, Locator, Log } from '../core/index.js'
import type { EnvoyProcess, Exit, Launch } from './envoy-process.js'
import { endProcess, findProcess, isSame, launchProcess, outputOf } from './envoy-process.js'
import type { Follower } from './output.js'
import { follow, toLog } from './output.js'

/** One Gateway's Envoy, as it is now. */
export interface ProxyState {
  readonly gateway: Locator
  /** waiting: it ended, and is started again after a delay. */
  readonly state: 'starting' | 'running' | 'waiting' | 'stopping'
  readonly pid?: number
  /** `host:port` of the admin page. */
  readonly admin?: string
  /** True when it was running already, left by an earlier control plane. */
  readonly adopted: boolean
  /** How often it was started again because it had ended by itself. */
  readonly restarts: number
  /** Why it ended last, in Envoy's own words. */
  readonly exit?: { readonly at: number; readonly message: string }
}

export interface ProxyOptions {
  readonly gateway: Locator
  readonly launch: Launch
  readonly drainMs: number
  readonly clock: Clock
  readonly log: Log
  readonly changed: () => void
}

const firstDelayMs = 1000
const longestDelayMs = 30_000
/** An Envoy that lived this long was well: the delay begins anew. */
const wellMs = 60_000

/** Keeps one Envoy running: adopts or starts it, starts it again whenever it ends, until it is stopped. */
export class Proxy {
  readonly #options: ProxyOptions
  readonly #lastLines: string[] = []
  readonly #life: Promise<void>
  #state: ProxyState
  #running: EnvoyProcess | undefined
  #wake = () => {}
  #stopped = false

  constructor(options: ProxyOptions) {
    this.#options = options
    this.#state = { gateway: options.gateway, state: 'starting', adopted: false, restarts: 0 }
    this.#life = this.#live()
  }

  get state(): ProxyState {
    return this.#state
  }

  /** Ends the Envoy after its drain, and forgets its directory. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#become({ ...this.#state, state: 'stopping' })
    this.#wake()
    if (this.#running) await endProcess(this.#running, this.#options.drainMs)
    await this.#life
    await rm(this.#options.launch.directory, { recursive: true, force: true })
  }

  async #live(): Promise<void> {
    const { clock, log } = this.#options
    let delay = firstDelayMs
    while (this.#goesOn()) {
      const begin = clock.now()
      const why = await this.#liveOnce().catch((error: unknown) => `Envoy cannot be run: ${String(error)}`)
      if (!this.#goesOn()) return
      if (clock.now() - begin >= wellMs) delay = firstDelayMs
      const { gateway, restarts } = this.#state
      const exit = { at: clock.now(), message: why }
      log.error({ code: 'ENVOY_EXITED', delayMs: delay }, `${why}; it is started again after the delay`)
      const rest = this.#rest(delay)
      this.#become({ gateway, state: 'waiting', adopted: false, restarts, exit })
      await rest
      delay = Math.min(delay * 2, longestDelayMs)
      if (this.#goesOn()) this.#become({ ...this.#state, state: 'starting', restarts: restarts + 1 })
    }
  }

  /** From start or adoption to the end; answers why it ended. */
  async #liveOnce(): Promise<string> {
    const { launch, log, drainMs } = this.#options
    this.#lastLines.length = 0
    const output = await openOutput(launch.directory, line => this.#heard(line))
    try {
      const running = (await adopt(launch, drainMs, log)) ?? (await launchProcess(launch))
      this.#running = running
      // Stopped while it was being started: nobody else would end it.
      if (!this.#goesOn()) void endProcess(running, 0)
      const { pid, adopted } = running
      log.info({ pid }, adopted ? 'took over the running Envoy' : 'started Envoy')
      this.#become({ ...this.#state, pid, adopted })
      void running.admin.then(
        admin => this.#bound(running, admin),
        () => {},
      )
      const exit = await running.exited
      await output.drain()
      return reason(exit, this.#lastLines)
    } finally {
      this.#running = undefined
      output.stop()
    }
  }

  #bound(running: EnvoyProcess, admin: string): void {
    if (this.#running !== running || !this.#goesOn()) return
    this.#options.log.info({ pid: running.pid, admin }, 'Envoy runs')
    this.#become({ ...this.#state, state: 'running', admin })
  }

  #rest(delay: number): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#options.clock.after(delay, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }

  #heard(line: string): void {
    // What it says while it is made to stop is no news.
    if (this.#goesOn()) toLog(this.#options.log, line)
    this.#lastLines.push(line)
    if (this.#lastLines.length > 20) this.#lastLines.shift()
  }

  #goesOn(): boolean {
    return !this.#stopped
  }

  #become(state: ProxyState): void {
    this.#state = this.#stopped ? { ...state, state: 'stopping' } : state
    this.#options.changed()
  }
}

async function openOutput(directory: string, heard: (line: string) => void): Promise<Follower> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(outputOf(directory), '', { flag: 'a', mode: 0o600 })
  return follow(outputOf(directory), heard)
}

/** The Envoy that was left running here, if it is as it should be; one that is not is ended. */
async function adopt(launch: Launch, drainMs: number, log: Log): Promise<EnvoyProcess | undefined> {
  const found = await findProcess(launch.directory)
  if (!found) return undefined
  if (await isSame(launch)) return found
  log.info({ pid: found.pid }, 'the Envoy left running here has other settings: it is replaced')
  await endProcess(found, drainMs)
  return undefined
}

/** Envoy's last words: its errors, or failing those its last line. */
function reason(exit: Exit, lines: readonly string[]): string {
  const errors = lines.filter(line => /^\[(error|critical)\]/.test(line))
  const words = (errors.length > 0 ? errors : lines.slice(-1)).map(line =>
    line.replace(/^\[\w+\]\[[\w-]+\] /, ''),
  )
  const how =
    exit.code !== undefined ? ` with exit code ${exit.code}` : exit.signal ? ` (${exit.signal})` : ''
  return [`Envoy ended${how}`, ...words].join(': ')
}
