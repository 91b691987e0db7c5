import type { KindId } from '../core/index.js'
import { connect, isInCluster } from './client.js'
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

/**
 * As `connect`, at the first call: loading the client library takes half a second, which whoever has to answer at once
 * cannot wait for. NO_CLUSTER is what the calls reject with then.
 */
export function connectLater(options: ConnectOptions = {}): KubeClient {
  return new LaterClient(options)
}

class LaterClient implements KubeClient {
  readonly server = 'the API server'
  readonly inCluster: boolean
  readonly #options: ConnectOptions
  #connecting: Promise<KubeClient> | undefined
  #client: KubeClient | undefined
  #isClosed = false

  constructor(options: ConnectOptions) {
    this.#options = options
    this.inCluster = isInCluster(options)
  }

  async list(kind: KindId, options?: ListOptions): Promise<KubeList | 'absent'> {
    return (await this.#connected()).list(kind, options)
  }

  async *watch(kind: KindId, options: WatchOptions): AsyncGenerator<WatchEvent, void> {
    yield* (await this.#connected()).watch(kind, options)
  }

  async reviewToken(token: string, audiences?: readonly string[]): Promise<Caller | undefined> {
    return (await this.#connected()).reviewToken(token, audiences)
  }

  async whyNotAllowed(caller: Caller, access: Access): Promise<string | undefined> {
    return (await this.#connected()).whyNotAllowed(caller, access)
  }

  close(): void {
    this.#isClosed = true
    this.#client?.close()
  }

  async #connected(): Promise<KubeClient> {
    this.#connecting ??= connect(this.#options)
    try {
      this.#client = await this.#connecting
      if (this.#isClosed) this.#client.close()
      return this.#client
    } catch (error) {
      this.#connecting = undefined
      throw error
    }
  }
}
