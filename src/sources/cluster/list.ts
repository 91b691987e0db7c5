import type { KindId, Log, Metrics } from '../../core/index.js'
import { silentLog } from '../../core/index.js'
import type { Store } from '../../store/index.js'
import type { Check } from '../check.js'
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

export interface ReconcileOptions {
  readonly lister: Lister
  readonly store: Store
  readonly kinds: readonly KindId[]
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
  /** Kinds that could not be listed and stay as they were. */
  readonly degraded: readonly { readonly source: KindId; readonly message: string }[]
  /** Objects that were listed and are not valid; what is held of them stays. */
  readonly rejected: readonly RejectedItem[]
  /** Kinds that do not exist where the lists come from. */
  readonly absent: readonly KindId[]
  /** Kinds adopted whole, since their database had been restored. */
  readonly resets: readonly KindId[]
}

/** Lists all kinds at once and takes what came in one transaction. A list that fails is never an empty one. */
export async function reconcile(options: ReconcileOptions): Promise<ListReport> {
  const { lister, store, kinds, check, log = silentLog, metrics } = options
  const pause = pauses()
  const outcomes = await Promise.all(kinds.map(kind => listed(lister, kind, check, pause)))
  const lists = outcomes.flatMap(outcome => ('list' in outcome ? [outcome] : []))
  const degraded = outcomes.flatMap(outcome => ('source' in outcome ? [outcome] : []))
  const absent = outcomes.flatMap(outcome => ('absent' in outcome ? [outcome.absent] : []))
  const rejected = lists.flatMap(outcome => outcome.rejected)
  const { accepted, stale, duplicate, resets } = store.replaceAll(lists.map(({ list }) => list))
  for (const failure of degraded) log.warn(failure, 'the kind could not be listed and stays as it was')
  for (const item of rejected) log.warn(item, 'a listed object is not valid; what is held of it stays')
  for (const kind of resets)
    log.warn({ kind }, 'the list is older than one before: taken whole, its database was restored')
  count(metrics, accepted, degraded.length, resets.length)
  return { accepted, stale, duplicate, degraded, rejected, absent, resets }
}

type Outcome =
  CheckedList | { readonly absent: KindId } | { readonly source: KindId; readonly message: string }

async function listed(
  lister: Lister,
  kind: KindId,
  check: Check | undefined,
  pause: () => Promise<void>,
): Promise<Outcome> {
  try {
    const found = await lister.list(kind)
    return found === 'absent' ? { absent: kind } : await checkList({ kind, ...found }, { check, pause })
  } catch (error) {
    return { source: kind, message: error instanceof Error ? error.message : String(error) }
  }
}

/** Metrics of a name are registered once for the life of a registry. */
const instruments = new WeakMap<Metrics, ReturnType<typeof instrumentsOf>>()

function instrumentsOf(metrics: Metrics) {
  return {
    drift: metrics.counter('store_drift_total', 'Objects that a full list found not as held, and repaired.'),
    failures: metrics.counter('list_failures_total', 'Kinds that could not be listed.'),
    resets: metrics.counter('store_resets_total', 'Kinds adopted whole from a list older than one before.'),
  }
}

function count(metrics: Metrics | undefined, drift: number, failures: number, resets: number): void {
  if (metrics === undefined) return
  const known = instruments.get(metrics) ?? instrumentsOf(metrics)
  instruments.set(metrics, known)
  known.drift.inc(drift)
  known.failures.inc(failures)
  known.resets.inc(resets)
}
