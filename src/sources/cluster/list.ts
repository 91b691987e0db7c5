import type { KindId, Locator, Log, Metrics } from '../../core/index.js'
import { locatorOf, silentLog } from '../../core/index.js'
import type { Applied, KindList, Store } from '../../store/index.js'
import type { Check } from '../check.js'
import type { Hint } from '../hint.js'
import { isReadByName, kindOfKey } from '../wanted.js'
import type { CheckedList, RejectedItem } from '../checked-list.js'
import { checkList } from '../checked-list.js'
import { pauses } from '../pauses.js'

/** Where full lists come from. */
export interface Lister {
  /** The whole kind at one version; `absent` when the kind is not known there. Rejects when it cannot be had. */
  list(kind: KindId): Promise<Listed | 'absent'>
}

/** Objects as they were read. */
export interface Listed {
  readonly items: readonly unknown[]
  readonly version?: string
}

/** What is made of the list of one kind: usually one list, and more where objects were read by name beside it. */
export interface Selected {
  readonly lists: readonly KindList[]
  readonly rejected: readonly RejectedItem[]
  readonly degraded: readonly Failure[]
}

/** What could not be read, and why. */
export interface Failure {
  /** A kind, or an object. */
  readonly source: string
  readonly message: string
}

export interface ReconcileOptions {
  readonly lister: Lister
  readonly store: Store
  readonly kinds: readonly KindId[]
  /** Makes something else of the list of a kind than the objects that it shows. */
  readonly select?: (kind: KindId, found: Listed, since: string | undefined) => Promise<Selected> | undefined
  /** Whether nobody asks for an object any more, although it was read a moment ago. */
  readonly isUnwanted?: (key: Locator) => boolean
  /** Told of objects of which the store cannot tell whether the list is older than their delete. */
  readonly onHint?: (hint: Hint) => void
  /** Whether a kind that was found absent just now is gone for good, with all its objects. Default: no. */
  readonly isGone?: (kind: KindId) => boolean
  /** Whether what a list changes counts as drift. Default: yes. */
  readonly isDrift?: (kind: KindId) => boolean
  readonly check?: Check
  readonly log?: Log
  readonly metrics?: Metrics
}

/** What a full list came to. */
export interface ListReport {
  /** How many objects of the store were not as listed: drift, repaired. */
  readonly accepted: number
  readonly stale: number
  readonly duplicate: number
  /** Kinds that could not be listed and stay as they were, and referenced objects that could not be read. */
  readonly degraded: readonly Failure[]
  /** Objects that were listed and are not valid; what is held of them stays. */
  readonly rejected: readonly RejectedItem[]
  /** Kinds that do not exist where the lists come from. */
  readonly absent: readonly KindId[]
  /** Kinds adopted whole, since their database had been restored. */
  readonly resets: readonly KindId[]
}

/** Lists all kinds at once and takes what came in one transaction. A list that fails is never an empty one. */
export async function reconcile(options: ReconcileOptions): Promise<ListReport> {
  const { store, kinds } = options
  const pause = pauses()
  const outcomes = await Promise.all(kinds.map(kind => listed(options, kind, pause)))
  const lists = outcomes.flatMap(outcome => outcome.lists.flatMap(list => askedFor(list, options.isUnwanted)))
  const applied = await store.replaceInSlices(lists, pause)
  const { accepted, stale, duplicate, resets } = applied
  const report: ListReport = {
    ...{ accepted, stale, duplicate, resets },
    degraded: outcomes.flatMap(({ degraded }) => degraded),
    rejected: outcomes.flatMap(({ rejected }) => rejected),
    absent: outcomes.flatMap(({ absent }) => absent ?? []),
  }
  tell(report, options.log)
  count(options, report, applied)
  for (const key of applied.hints) options.onHint?.(hintAfter(key, lists))
  return report
}

type Outcome = Selected & { readonly absent?: KindId }

async function listed(options: ReconcileOptions, kind: KindId, pause: () => Promise<void>): Promise<Outcome> {
  const { lister, store, check, select, isGone } = options
  const since = store.newest(kind)
  try {
    const found = await lister.list(kind)
    if (found === 'absent') {
      const gone: KindList = { kind, items: [], isAbsent: true }
      return { ...nothing, lists: isGone?.(kind) ? [gone] : [], absent: kind }
    }
    const held = (key: Locator) => store.snapshot().get(key)
    return await (select?.(kind, found, since) ??
      checkList({ kind, ...found, since }, { check, held, pause }).then(selected))
  } catch (error) {
    return { ...nothing, degraded: [{ source: kind, message: messageOf(error) }] }
  }
}

function askedFor(list: KindList, isUnwanted: ReconcileOptions['isUnwanted']): readonly KindList[] {
  if (isUnwanted === undefined || !isReadByName(list.kind)) return [list]
  if (list.only !== undefined) return isUnwanted(list.only) ? [] : [list]
  return [{ ...list, items: list.items.filter(item => !isUnwanted(locatorOf(item))) }]
}

/** To be looked at once more, at a later time than the list. */
function hintAfter(key: Locator, lists: readonly KindList[]): Hint {
  const kind = kindOfKey(key)
  const version = lists.find(list => list.kind === kind)?.version
  return { kind, key, ...(version !== undefined && { version }) }
}

const nothing: Selected = { lists: [], rejected: [], degraded: [] }

const selected = ({ list, rejected }: CheckedList): Selected => ({ lists: [list], rejected, degraded: [] })

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function tell({ degraded, rejected, resets }: ListReport, log = silentLog): void {
  for (const failure of degraded) log.warn(failure, 'it could not be listed and stays as it was')
  for (const item of rejected) log.warn(item, 'a listed object is not valid; what is held of it stays')
  for (const kind of resets)
    log.warn({ kind }, 'the list is older than what was known: taken whole, its database was restored')
}

/** Metrics of a name are registered once for the life of a registry. */
const instruments = new WeakMap<Metrics, ReturnType<typeof instrumentsOf>>()

function instrumentsOf(metrics: Metrics) {
  return {
    drift: metrics.counter('store_drift_total', 'Objects that a list found not as held, and repaired.', [
      'kind',
    ]),
    failures: metrics.counter('list_failures_total', 'Lists that failed.', ['kind']),
    resets: metrics.counter('store_resets_total', 'Kinds adopted whole from a restored database.', ['kind']),
  }
}

function count(options: ReconcileOptions, { degraded, resets }: ListReport, { byKind }: Applied): void {
  const { metrics, kinds, isDrift = () => true } = options
  if (metrics === undefined) return
  const known = instruments.get(metrics) ?? instrumentsOf(metrics)
  instruments.set(metrics, known)
  for (const kind of kinds.filter(isDrift)) known.drift.inc({ kind }, byKind[kind] ?? 0)
  for (const { source } of degraded) if (kinds.includes(source)) known.failures.inc({ kind: source })
  for (const kind of resets) known.resets.inc({ kind })
}
