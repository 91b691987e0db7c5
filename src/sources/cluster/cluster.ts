import type { Clock, KindId, Locator, Log } from '../../core/index.js'
import { silentLog, systemClock } from '../../core/index.js'
import type { Store } from '../../store/index.js'
import type { Hint } from '../hint.js'
import { pauses } from '../pauses.js'
import { isReadByName, kindOfKey } from '../wanted.js'
import { delayAfter } from './backoff.js'
import { Floods } from './floods.js'
import { reconcile } from './list.js'
import type { Failure, ListReport, Listed, Selected } from './list.js'
import { selectReferenced } from './metadata.js'
import { ReadBack } from './read-back.js'
import type { ReadNamed } from './reader.js'
import { createReader } from './reader.js'
import { Referenced } from './referenced.js'
import { Rounds } from './rounds.js'
import type { Cluster, ClusterOptions } from './types.js'

/** Takes the state of a cluster into a store: everything now and every period, and what hints are about at once. */
export function createCluster(options: ClusterOptions): Cluster {
  return new ListedCluster(options)
}

class ListedCluster implements Cluster {
  readonly #options: ClusterOptions
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #closing = new AbortController()
  readonly #read: ReadNamed
  readonly #referenced: Referenced
  readonly #rounds: Rounds<KindId, ListReport>
  readonly #readBack: ReadBack
  readonly #floods: Floods
  readonly #ignored: () => void
  readonly #listeners = new Set<(report?: ListReport) => void>()
  /** Kinds that have been listed, or were found absent. */
  readonly #known = new Set<KindId>()
  /** How often in a row each kind was found absent. */
  readonly #absences = new Map<KindId, number>()
  readonly #failing = new Map<KindId, string>()
  #failedRounds = 0
  #isComplete = false
  #cancelPeriod = (): void => undefined
  #cancelRetry = (): void => undefined

  constructor(options: ClusterOptions) {
    const { store, client, wanted, clock = systemClock, log = silentLog, metrics } = options
    this.#options = options
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#read = createReader(client, store, this.#closing.signal)
    this.#referenced = new Referenced({
      ...{ wanted, store, read: this.#read, clock, log },
      onLook: () => this.#tell(),
    })
    this.#rounds = new Rounds(kinds => this.#list(kinds))
    this.#floods = new Floods(clock, kind => void this.#ask([kind]))
    const ignored = metrics?.counter('hints_ignored_total', 'Hints about what is not read here.')
    this.#ignored = () => ignored?.inc()
    this.#readBack = new ReadBack({
      ...{ store, clock, log, ...(metrics && { metrics }) },
      read: key => this.#readInto(key),
      onFlood: kind => this.#floods.begin(kind),
    })
    const { firstMs = 0 } = options
    if (firstMs === 0) this.#begin()
    else this.#cancelPeriod = clock.after(firstMs, () => this.#begin())
  }

  complete(): boolean {
    if (this.#isComplete) return true
    const isComplete = this.waitingFor().length === 0
    // What is referenced is known when whoever derives it has heard of all that was listed.
    this.#isComplete = isComplete && this.#store.isHeard()
    return isComplete
  }

  waitingFor(): readonly string[] {
    if (this.#isComplete) return []
    const unlisted = this.#options.kinds.filter(kind => !this.#known.has(kind))
    return [
      ...unlisted.map(kind => `${kind} has not been listed yet${because(this.#failing.get(kind))}`),
      ...this.#referenced.unread().map(key => `${key} has not been read yet`),
    ]
  }

  degraded(): readonly Failure[] {
    const kinds = [...this.#failing].map(([source, message]) => ({ source, message }))
    return [...kinds, ...this.#referenced.failures()]
  }

  reconcile(kinds = this.#options.kinds): Promise<ListReport> {
    return this.#rounds.ask(kinds)
  }

  hint(hint: Hint): void {
    const { kind, key } = hint
    if (this.#closing.signal.aborted) return
    if (!this.#options.kinds.includes(kind) || (key !== undefined && !this.#isAskedFor(kind, key)))
      this.#ignored()
    else if (this.#floods.take(kind)) return
    else if (key === undefined) void this.#ask([kind])
    else this.#readBack.take({ ...hint, key })
  }

  subscribe(listener: (report?: ListReport) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#closing.abort()
    this.#cancelPeriod()
    this.#cancelRetry()
    this.#readBack.close()
    this.#floods.close()
    this.#referenced.close()
  }

  #isAskedFor(kind: KindId, key: Locator): boolean {
    return kindOfKey(key) === kind && !this.#referenced.isUnwanted(key)
  }

  /** Lists everything, and again a period after that has ended. */
  #begin(): void {
    void this.#ask(this.#options.kinds).then(() => {
      if (this.#closing.signal.aborted) return
      const ms = this.#options.periodMs * (0.9 + 0.2 * Math.random())
      this.#cancelPeriod = this.#clock.after(ms, () => this.#begin())
    })
  }

  async #ask(kinds: readonly KindId[]): Promise<void> {
    try {
      await this.#rounds.ask(kinds)
    } catch (error) {
      this.#log.error({ error }, 'a bug: the lists could not be taken')
    }
  }

  async #list(kinds: readonly KindId[]): Promise<ListReport> {
    const { client, store, log, metrics } = this.#options
    const { signal } = this.#closing
    const read: Locator[] = []
    const report = await reconcile({
      ...{ store, kinds, ...(log && { log }), ...(metrics && { metrics }) },
      lister: { list: kind => client.list(kind, { metadataOnly: isReadByName(kind), signal }) },
      select: (kind, found, since) => this.#select(kind, { ...found, since }, key => read.push(key)),
      isUnwanted: key => this.#referenced.isUnwanted(key),
      isGone: kind => (this.#absences.get(kind) ?? 0) > 0,
      isDrift: kind => this.#known.has(kind),
      onHint: hint => this.hint(hint),
    })
    this.#referenced.tidy()
    for (const key of read) this.#referenced.found(key)
    this.#note(kinds, report)
    if (!signal.aborted) this.#tell(report)
    return report
  }

  #tell(report?: ListReport): void {
    for (const listener of [...this.#listeners]) listener(report)
  }

  #select(
    kind: KindId,
    found: Listed & { readonly since: string | undefined },
    onRead: (key: Locator) => void,
  ): Promise<Selected> | undefined {
    if (!isReadByName(kind)) return undefined
    const { store, wanted } = this.#options
    return selectReferenced(kind, found, {
      store,
      wanted,
      referenced: this.#referenced,
      onRead,
      pause: pauses(),
    })
  }

  #note(kinds: readonly KindId[], { degraded, absent }: ListReport): void {
    const failed = new Map(degraded.map(({ source, message }) => [source, message]))
    for (const kind of kinds) {
      const message = failed.get(kind)
      if (message === undefined) {
        this.#failing.delete(kind)
        this.#known.add(kind)
        this.#noteAbsence(kind, absent.includes(kind))
      } else this.#failing.set(kind, message)
    }
    this.#retry()
  }

  #noteAbsence(kind: KindId, isAbsent: boolean): void {
    const before = this.#absences.get(kind) ?? 0
    this.#absences.set(kind, isAbsent ? before + 1 : 0)
    if (isAbsent && before === 0)
      this.#log.warn({ kind }, 'it is not installed: its CRD is looked for at every list')
  }

  /** A kind that failed is not left alone for a whole period. */
  #retry(): void {
    this.#cancelRetry()
    if (this.#failing.size === 0) this.#failedRounds = 0
    else if (!this.#closing.signal.aborted) {
      const ms = delayAfter(++this.#failedRounds)
      if (ms >= this.#options.periodMs) return
      this.#cancelRetry = this.#clock.after(ms, () => void this.#ask([...this.#failing.keys()]))
    }
  }

  async #readInto(key: Locator): Promise<string | undefined> {
    const found = await this.#read(key)
    if (found === 'absent' || this.#referenced.isUnwanted(key)) return undefined
    for (const item of found.rejected)
      this.#log.warn(item, 'an object read back is not valid; what is held of it stays')
    this.#store.replace(found.list)
    return found.list.version
  }
}

function because(message: string | undefined): string {
  return message === undefined ? '' : `: ${message}`
}
