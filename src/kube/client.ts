import { delimiter, join } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { Fault, systemClock } from '../core/index.js'
import type { Clock, KindId } from '../core/index.js'
import type { KindRow } from '../kinds/index.js'
import { Connection } from './connection.js'
import { KubeError } from './errors.js'
import { codeOf, instrumentsOf, type Instruments } from './instruments.js'
import { listPages } from './list.js'
import { isAbsent } from './presence.js'
import { rowOf } from './resources.js'
import { reviewToken, whyNotAllowed } from './reviews.js'
import type {
  Access,
  Caller,
  ConnectOptions,
  KubeClient,
  KubeList,
  ListOptions,
  WatchEvent,
  WatchOptions,
} from './types.js'
import { watchChanges } from './watch.js'

/** Where a pod's own token is. */
export const podTokenFile = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/**
 * A client of the API server that the options name. It asks nothing yet: an API server that is away shows at the first
 * call. Throws NO_CLUSTER where no kubeconfig can be read and this is no pod.
 */
export async function connect(options: ConnectOptions = {}): Promise<KubeClient> {
  const { clock = systemClock, metrics } = options
  const inCluster = isInCluster(options)
  const config = await loadConfig(options, inCluster)
  const { server, proxyUrl } = config.getCurrentCluster() ?? {}
  const named = `the context ${config.getCurrentContext()}`
  if (server === undefined || !URL.canParse(server)) throw new Fault('NO_CLUSTER', `${named} names no server`)
  if (proxyUrl) throw new Fault('NO_CLUSTER', `${named} goes through a proxy-url, which is not supported`)
  return new Client(new Connection(config, new URL(server)), inCluster, clock, instrumentsOf(metrics))
}

/** Whether a pod's own identity would be used. */
export function isInCluster({ kubeconfig, environment = process.env }: ConnectOptions): boolean {
  return kubeconfig === undefined && environment['KUBERNETES_SERVICE_HOST'] !== undefined
}

async function loadConfig(options: ConnectOptions, inCluster: boolean): Promise<KubeConfig> {
  const { context, environment = process.env } = options
  const file =
    options.kubeconfig ?? environment['KUBECONFIG'] ?? join(environment['HOME'] ?? '', '.kube/config')
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  try {
    if (inCluster) config.loadFromCluster()
    else loadFiles(config, options.kubeconfig === undefined ? file.split(delimiter) : [file])
  } catch (cause) {
    const [why = ''] = (cause as Error).message.split('\n', 1)
    throw new Fault('NO_CLUSTER', `${inCluster ? podTokenFile : file} cannot be used (${why})`, { cause })
  }
  if (context === undefined) return config
  if (config.getContextObject(context) === null)
    throw new Fault('NO_CLUSTER', `there is no context ${context}`)
  config.setCurrentContext(context)
  return config
}

/** KUBECONFIG may name several files: what comes first counts (kubectl: the same). */
function loadFiles(config: KubeConfig, files: readonly string[]): void {
  const [first = '', ...others] = files.filter(file => file !== '')
  config.loadFromFile(first)
  for (const file of others) {
    const more = new (config.constructor as new () => KubeConfig)()
    more.loadFromFile(file)
    config.mergeConfig(more, config.getCurrentContext() !== '')
  }
}

class Client implements KubeClient {
  readonly inCluster: boolean
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #instruments: Instruments
  readonly #closing = new AbortController()
  /** The version of each kind that was found last. */
  readonly #served = new Map<KindId, string>()

  constructor(connection: Connection, inCluster: boolean, clock: Clock, instruments: Instruments) {
    this.#connection = connection
    this.inCluster = inCluster
    this.#clock = clock
    this.#instruments = instruments
  }

  get server(): string {
    return this.#connection.server.origin
  }

  async list(kind: KindId, options: ListOptions = {}): Promise<KubeList | 'absent'> {
    const row = rowOf(kind)
    const { timeoutMs = 30_000 } = options
    const limits = [
      AbortSignal.timeout(timeoutMs),
      this.#closing.signal,
      ...(options.signal ? [options.signal] : []),
    ]
    const signal = AbortSignal.any(limits)
    return this.#instruments.measure('list', kind, async () => {
      for (const version of this.#versions(row)) {
        const found = await this.#found(row, version, () =>
          listPages(this.#connection, row, version, { ...options, signal }),
        )
        if (found !== undefined) return found
      }
      if (await isAbsent(this.#connection, row, signal)) return 'absent'
      throw new KubeError(404, 'NotFound', `${row.plural} are installed but not served (yet)`)
    })
  }

  async *watch(kind: KindId, options: WatchOptions): AsyncGenerator<WatchEvent, void> {
    const row = rowOf(kind)
    const [version = ''] = this.#versions(row)
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    let code = '200'
    try {
      yield* watchChanges(this.#connection, row, version, { ...options, signal }, this.#clock)
    } catch (error) {
      code = codeOf(error)
      throw error
    } finally {
      this.#instruments.count('watch', kind, code)
    }
  }

  reviewToken(token: string, audiences?: readonly string[]): Promise<Caller | undefined> {
    return this.#instruments.measure('create', 'tokenreview', () =>
      reviewToken(this.#connection, token, audiences),
    )
  }

  whyNotAllowed(caller: Caller, access: Access): Promise<string | undefined> {
    return this.#instruments.measure('create', 'subjectaccessreview', () =>
      whyNotAllowed(this.#connection, caller, access),
    )
  }

  close(): void {
    this.#closing.abort()
    this.#connection.close()
  }

  /** The versions to try: the one that was there last, then as the table has them. */
  #versions({ id, versions }: KindRow): readonly string[] {
    const known = this.#served.get(id)
    return known === undefined ? versions : [known, ...versions.filter(version => version !== known)]
  }

  async #found<T>({ id }: KindRow, version: string, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const found = await ask()
      this.#served.set(id, version)
      return found
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 404) throw error
      this.#served.delete(id)
      return undefined
    }
  }
}
