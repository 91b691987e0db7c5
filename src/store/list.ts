import type { KubeObject, Locator } from '../core/index.js'
import { kindIdOf, locatorOf } from '../core/index.js'
import type { KindState, Verdict } from './kind-state.js'
import type { Held } from './snapshot.js'
import type { KindList } from './types.js'
import { compareVersions, newer } from './versions.js'

type Count = (verdict: Verdict, key: Locator) => void

/** Brings a kind in line with a list of it, never losing what is newer than the list. Returns whether it reset. */
export function reconcileList(kind: KindState, list: KindList, count: Count): boolean {
  const reset = isReset(kind, list)
  if (reset) kind.past.clear()
  const seen = new Set<Locator>()
  for (const item of list.items) {
    const key = keyOf(item, list)
    seen.add(key)
    count(takeItem(kind, list, key, item, reset), key)
  }
  for (const [key, entry] of kind.objects.entries()) {
    if (!seen.has(key) && isGone(list, entry, reset)) {
      kind.remove(key, entry, list.version)
      count('accepted', key)
    }
  }
  raise(kind, list)
  return reset
}

/** A consistent list of the whole kind that is older than one seen before: its database was restored. */
function isReset({ past }: KindState, { version, within, mayBeLate = false }: KindList): boolean {
  if (version === undefined || within !== undefined || past.listed === undefined) return false
  return !mayBeLate && compareVersions(version, past.listed) < 0
}

function keyOf(item: KubeObject, list: KindList): Locator {
  if (kindIdOf(item) !== list.kind) throw new Error(`a list of ${list.kind} holds a ${kindIdOf(item)}`)
  return locatorOf(item)
}

function takeItem(kind: KindState, list: KindList, key: Locator, item: KubeObject, reset: boolean): Verdict {
  const version = list.version === undefined ? undefined : (item.metadata.resourceVersion ?? list.version)
  if (!reset) return kind.upsert(key, item, version, list.version)
  kind.put(key, item, version)
  return 'accepted'
}

/** Objects that came without a version are missed only by lists without one, and the other way round. */
function isGone(list: KindList, { object, version }: Held, reset: boolean): boolean {
  if (list.within?.(object) === false) return false
  if (list.version === undefined || version === undefined) return list.version === version
  return reset || compareVersions(version, list.version) <= 0
}

/** What a list of the whole kind does not show is not there at its version, tombstone or not. */
function raise({ past }: KindState, { version, within }: KindList): void {
  if (version === undefined || within !== undefined) return
  past.listed = newer(past.listed, version)
  past.raiseFloor(version)
}
