import type { KindId } from '../../core/index.js'
import { mostBytes } from './messages.js'
import type { Message } from './messages.js'

interface Entry {
  readonly message: Message
  /** When it came, counted. */
  readonly order: number
}

/** So many messages are one POST. */
const mostMessages = 1000

/** What waits for one target, in order; a message takes the place of an earlier one that it says all of. */
export class Waiting {
  #entries = new Map<string, Entry>()
  #order = 0
  #bytes = 0
  #syncBytes = 0

  /** Of events and hints; a SYNC is held once for all targets. */
  get bytes(): number {
    return this.#bytes
  }

  get allBytes(): number {
    return this.#bytes + this.#syncBytes
  }

  /** What is put from now on comes after it. */
  mark(): number {
    return this.#order
  }

  put(message: Message): void {
    this.#remove(message.id)
    this.#count(message, 1)
    // In the place of the earlier one where there is one: what changes all the time must not wait for ever.
    this.#entries.set(message.id, { message, order: this.#order++ })
  }

  /**
   * A SYNC makes everything of its kind needless that was put before its list was begun (`mark`); what came since
   * follows it.
   */
  putSync(kind: KindId, parts: readonly Message[], mark: number): void {
    const later: Message[] = []
    for (const { message, order } of [...this.#entries.values()]) {
      if (message.kind !== kind) continue
      this.#remove(message.id)
      this.#entries.delete(message.id)
      if (order >= mark) later.push(message)
    }
    for (const message of [...parts, ...later]) this.put(message)
  }

  /** The next POST: about a MiB, at most a thousand messages. */
  take(): readonly Message[] {
    const batch: Message[] = []
    let bytes = 0
    for (const [id, { message }] of this.#entries) {
      bytes += message.bytes
      if (batch.length > 0 && (bytes > mostBytes || batch.length >= mostMessages)) break
      batch.push(message)
      this.#remove(id)
      this.#entries.delete(id)
    }
    return batch
  }

  clear(): void {
    this.#entries = new Map()
    this.#bytes = 0
    this.#syncBytes = 0
  }

  #remove(id: string): void {
    const entry = this.#entries.get(id)
    if (entry) this.#count(entry.message, -1)
  }

  #count({ bytes, sync }: Message, sign: 1 | -1): void {
    if (sync) this.#syncBytes += sign * bytes
    else this.#bytes += sign * bytes
  }
}
