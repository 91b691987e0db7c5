import type { Clock, KindId, Log } from '../../core/index.js'
import { followAddresses } from './addresses.js'
import type { Destination, Resolve } from './addresses.js'
import type { CredentialFiles } from './credentials.js'
import type { Instruments } from './instruments.js'
import type { Message } from './messages.js'
import { Outbox } from './outbox.js'

export interface ReceiversOptions {
  readonly urls: readonly URL[]
  readonly credentials: CredentialFiles
  readonly bufferBytes: number
  readonly resolve: Resolve
  readonly clock: Clock
  readonly log: Log
  readonly instruments: Instruments
  readonly onOwed: (outbox: Outbox, kinds?: ReadonlySet<KindId>) => void
}

/** Every receiver behind every target, each with its outbox; one that comes new is owed a SYNC of every kind. */
export class Receivers {
  readonly #options: ReceiversOptions
  readonly #outboxes = new Map<string, { readonly destination: Destination; readonly outbox: Outbox }>()
  /** Why a target cannot be looked up. */
  readonly #unknown = new Map<string, string>()
  readonly #undo: (() => void)[] = []

  constructor(options: ReceiversOptions) {
    this.#options = options
  }

  start(): void {
    const { urls, resolve, clock } = this.#options
    for (const url of urls) {
      const target = url.href
      const onLookup = (why: string | undefined) => {
        if (why === undefined) this.#unknown.delete(url.host)
        else this.#unknown.set(url.host, why)
      }
      const onChange = (destinations: readonly Destination[]) => this.#become(target, destinations)
      this.#undo.push(followAddresses({ url, resolve, clock, onChange, onLookup }))
    }
  }

  put(message: Message): void {
    for (const { outbox } of this.#outboxes.values()) outbox.put(message)
  }

  sync(kind: KindId, parts: readonly Message[]): void {
    for (const { outbox } of this.#outboxes.values()) outbox.sync(kind, parts)
  }

  degraded(): readonly { readonly source: string; readonly message: string }[] {
    const silent = [...this.#outboxes.values()].flatMap(({ destination, outbox }) => {
      const message = outbox.whyDegraded()
      return message === undefined ? [] : [{ source: destination.name, message }]
    })
    return [...[...this.#unknown].map(([source, message]) => ({ source, message })), ...silent]
  }

  close(): void {
    for (const undo of this.#undo) undo()
    for (const { outbox } of this.#outboxes.values()) outbox.close()
    this.#outboxes.clear()
  }

  #become(target: string, destinations: readonly Destination[]): void {
    const wanted = new Map(destinations.map(each => [`${target} ${each.id}`, each]))
    for (const [key, { outbox, destination }] of this.#outboxes) {
      if (!key.startsWith(`${target} `) || wanted.has(key)) continue
      this.#options.log.info({ target: destination.name }, 'a receiver is gone')
      this.#outboxes.delete(key)
      outbox.close()
    }
    for (const [key, destination] of wanted) if (!this.#outboxes.has(key)) this.#add(key, destination)
  }

  #add(key: string, destination: Destination): void {
    this.#options.log.info({ target: destination.name }, 'a receiver is there')
    const outbox = new Outbox({ ...this.#options, destination })
    this.#outboxes.set(key, { destination, outbox })
    this.#options.onOwed(outbox)
  }
}
