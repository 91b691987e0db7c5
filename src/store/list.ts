import type { KubeObject, Locator } from '../core/index.js'
import { kindIdOf, locatorOf } from '../core/index.js'
import type { KindState, Verdict } from './kind-state.js'
import type { Held } from './snapshot.js'
import type { KindList } from './types.js'
import { compareVersions } from './versions.js'

/** What happens to a kind while it is brought in line with a list. */
export interface Adoption {
  /** The kind in the transaction that is open now. */
  readonly kind: () => KindState
  readonly count: (verdict: Verdict, key: Locator) => void
  readonly onReset: () => void
  readonly onLate: () => void
}

/**
 * Brings a kind in line with a list of it, never losing what is newer than the list. Yields after each object: there
 * the transaction may end and another begin, with other facts between.
 */
export function* adoptList(list: KindList, adoption: Adoption): Generator<void, void> {
  const { kind, count } = adoption
  begin(list, adoption)
  const seen = new Set<Locator>()
  for (const item of list.items) {
    const key = keyOf(item, list)
    seen.add(key)
    count(kind().upsert(key, item, versionOf(item, list), list.version), key)
    yield
  }
  for (const key of candidates(list, kind())) {
    const held = kind().objects.get(key)
    if (held !== undefined && !seen.has(key) && isGone(list, key, held)) {
      kind().remove(key, held, list.version ?? held.version)
      count('accepted', key)
    }
    yield
  }
  if (list.only !== undefined && list.version !== undefined && !kind().objects.get(list.only)) {
    kind().past.missed(list.only, list.version)
  }
}

/** What is said of the kind as a whole comes first, so that facts that come between the items are judged by it. */
function begin(list: KindList, { kind, onReset, onLate }: Adoption): void {
  const { version, mayBeLate = false } = list
  const { past } = kind()
  if (list.isAbsent && past.known !== undefined) past.list(past.known)
  if (version === undefined || !isWhole(list)) return
  if (mayBeLate && isOlder(version, past.known)) onLate()
  if (!mayBeLate && isOlder(version, 'since' in list ? list.since : past.listed)) {
    kind().reset()
    onReset()
  }
  past.list(version)
}

function isWhole({ within, only }: KindList): boolean {
  return within === undefined && only === undefined
}

function isOlder(version: string, than: string | undefined): boolean {
  return than !== undefined && compareVersions(version, than) < 0
}

function keyOf(item: KubeObject, list: KindList): Locator {
  if (kindIdOf(item) !== list.kind) throw new Error(`a list of ${list.kind} holds a ${kindIdOf(item)}`)
  return locatorOf(item)
}

function versionOf(item: KubeObject, { version }: KindList): string | undefined {
  return version === undefined ? undefined : (item.metadata.resourceVersion ?? version)
}

function candidates({ only }: KindList, { objects }: KindState): readonly Locator[] {
  return only === undefined ? objects.entries().map(([key]) => key) : [only]
}

/** Objects that came without a version are missed only by lists without one, and the other way round. */
function isGone(list: KindList, key: Locator, { object, version }: Held): boolean {
  if (list.within?.(object) === false || list.spares?.(key) === true) return false
  if (list.isAbsent) return version !== undefined
  if (list.version === undefined || version === undefined) return list.version === version
  return compareVersions(version, list.version) <= 0
}
