import type { KubeObject, Locator } from '../core/index.js'
import { kindIdOf } from '../core/index.js'
import type { KindList } from '../store/index.js'
import { compareVersions } from '../store/index.js'
import type { Check } from './check.js'
import type { Named } from './facts.js'
import { nameOf, upsertOf } from './facts.js'
import type { Fields } from './message.js'
import { isFields } from './message.js'

/** A list as it arrives: nobody has looked at its items. */
export interface RawList extends Omit<KindList, 'items' | 'version' | 'within' | 'spares'> {
  readonly items: readonly unknown[]
  readonly version?: string | undefined
  readonly within?: KindList['within'] | undefined
  /** Objects that the list may show and nobody asks for: they are not looked at, and what is held of them stays. */
  readonly isUnwanted?: ((key: Locator) => boolean) | undefined
}

export interface RejectedItem {
  readonly object?: Locator
  readonly message: string
}

export interface CheckedList {
  readonly list: KindList
  readonly rejected: readonly RejectedItem[]
  /** How many items nobody asks for. */
  readonly unwanted: number
}

export interface CheckListOptions {
  readonly check?: Check | undefined
  /** What is held now: an object that is listed at the version held has been checked before. */
  readonly held?: ((key: Locator) => KubeObject | undefined) | undefined
  readonly pause: () => Promise<void>
}

/**
 * Checks the items of a list. One that is rejected is there all the same: what is held of it is not pruned, and where
 * it cannot be told which one it is, nothing is.
 */
export async function checkList(raw: RawList, options: CheckListOptions): Promise<CheckedList> {
  const { items: given, version, within, isUnwanted, ...list } = raw
  const items: KubeObject[] = []
  const rejected: RejectedItem[] = []
  const spared = new Set<Locator>()
  for (const value of given) {
    const item = namedOf(value)
    const outcome =
      isUnwanted !== undefined && isSpared(item, isUnwanted) ? undefined : itemOf(item, raw, options)
    if (outcome !== undefined && 'metadata' in outcome) items.push(outcome)
    else if ('locator' in item) spared.add(item.locator)
    if (outcome !== undefined && 'message' in outcome) rejected.push(outcome)
    await options.pause()
  }
  const isAnyUnknown = rejected.some(({ object }) => object === undefined)
  const spares = (key: Locator) => isAnyUnknown || spared.has(key)
  return {
    rejected,
    unwanted: given.length - items.length - rejected.length,
    list: { ...list, ...stated({ version, within }), items, spares },
  }
}

function stated({
  version,
  within,
}: Pick<RawList, 'version' | 'within'>): Pick<KindList, 'version' | 'within'> {
  return { ...(version !== undefined && { version }), ...(within !== undefined && { within }) }
}

function isSpared(item: Item, isUnwanted: (key: Locator) => boolean): boolean {
  return 'locator' in item && isUnwanted(item.locator)
}

type Item = (Named & { readonly value: Fields }) | { readonly message: string }

function namedOf(value: unknown): Item {
  if (!isFields(value)) return { message: 'an item is an object' }
  return { ...nameOf(value), value }
}

function itemOf(item: Item, raw: RawList, { check, held }: CheckListOptions): KubeObject | RejectedItem {
  if ('message' in item) return { message: item.message }
  const same = mayBeRestored(raw) ? undefined : sameAs(item, held?.(item.locator))
  if (same !== undefined) return same
  const fact = upsertOf(item.value, check)
  if (!('event' in fact) || fact.event.type !== 'upsert') return fact as RejectedItem
  const { object } = fact.event
  return kindIdOf(object) === raw.kind
    ? object
    : { message: `an item of a list of ${raw.kind} is a ${kindIdOf(object)}` }
}

function sameAs({ uid, version }: Named, held: KubeObject | undefined): KubeObject | undefined {
  const isSame = held !== undefined && held.metadata.uid === uid && held.metadata.resourceVersion === version
  return isSame && version !== undefined ? held : undefined
}

/** In a restored database a version may come a second time, with another content. */
export function mayBeRestored({ version, since }: Pick<RawList, 'version' | 'since'>): boolean {
  return version !== undefined && since !== undefined && compareVersions(version, since) < 0
}
