import type { KindId, KubeObject, Locator } from '../../core/index.js'
import type { KindList, Store } from '../../store/index.js'
import type { RejectedItem } from '../checked-list.js'
import { mayBeRestored } from '../checked-list.js'
import { nameOf } from '../facts.js'
import { isFields } from '../message.js'
import { kindOfKey } from '../wanted.js'
import type { Failure, Listed, Selected } from './list.js'
import type { Referenced } from './referenced.js'
import type { Wanted } from './types.js'

interface Sources {
  readonly store: Store
  readonly wanted: Wanted
  readonly referenced: Referenced
  /** Told of each object that was read whole. */
  readonly onRead: (key: Locator) => void
  readonly pause: () => Promise<void>
}

/**
 * What a list of metadata comes to: of the objects that are referenced, those at the version held stay as they are,
 * and the others are read whole. All others are there and not looked at.
 */
export async function selectReferenced(
  kind: KindId,
  found: Listed & { readonly since: string | undefined },
  sources: Sources,
): Promise<Selected> {
  const { store, wanted, referenced } = sources
  const { versions, rejected } = await versionsOf(found.items, sources.pause)
  const [items, changed]: [KubeObject[], Locator[]] = [[], []]
  for (const key of wanted.keys()) {
    if (kindOfKey(key) !== kind) continue
    const held = store.snapshot().get(key)
    const isHeld = held !== undefined && held.metadata.resourceVersion === versions.get(key)
    if (isHeld && !mayBeRestored(found)) items.push(held)
    else if (versions.has(key)) changed.push(key)
    else referenced.found(key)
  }
  const { version, since } = found
  // One that could not be told apart may be any of them.
  const spares = (key: Locator) => rejected.length > 0 || versions.has(key)
  const whole: KindList = { kind, items, ...(version !== undefined && { version }), since, spares }
  const read = await Promise.all(changed.map(key => lookedAt(key, sources)))
  return {
    lists: [whole, ...read.flatMap(({ lists }) => lists)],
    rejected: [...rejected, ...read.flatMap(each => each.rejected)],
    degraded: read.flatMap(({ degraded }) => degraded),
  }
}

async function versionsOf(items: readonly unknown[], pause: () => Promise<void>) {
  const versions = new Map<Locator, string | undefined>()
  const rejected: RejectedItem[] = []
  for (const item of items) {
    const named = isFields(item) ? nameOf(item) : { message: 'an item is an object' }
    if ('message' in named) rejected.push(named)
    else versions.set(named.locator, named.version)
    await pause()
  }
  return { versions, rejected }
}

async function lookedAt(key: Locator, { referenced, onRead }: Sources): Promise<Selected> {
  const found = await referenced.look(key)
  if (found === undefined) return { lists: [], rejected: [], degraded: failureOf(key, referenced) }
  onRead(key)
  return found === 'absent'
    ? { lists: [], rejected: [], degraded: [] }
    : { lists: [found.list], rejected: found.rejected, degraded: [] }
}

function failureOf(key: Locator, referenced: Referenced): readonly Failure[] {
  return referenced.failures().filter(({ source }) => source === key)
}
