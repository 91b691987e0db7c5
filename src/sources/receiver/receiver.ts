import type { Clock, KindId, Locator, Log, Metrics } from '../../core/index.js'
import { silentLog, systemClock } from '../../core/index.js'
import type { Applied, Store, StoreEvent } from '../../store/index.js'
import { applySliced } from '../apply.js'
import type { Check } from '../check.js'
import { checkList } from '../checked-list.js'
import { deleteOf, upsertOf } from '../facts.js'
import type { Fact } from '../facts.js'
import type { Hint } from '../hint.js'
import type { Fields } from '../message.js'
import { readMessage, textOf } from '../message.js'
import { pauses } from '../pauses.js'
import { SyncAssembly } from './sync.js'

export interface ReceiverOptions {
  readonly store: Store
  readonly check?: Check
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
  /** Told of every hint: HINT messages, and facts that are too old to be believed. */
  readonly onHint?: (hint: Hint) => void
}

export interface Rejected {
  /** Position among the messages, from 0. */
  readonly index: number
  readonly object?: Locator
  readonly message: string
}

/** What became of the messages; the items of a SYNC are counted one by one, when its last part has come. */
export interface Received {
  readonly accepted: number
  /** Older than what is held or known to be gone. */
  readonly stale: number
  readonly duplicate: number
  readonly rejected: readonly Rejected[]
}

export interface Receiver {
  /**
   * Takes relayed messages as facts, in their order; they are in the store when it resolves. A message that cannot be
   * understood is rejected and changes nothing; the others count.
   */
  receive(messages: readonly unknown[]): Promise<Received>
  /** Forgets the SYNCs under way. */
  close(): void
}

/** The receiving end of `POST /webhooks/watch`. Messages may come twice, late and in any order. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { clock = systemClock, log = silentLog, metrics } = options
  const counter = metrics?.counter(
    'relay_messages_total',
    'Relayed messages and items by what became of them.',
    ['result'],
  )
  const discarded = metrics?.counter(
    'relay_syncs_discarded_total',
    'SYNCs of which a part did not come in time.',
  )
  const syncs = new SyncAssembly(clock, syncId => {
    discarded?.inc()
    log.warn({ syncId }, 'a part of the SYNC did not come within 60 s: it is discarded, nothing was changed')
  })
  const deliver = async (messages: readonly unknown[]): Promise<Received> => {
    const delivery = new Delivery(options, syncs)
    for (const [index, message] of messages.entries()) await delivery.take(message, index)
    const received = await delivery.end()
    for (const result of ['accepted', 'stale', 'duplicate'] as const)
      counter?.inc({ result }, received[result])
    counter?.inc({ result: 'rejected' }, received.rejected.length)
    return received
  }
  let before: Promise<unknown> = Promise.resolve()
  return {
    receive(messages) {
      const done = before.then(() => deliver(messages))
      before = done.catch(() => undefined)
      return done
    },
    close: () => syncs.close(),
  }
}

/** One call: facts in a row are one transaction (a thousand each where they are many), each SYNC is one of its own. */
class Delivery {
  readonly #options: ReceiverOptions
  readonly #syncs: SyncAssembly
  readonly #counts = { accepted: 0, stale: 0, duplicate: 0 }
  readonly #rejected: Rejected[] = []
  readonly #pause = pauses()
  #facts: StoreEvent[] = []

  constructor(options: ReceiverOptions, syncs: SyncAssembly) {
    this.#options = options
    this.#syncs = syncs
  }

  async take(value: unknown, index: number): Promise<void> {
    await this.#pause()
    const message = readMessage(value)
    switch (message.type) {
      case 'malformed':
        this.#rejected.push({ index, message: message.message })
        return
      case 'BOOKMARK':
        this.#counts.accepted++
        return
      case 'HINT':
        this.#takeHint(message.fields, index)
        return
      case 'SYNC':
        await this.#takeSync(message.fields, index)
        return
      case 'DELETED':
        this.#takeFact(deleteOf(message.object), index)
        return
      default:
        this.#takeFact(upsertOf(message.object, this.#options.check), index)
    }
  }

  async end(): Promise<Received> {
    await this.#flush()
    return { ...this.#counts, rejected: this.#rejected }
  }

  #takeFact(fact: Fact, index: number): void {
    if ('event' in fact) this.#facts.push(fact.event)
    else this.#rejected.push({ index, ...fact })
  }

  #takeHint(fields: Fields, index: number): void {
    const [kind, key] = [textOf(fields, 'kind'), textOf(fields, 'key')]
    if (kind === undefined || key === undefined) {
      this.#rejected.push({ index, message: 'a HINT needs kind and key' })
      return
    }
    const [uid, operation] = [textOf(fields, 'uid'), textOf(fields, 'operation')]
    this.#hint({
      kind,
      key,
      ...(uid !== undefined && { uid }),
      ...(operation !== undefined && { operation }),
    })
    this.#counts.accepted++
  }

  async #takeSync(fields: Fields, index: number): Promise<void> {
    await this.#flush()
    const sync = this.#syncs.take(fields)
    if (sync === 'waiting') return
    if (sync === 'duplicate') this.#counts.duplicate++
    else if ('message' in sync) this.#rejected.push({ index, message: sync.message })
    else {
      const { list, rejected } = await checkList(sync, this.#options.check, this.#pause)
      this.#rejected.push(...rejected.map(item => ({ index, ...item })))
      this.#count(this.#options.store.replace({ ...list, mayBeLate: true }))
    }
  }

  async #flush(): Promise<void> {
    if (this.#facts.length > 0) this.#count(await applySliced(this.#options.store, this.#facts))
    this.#facts = []
  }

  #count({ accepted, stale, duplicate, hints }: Applied): void {
    this.#counts.accepted += accepted
    this.#counts.stale += stale + hints.length
    this.#counts.duplicate += duplicate
    for (const key of hints) this.#hint({ kind: kindOfKey(key), key })
  }

  #hint(hint: Hint): void {
    this.#options.onHint?.(hint)
  }
}

function kindOfKey(key: Locator): KindId {
  return key.slice(0, key.indexOf(':'))
}
