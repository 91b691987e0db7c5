import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock, Locator, Log } from '../core/index.js'
import { Fault, parseLocator } from '../core/index.js'
import type { Warmth } from '../xds/index.js'
import { isWarm } from './admin.js'
import { endProcess, findProcess } from './envoy-process.js'
import { holderOf, takeLock } from './lock.js'
import type { ProxyState } from './proxy.js'
import { Proxy } from './proxy.js'

export interface ProxiesOptions {
  /** The Envoy binary, see {@link findEnvoy}. */
  readonly envoy: string
  /** Where each Envoy's bootstrap, process number and output are kept; one control plane at a time owns it. */
  readonly directory: string
  /** `host:port` of the first Gateway's admin page; the others take any free port of that host. */
  readonly admin: string
  /** Worker threads of each Envoy; default 2. */
  readonly concurrency?: number
  /** Envoy's own log level; default warning. */
  readonly logLevel?: 'debug' | 'info' | 'warning'
  /** How long a stopping Envoy may go on with the requests it has; default 5000. */
  readonly drainMs?: number
  /** The bootstrap of a Gateway's proxy, with its admin page at `admin` (`host:port`, port 0 allowed). */
  readonly bootstrap: (gateway: Locator, admin: string) => object
  readonly clock: Clock
  readonly log: Log
}

/** The Envoys of this machine, one for each Gateway. */
export interface Proxies {
  /** Starts and stops Envoys until there is one for each of these Gateways and no other. */
  want(gateways: readonly Locator[]): void
  /** In order of Gateway. */
  list(): readonly ProxyState[]
  /** Called after anything in {@link list} changed. Returns its undo. */
  subscribe(listener: () => void): () => void
  /** Asks the Gateway's own Envoy every 50 ms; rejects after 10 s, and for a Gateway that has none. */
  readonly warmth: Warmth
  /** Stops them all, each after its drain. */
  close(): Promise<void>
}

const warmthPollMs = 50
const warmthLimitMs = 10_000

/**
 * Takes the directory and starts nothing yet. An Envoy that an earlier control plane left running there, because
 * it was killed, goes on serving: it is taken over if it is as it should be, replaced if it is not, and ended if
 * its Gateway is gone. Throws a Fault ALREADY_RUNNING when a living control plane owns the directory.
 */
export async function startProxies(options: ProxiesOptions): Promise<Proxies> {
  const owner = join(options.directory, 'owner')
  const release = await takeLock(owner)
  if (!release) {
    const holder = (await holderOf(owner)) ?? 'unknown'
    throw new Fault('ALREADY_RUNNING', `the folder is served already (process ${holder}, lock ${owner})`)
  }
  return new LocalProxies(options, release)
}

class LocalProxies implements Proxies {
  readonly #options: ProxiesOptions
  readonly #release: () => Promise<void>
  readonly #proxies = new Map<Locator, Proxy>()
  /** By directory: who comes next waits for these. */
  readonly #ending = new Map<string, Promise<void>>()
  readonly #listeners = new Set<() => void>()
  #wanted = new Set<Locator>()
  #firstGateway: Locator | undefined
  #leftovers: Promise<void> | undefined
  #closed = false

  constructor(options: ProxiesOptions, release: () => Promise<void>) {
    this.#options = options
    this.#release = release
  }

  want(gateways: readonly Locator[]): void {
    if (this.#closed) return
    this.#wanted = new Set(gateways)
    this.#leftovers ??= this.#endLeftovers()
    for (const [gateway, proxy] of this.#proxies) if (!this.#wanted.has(gateway)) this.#stop(gateway, proxy)
    for (const gateway of [...this.#wanted].sort()) this.#start(gateway)
  }

  list(): readonly ProxyState[] {
    return [...this.#proxies.values()]
      .map(proxy => proxy.state)
      .sort((a, b) => (a.gateway < b.gateway ? -1 : 1))
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  readonly warmth: Warmth = async (gateway, cluster) => {
    for (let left = warmthLimitMs; left > 0; left -= warmthPollMs) {
      const proxy = this.#proxies.get(gateway)
      if (!proxy || this.#closed) throw new Error(`no Envoy of ours serves ${gateway}`)
      const { admin } = proxy.state
      if (admin !== undefined && (await isWarm(admin, cluster).catch(() => false))) return
      await pause(warmthPollMs, undefined, { ref: false })
    }
    throw new Error(`cluster ${cluster} of ${gateway} did not become active within ${warmthLimitMs} ms`)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#wanted.clear()
    for (const [gateway, proxy] of this.#proxies) this.#stop(gateway, proxy)
    await this.#leftovers
    await Promise.all(this.#ending.values())
    await this.#release()
  }

  #start(gateway: Locator): void {
    if (this.#proxies.has(gateway)) return
    const directory = this.#directoryOf(gateway)
    const before = this.#ending.get(directory)
    if (before) {
      // The same Gateway was just deleted: its new Envoy waits for the old one's ports.
      void before.then(() => {
        if (this.#wanted.has(gateway)) this.#start(gateway)
      })
      return
    }
    const { envoy, concurrency = 2, logLevel = 'warning', drainMs = 5000, clock } = this.#options
    const bootstrap = this.#options.bootstrap(gateway, this.#adminFor(gateway))
    const launch = { envoy, concurrency, logLevel, bootstrap, directory }
    const log = this.#options.log.child({ gateway })
    const changed = () => this.#changed()
    this.#proxies.set(gateway, new Proxy({ gateway, launch, drainMs, clock, log, changed }))
    this.#changed()
  }

  #stop(gateway: Locator, proxy: Proxy): void {
    this.#proxies.delete(gateway)
    if (this.#firstGateway === gateway) this.#firstGateway = undefined
    this.#end(this.#directoryOf(gateway), proxy.stop())
    this.#changed()
  }

  #end(directory: string, done: Promise<void>): void {
    this.#ending.set(
      directory,
      done.finally(() => this.#ending.delete(directory)),
    )
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }

  #adminFor(gateway: Locator): string {
    this.#firstGateway ??= gateway
    if (this.#firstGateway === gateway) return this.#options.admin
    return `${this.#options.admin.slice(0, this.#options.admin.lastIndexOf(':'))}:0`
  }

  #directoryOf(gateway: Locator): string {
    const { namespace = '', name } = parseLocator(gateway)
    return join(this.#options.directory, `${namespace}_${name}`)
  }

  /** Ends the Envoys of Gateways that went while no control plane was running. */
  async #endLeftovers(): Promise<void> {
    const entries = await readdir(this.#options.directory, { withFileTypes: true })
    const kept = new Set([...this.#wanted].map(gateway => this.#directoryOf(gateway)))
    for (const entry of entries) {
      const directory = join(this.#options.directory, entry.name)
      if (!entry.isDirectory() || kept.has(directory) || this.#ending.has(directory)) continue
      this.#end(directory, this.#endLeftover(directory))
    }
  }

  async #endLeftover(directory: string): Promise<void> {
    const found = await findProcess(directory)
    if (found) {
      this.#options.log.info({ pid: found.pid, directory }, 'ended an Envoy whose Gateway is gone')
      await endProcess(found, this.#options.drainMs ?? 5000)
    }
    await rm(directory, { recursive: true, force: true })
  }
}
