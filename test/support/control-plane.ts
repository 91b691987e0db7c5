import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './load.js'
import { freePort } from './backends.js'

const main = new URL('../../src/cli/main.ts', import.meta.url).pathname

/** `gatewright up` as its own process, on addresses that stay when it is started again. */
export class ControlPlane {
  readonly #state = mkdtempSync(join(tmpdir(), 'gatewright-state-'))
  readonly #directory: string
  readonly #flags: readonly string[]
  readonly #ports: { readonly http: number; readonly xds: number; readonly admin: number }
  #child: ChildProcess | undefined
  output = ''

  private constructor(directory: string, ports: ControlPlane['ports'], flags: readonly string[]) {
    this.#directory = directory
    this.#flags = flags
    this.#ports = ports
  }

  static async start(directory: string, ...flags: readonly string[]): Promise<ControlPlane> {
    const ports = { http: await freePort(), xds: await freePort(), admin: await freePort() }
    const plane = new ControlPlane(directory, ports, flags)
    await plane.restart()
    return plane
  }

  get ports() {
    return this.#ports
  }
  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Starts the process again on the same addresses, and waits until it is ready. */
  async restart(): Promise<void> {
    const { http, xds, admin } = this.#ports
    const flags = Object.entries({ http, xds, 'envoy-admin': admin }).map(
      ([name, port]) => `--${name}=127.0.0.1:${port}`,
    )
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', main, 'up', this.#directory, ...flags, ...this.#flags],
      {
        env: { ...process.env, GATEWRIGHT_STATE: this.#state },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    this.#child = child
    child.stdout.on('data', (text: Buffer) => (this.output += text.toString()))
    child.stderr.on('data', (text: Buffer) => (this.output += text.toString()))
    await eventually(
      () => this.get('/readyz'),
      () => true,
      60_000,
    ).catch((error: unknown) => {
      throw new Error(`not ready: ${String(error)}\n${this.output.slice(-4000)}`)
    })
  }

  /** Ends the process at once, as a crash does; its Envoys go on. */
  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  /** Ends the process and its Envoys. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child && child.exitCode === null && child.signalCode === null) {
      const gone = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
    }
    rmSync(this.#state, { recursive: true, force: true })
  }

  /** GET of the HTTP API; rejects on another answer than 200. */
  get(path: string): Promise<string> {
    return read(this.#ports.http, path)
  }

  async json<T>(path: string): Promise<T> {
    return JSON.parse(await this.get(path)) as T
  }

  /** Counters and gauges of the Envoy whose names match. */
  async envoyStats(filter: string): Promise<Record<string, number>> {
    const text = await read(this.#ports.admin, `/stats?filter=${encodeURIComponent(filter)}`)
    const lines = text.split('\n').filter(line => line.includes(': '))
    return Object.fromEntries(
      lines.map(line => [line.slice(0, line.indexOf(': ')), Number(line.slice(line.indexOf(': ') + 2))]),
    )
  }
}

function read(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, agent: false, timeout: 10_000 }, response => {
      let body = ''
      response.on('data', (text: Buffer) => (body += text.toString()))
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(body)
          : reject(new Error(`${path}: ${response.statusCode ?? 0} ${body}`)),
      )
    })
    call.on('error', reject)
    call.on('timeout', () => call.destroy(new Error(`${path}: no answer`)))
    call.end()
  })
}
