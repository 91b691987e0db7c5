import type { KindId, KubeObject, Locator } from '../core/index.js'
import { kindIdOf, locatorOf } from '../core/index.js'
import type { KindList } from '../store/index.js'
import type { Check } from './check.js'
import { upsertOf } from './facts.js'
import { isFields } from './message.js'

/** A list as it arrives: nobody has looked at its items. */
export interface RawList {
  readonly kind: KindId
  readonly items: readonly unknown[]
  readonly version?: string | undefined
  readonly within?: ((held: KubeObject) => boolean) | undefined
}

export interface RejectedItem {
  readonly object?: Locator
  readonly message: string
}

export interface CheckedList {
  readonly list: KindList
  readonly rejected: readonly RejectedItem[]
}

/**
 * Checks the items of a list. One that is rejected is there all the same: what is held of it is not pruned, and where
 * it cannot be told which one it is, nothing is.
 */
export async function checkList(
  raw: RawList,
  check: Check | undefined,
  pause: () => Promise<void>,
): Promise<CheckedList> {
  const { kind, version, within } = raw
  const items: KubeObject[] = []
  const rejected: RejectedItem[] = []
  for (const item of raw.items) {
    const outcome = itemOf(item, kind, check)
    if ('message' in outcome) rejected.push(outcome)
    else items.push(outcome)
    await pause()
  }
  const isPruned = prunedBeside(rejected, within)
  return {
    rejected,
    list: { kind, items, ...(version !== undefined && { version }), ...(isPruned && { within: isPruned }) },
  }
}

function itemOf(item: unknown, kind: KindId, check: Check | undefined): KubeObject | RejectedItem {
  const fact = isFields(item) ? upsertOf(item, check) : { message: 'an item is an object' }
  if (!('event' in fact) || fact.event.type !== 'upsert') return fact as RejectedItem
  const { object } = fact.event
  return kindIdOf(object) === kind
    ? object
    : { message: `an item of a list of ${kind} is a ${kindIdOf(object)}` }
}

function prunedBeside(rejected: readonly RejectedItem[], within: RawList['within']): RawList['within'] {
  if (rejected.length === 0) return within
  if (rejected.some(({ object }) => object === undefined)) return () => false
  const kept = new Set(rejected.map(({ object }) => object))
  return held => !kept.has(locatorOf(held)) && (within?.(held) ?? true)
}
