import type { Clock, Log } from '../../core/index.js'
import { nextTurn, silentLog, systemClock } from '../../core/index.js'
import type { Hint } from '../hint.js'
import type { Destination } from './addresses.js'
import { followAddresses, resolveByDns } from './addresses.js'
import { pause } from './backoff.js'
import { Caller } from './call.js'
import { CredentialFiles } from './credentials.js'
import { HintGate } from './hint-gate.js'
import type { Forwarder, ForwarderOptions } from './types.js'
import { watchUrl } from './url.js'

/** Hints that may wait for one replica, and that go in one request. */
const [mostWaiting, mostTogether] = [1000, 500]
/** In ms: for one try, and between tries. */
const [patience, between] = [700, [100, 300]] as const
/** Characters of a hint; the longest name, namespace and kind together have fewer. */
const longest = 2000

/** Passes hints on to the replicas that are named. With none it does nothing. */
export function createForwarder(options: ForwarderOptions): Forwarder {
  if (options.peers.length === 0) return { send: () => undefined, close: () => undefined }
  return new HintForwarder(options)
}

class HintForwarder implements Forwarder {
  readonly #gate: HintGate
  readonly #peers: readonly Peer[]
  readonly #count: Count

  constructor({ peers, credentials, metrics, ...rest }: ForwarderOptions) {
    const { clock = systemClock, log = silentLog, resolve = resolveByDns } = rest
    const counter = metrics?.counter(
      'hints_forwarded_total',
      'Hints for other replicas by what became of them: duplicate and dropped, and for each replica delivered and lost.',
      ['result'],
    )
    this.#count = (result, hints = 1) => counter?.inc({ result }, hints)
    this.#gate = new HintGate(clock, hint => {
      for (const peer of this.#peers) peer.take(hint)
    })
    const files = new CredentialFiles(credentials)
    const open = (destination: Destination) => {
      const caller = new Caller(destination, files, clock, patience)
      return new Mailbox({ name: destination.name, caller, clock, log, count: this.#count })
    }
    this.#peers = [...new Set(peers)].map(peer => {
      const url = watchUrl(peer, credentials)
      const onLookup = onceEach(why =>
        log.warn({ peer, reason: why }, 'hints do not reach the replicas of that name'),
      )
      const follow = (onChange: (destinations: readonly Destination[]) => void) =>
        followAddresses({ url, resolve, clock, onChange, onLookup })
      return new Peer(follow, open, this.#count)
    })
  }

  send({ kind, key, uid, operation, version }: Hint): void {
    // Whoever may call it unasked decides how long its parts are.
    if (kind.length + (key?.length ?? 0) + (uid?.length ?? 0) + (operation?.length ?? 0) > longest) {
      this.#count('dropped')
      return
    }
    const text = JSON.stringify({ type: 'HINT', kind, key, uid, operation, version })
    const verdict = this.#gate.take(text, version !== undefined)
    if (verdict !== 'passed') this.#count(verdict)
  }

  close(): void {
    this.#gate.close()
    for (const peer of this.#peers) peer.close()
  }
}

type Count = (result: 'duplicate' | 'dropped' | 'delivered' | 'lost', hints?: number) => void

/** The replicas behind one name, as its addresses come and go. */
class Peer {
  readonly #count: Count
  readonly #mailboxes = new Map<string, Mailbox>()
  readonly #stop: () => void
  /** Hints that came before the name was looked up. */
  #early: string[] = []

  constructor(
    follow: (onChange: (destinations: readonly Destination[]) => void) => () => void,
    open: (destination: Destination) => Mailbox,
    count: Count,
  ) {
    this.#count = count
    this.#stop = follow(destinations => this.#adopt(destinations, open))
  }

  take(hint: string): void {
    if (this.#mailboxes.size > 0) for (const mailbox of this.#mailboxes.values()) mailbox.take(hint)
    else if (this.#early.length < mostWaiting) this.#early.push(hint)
    else this.#count('dropped')
  }

  close(): void {
    this.#stop()
    for (const mailbox of this.#mailboxes.values()) mailbox.close()
  }

  #adopt(destinations: readonly Destination[], open: (destination: Destination) => Mailbox): void {
    const ids = new Set(destinations.map(({ id }) => id))
    for (const [id, mailbox] of this.#mailboxes) {
      if (ids.has(id)) continue
      mailbox.close()
      this.#mailboxes.delete(id)
    }
    for (const destination of destinations) {
      if (!this.#mailboxes.has(destination.id)) this.#mailboxes.set(destination.id, open(destination))
    }
    const early = this.#early
    this.#early = []
    for (const hint of early) this.take(hint)
  }
}

interface MailboxOptions {
  /** For messages. */
  readonly name: string
  readonly caller: Caller
  readonly clock: Clock
  readonly log: Log
  readonly count: Count
}

/** The hints for one replica: while some are on their way the others gather. */
class Mailbox {
  readonly #options: MailboxOptions
  readonly #closing = new AbortController()
  #waiting: string[] = []
  #isBusy = false
  #isFailing = false

  constructor(options: MailboxOptions) {
    this.#options = options
  }

  take(hint: string): void {
    if (this.#waiting.length >= mostWaiting) {
      this.#options.count('dropped', 1)
      return
    }
    this.#waiting.push(hint)
    if (!this.#isBusy) void this.#empty()
  }

  close(): void {
    this.#closing.abort()
    this.#options.caller.close()
    this.#waiting = []
  }

  async #empty(): Promise<void> {
    this.#isBusy = true
    await nextTurn()
    while (this.#waiting.length > 0) {
      const hints = this.#waiting.splice(0, mostTogether)
      const failure = await this.#deliver(`[${hints.join()}]`)
      if (this.#closing.signal.aborted) break
      this.#options.count(failure === undefined ? 'delivered' : 'lost', hints.length)
      this.#report(failure)
    }
    this.#isBusy = false
  }

  /** Why it could not, after some tries. */
  async #deliver(body: string): Promise<string | undefined> {
    const { signal } = this.#closing
    for (const ms of between) {
      const failure = await this.#try(body)
      if (failure === undefined || failure.isFinal || signal.aborted) return failure?.message
      await pause(this.#options.clock, ms * (0.75 + Math.random() / 2), signal)
    }
    return (await this.#try(body))?.message
  }

  async #try(body: string): Promise<{ readonly message: string; readonly isFinal: boolean } | undefined> {
    try {
      const { status } = await this.#options.caller.post(body, this.#closing.signal)
      if (status < 300) return undefined
      return { message: `it answered ${status}`, isFinal: status < 500 && status !== 429 }
    } catch (error) {
      return { message: (error as Error).message, isFinal: false }
    }
  }

  /** Once when it begins, once when it ends. */
  #report(failure: string | undefined): void {
    const { log, name } = this.#options
    if (failure !== undefined && !this.#isFailing) {
      const what = 'hints do not reach a replica: it has what changed with its next full list'
      log.warn({ replica: name, reason: failure }, what)
    } else if (failure === undefined && this.#isFailing) log.info({ replica: name }, 'hints reach it again')
    this.#isFailing = failure !== undefined
  }
}

/** Passes a reason on when it is another than the last; undefined is none. */
function onceEach(tell: (why: string) => void): (why: string | undefined) => void {
  let last: string | undefined
  return why => {
    if (why !== undefined && why !== last) tell(why)
    last = why
  }
}
