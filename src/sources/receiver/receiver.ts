import type { Clock, Locator, Log, Metrics } from '../../core/index.js'
import { locatorOf, silentLog, systemClock } from '../../core/index.js'
import type { Applied, Store, StoreEvent } from '../../store/index.js'
import { newer } from '../../store/index.js'
import { applySliced } from '../apply.js'
import type { Check } from '../check.js'
import { checkList } from '../checked-list.js'
import { deleteOf, nameOf, upsertOf } from '../facts.js'
import type { Fact } from '../facts.js'
import type { Hint } from '../hint.js'
import type { Fields, Message } from '../message.js'
import { readMessage } from '../message.js'
import { pauses } from '../pauses.js'
import { isReadByName, kindOfKey } from '../wanted.js'
import type { Sync } from './sync.js'
import { SyncAssembly } from './sync.js'
import { hintOf } from './hint-message.js'

export interface ReceiverOptions {
  readonly store: Store
  readonly check?: Check
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
  /**
   * Whether a Secret or ConfigMap is referenced now. What is told of others is dropped and counted as accepted: it is
   * understood, and there is nothing to do. Default: every one is taken, as in a folder.
   */
  readonly isWanted?: (key: Locator) => boolean
  /**
   * Told of every hint: HINT messages, references of a Knative ApiServerSource, facts that are too old to be believed,
   * and kinds of which a SYNC was older than what is known. Absent where there is no API server to ask: references
   * are rejected then.
   */
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
        this.#takeHint(hintOf(message.fields), index)
        return
      case 'REFERENCE':
        this.#takeReference(message, index)
        return
      case 'SYNC':
        await this.#takeSync(message.fields, index)
        return
      case 'DELETED':
        this.#takeFact(message.object, deleteOf, index)
        return
      default:
        this.#takeFact(message.object, object => upsertOf(object, this.#options.check), index)
    }
  }

  async end(): Promise<Received> {
    await this.#flush()
    return { ...this.#counts, rejected: this.#rejected }
  }

  #takeFact(object: Fields, read: (object: Fields) => Fact, index: number): void {
    const named = nameOf(object)
    if ('locator' in named && this.#isUnwanted(named.locator)) {
      this.#counts.accepted++
      return
    }
    const fact = read(object)
    if ('event' in fact) this.#facts.push(fact.event)
    else this.#rejected.push({ index, ...fact })
  }

  #isUnwanted(key: Locator): boolean {
    return isReadByName(kindOfKey(key)) && this.#options.isWanted?.(key) === false
  }

  #takeHint(hint: Hint | { readonly message: string }, index: number): void {
    if ('message' in hint) {
      this.#rejected.push({ index, message: hint.message })
      return
    }
    this.#hint(hint)
    this.#counts.accepted++
  }

  #takeReference({ object, operation }: Message & { type: 'REFERENCE' }, index: number): void {
    const named = nameOf(object)
    if ('message' in named) this.#takeHint(named, index)
    else if (this.#options.onHint) {
      this.#takeHint({ kind: kindOfKey(named.locator), key: named.locator, operation }, index)
    } else {
      const message = "it names an object without its content: set the source's mode to Resource"
      this.#rejected.push({ index, object: named.locator, message })
    }
  }

  async #takeSync(fields: Fields, index: number): Promise<void> {
    await this.#flush()
    const sync = this.#syncs.take(fields)
    if (sync === 'waiting') return
    if (sync === 'duplicate') this.#counts.duplicate++
    else if ('message' in sync) this.#rejected.push({ index, message: sync.message })
    else await this.#adopt(sync, index)
  }

  async #adopt(sync: Sync, index: number): Promise<void> {
    const { store, check } = this.#options
    const raw = { ...sync, mayBeLate: true, isUnwanted: (key: Locator) => this.#isUnwanted(key) }
    const held = (key: Locator) => store.snapshot().get(key)
    const { list, rejected, unwanted } = await checkList(raw, { check, held, pause: this.#pause })
    this.#rejected.push(...rejected.map(item => ({ index, ...item })))
    this.#counts.accepted += unwanted
    this.#count(await store.replaceInSlices([list], this.#pause), () => sync.version)
  }

  async #flush(): Promise<void> {
    const facts = this.#facts
    this.#facts = []
    if (facts.length === 0) return
    const applied = await applySliced(this.#options.store, facts)
    const newest = applied.hints.length > 0 ? newestVersions(facts) : undefined
    this.#count(applied, key => newest?.get(key))
  }

  /** @param versionOf - the version at which an object was told of that is to be read back */
  #count(applied: Applied, versionOf: (key: Locator) => string | undefined): void {
    const { accepted, stale, duplicate, hints, late } = applied
    this.#counts.accepted += accepted
    this.#counts.stale += stale + hints.length
    this.#counts.duplicate += duplicate
    for (const kind of late) this.#hint({ kind })
    for (const key of hints) {
      if (late.includes(kindOfKey(key))) continue
      const version = versionOf(key)
      this.#hint({ kind: kindOfKey(key), key, ...(version !== undefined && { version }) })
    }
  }

  #hint(hint: Hint): void {
    this.#options.onHint?.(hint)
  }
}

/** Of each object that was told to be there, the newest version. */
function newestVersions(facts: readonly StoreEvent[]): ReadonlyMap<Locator, string | undefined> {
  const versions = new Map<Locator, string | undefined>()
  for (const fact of facts) {
    if (fact.type !== 'upsert') continue
    const key = locatorOf(fact.object)
    versions.set(key, newer(versions.get(key), fact.version))
  }
  return versions
}
