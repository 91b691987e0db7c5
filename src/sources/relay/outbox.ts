import type { Clock, KindId, Log } from '../../core/index.js'
import type { Destination } from './addresses.js'
import { Backoff, pause } from './backoff.js'
import { Caller } from './call.js'
import type { Answer } from './call.js'
import type { CredentialFiles } from './credentials.js'
import type { Instruments } from './instruments.js'
import type { Message } from './messages.js'
import { Waiting } from './waiting.js'

export interface OutboxOptions {
  readonly destination: Destination
  readonly credentials: CredentialFiles
  readonly bufferBytes: number
  readonly clock: Clock
  readonly log: Log
  readonly instruments: Instruments
  /** Asks for SYNCs: of some kinds, or of every kind. */
  readonly onOwed: (outbox: Outbox, kinds?: ReadonlySet<KindId>) => void
}

/** In ms: an answer that takes longer is none. */
const patience = 10_000
/** In ms: a receiver forgets a SYNC of which the parts take longer than a minute; whatever came close is sent again. */
const longSync = 45_000
/** Statuses by which a target says nothing of the messages: they are sent again. All other 4xx refuse them. */
const transient: ReadonlySet<number> = new Set([401, 403, 404, 405, 407, 408, 421, 425, 429])
/** In ms: a target that asks to wait for longer is asked again all the same. */
const mostRetryAfter = 60_000

type Outcome =
  | { readonly result: 'taken'; readonly answer: Answer }
  | { readonly result: 'again'; readonly why: string; readonly afterMs: number }
  | { readonly result: 'refused' | 'large'; readonly why: string }

/** What waits for one receiver, and its delivery: one POST after the other, at least once. */
export class Outbox {
  readonly #options: OutboxOptions
  readonly #caller: Caller
  readonly #waiting = new Waiting()
  readonly #closing = new AbortController()
  readonly #retry = new Backoff(100, 10_000)
  readonly #owedRetry = new Backoff(30_000, 600_000)
  /** Kinds of which a SYNC is to be asked for, a little later. */
  readonly #owed = new Set<KindId>()
  /** When the first part of a kind's SYNC was sent first. */
  readonly #syncBegan = new Map<KindId, number>()
  #stopOwed: (() => void) | undefined
  #isSending = false
  /** Too much waited: nothing is kept until the target answers. */
  #isLost = false
  #why: string | undefined

  constructor(options: OutboxOptions) {
    this.#options = options
    this.#caller = new Caller(options.destination, options.credentials, options.clock, patience)
  }

  /** Why its last POST came to nothing; undefined when it did not. */
  whyDegraded(): string | undefined {
    return this.#why
  }

  mark(): number {
    return this.#waiting.mark()
  }

  put(message: Message): void {
    if (this.#isLost || this.#closing.signal.aborted) return
    this.#waiting.put(message)
    this.#send()
    if (this.#waiting.bytes > this.#options.bufferBytes) this.#overflow()
    this.#measure()
  }

  /** @param mark - of when the list was begun; without it nothing of the kind came meanwhile */
  sync(kind: KindId, parts: readonly Message[], mark = Infinity): void {
    if (this.#isLost || this.#closing.signal.aborted) return
    this.#options.instruments.sync(kind)
    this.#waiting.putSync(kind, parts, mark)
    this.#send()
    this.#measure()
  }

  close(): void {
    this.#closing.abort()
    this.#stopOwed?.()
    this.#caller.close()
    this.#waiting.clear()
    this.#options.instruments.gone(this.#options.destination.name)
  }

  #send(): void {
    if (!this.#isSending && !this.#closing.signal.aborted) void this.#drain()
  }

  async #drain(): Promise<void> {
    this.#isSending = true
    for (let batch = this.#waiting.take(); batch.length > 0; batch = this.#waiting.take()) {
      this.#measure()
      await this.#deliver(batch)
      if (this.#closing.signal.aborted) break
      if (this.#isLost) this.#recover()
    }
    this.#isSending = false
  }

  async #deliver(batch: readonly Message[]): Promise<void> {
    this.#noteSyncs(batch)
    for (;;) {
      const outcome = await this.#post(batch)
      if (this.#closing.signal.aborted) return
      if (outcome.result !== 'again') return this.#settle(batch, outcome)
      this.#failed(outcome.why)
      await pause(this.#options.clock, Math.max(outcome.afterMs, this.#retry.next()), this.#closing.signal)
    }
  }

  async #settle(
    batch: readonly Message[],
    outcome: Exclude<Outcome, { readonly result: 'again' }>,
  ): Promise<void> {
    this.#succeeded()
    if (outcome.result === 'taken') this.#taken(batch, outcome.answer)
    else if (outcome.result === 'refused' || batch.length === 1) this.#refused(batch, outcome.why)
    else await this.#deliverHalves(batch)
  }

  async #deliverHalves(batch: readonly Message[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2)
    await this.#deliver(batch.slice(0, middle))
    if (!this.#closing.signal.aborted) await this.#deliver(batch.slice(middle))
  }

  async #post(batch: readonly Message[]): Promise<Outcome> {
    const { destination, instruments } = this.#options
    try {
      const answer = await this.#caller.post(
        `[${batch.map(({ text }) => text).join()}]`,
        this.#closing.signal,
      )
      instruments.post(destination.url.host, String(answer.status))
      return outcomeOf(answer, destination.name)
    } catch (error) {
      if (!this.#closing.signal.aborted) instruments.post(destination.url.host, 'unreachable')
      return { result: 'again', why: (error as Error).message, afterMs: 0 }
    }
  }

  #noteSyncs(batch: readonly Message[]): void {
    for (const { kind, sync } of batch) {
      if (sync?.part === 1) this.#syncBegan.set(kind, this.#options.clock.now())
    }
  }

  #taken(batch: readonly Message[], answer: Answer): void {
    const late = batch.filter(({ kind, sync }) => sync && sync.part === sync.of && this.#tookLong(kind))
    const lost = rejectedAt(answer).flatMap(index => (batch[index]?.sync ? [batch[index]] : []))
    if (late.length + lost.length > 0) this.#owe([...late, ...lost])
    else if (batch.some(({ sync }) => sync?.part === sync?.of)) this.#owedRetry.reset()
  }

  #tookLong(kind: KindId): boolean {
    const { clock } = this.#options
    return clock.now() - (this.#syncBegan.get(kind) ?? clock.now()) > longSync
  }

  /** They are dropped, or they would be sent for ever; what they told of comes by a SYNC. A SYNC is not tried again. */
  #refused(batch: readonly Message[], why: string): void {
    const { destination, instruments, log } = this.#options
    log.error({ messages: batch.length, why }, 'a target refuses messages: they are dropped, a SYNC follows')
    instruments.refused(destination.url.host, batch.length)
    this.#owe(batch.filter(({ sync }) => sync === undefined))
  }

  #owe(messages: readonly Message[]): void {
    for (const { kind } of messages) this.#owed.add(kind)
    if (this.#owed.size === 0 || this.#stopOwed) return
    this.#stopOwed = this.#options.clock.after(this.#owedRetry.next(), () => {
      this.#stopOwed = undefined
      const kinds = new Set(this.#owed)
      this.#owed.clear()
      this.#options.onOwed(this, kinds)
    })
  }

  #overflow(): void {
    const { destination, instruments, log } = this.#options
    this.#isLost = true
    this.#waiting.clear()
    instruments.overflow(destination.url.host)
    log.warn({ target: destination.name }, 'too much waits for a target: it is sent SYNCs once it answers')
  }

  #recover(): void {
    this.#isLost = false
    this.#options.onOwed(this)
  }

  #failed(why: string): void {
    if (this.#why === undefined) this.#options.log.warn({ why }, 'a target does not take messages: they wait')
    this.#why = why
  }

  #succeeded(): void {
    if (this.#why !== undefined) {
      this.#options.log.info({ target: this.#options.destination.name }, 'a target takes messages again')
    }
    this.#why = undefined
    this.#retry.reset()
  }

  #measure(): void {
    this.#options.instruments.waiting(this.#options.destination.name, this.#waiting.allBytes)
  }
}

function outcomeOf(answer: Answer, target: string): Outcome {
  const { status, retryAfterMs = 0 } = answer
  if (status >= 200 && status < 300) return { result: 'taken', answer }
  const why = `POST ${target} was answered ${status}${detailOf(answer)}`
  if (status === 413) return { result: 'large', why }
  if (status >= 400 && status < 500 && !transient.has(status)) return { result: 'refused', why }
  return { result: 'again', why, afterMs: Math.min(retryAfterMs, mostRetryAfter) }
}

interface Body {
  readonly detail?: unknown
  readonly rejected?: readonly { readonly index?: number; readonly object?: string }[]
}

function bodyOf({ body }: Answer): Body {
  try {
    return (JSON.parse(body) ?? {}) as Body
  } catch {
    return {}
  }
}

/** The reason of a problem (RFC 9457). */
function detailOf(answer: Answer): string {
  const { detail } = bodyOf(answer)
  return typeof detail === 'string' ? `: ${detail.slice(0, 200)}` : ''
}

/** Positions of messages that were rejected as such, not for an object in them. */
function rejectedAt(answer: Answer): readonly number[] {
  const { rejected } = bodyOf(answer)
  return (Array.isArray(rejected) ? (rejected as NonNullable<Body['rejected']>) : []).flatMap(
    ({ index, object }) => (index !== undefined && object === undefined ? [index] : []),
  )
}
