import type { MapDraft } from '../collections/index.js'
import type { KubeObject, Locator } from '../core/index.js'
import { equal } from '../collections/index.js'
import { isAnother } from './merge.js'
import type { Past } from './past.js'
import { isSilent } from './silence.js'
import type { Held } from './snapshot.js'
import type { Update } from './types.js'
import { compareVersions } from './versions.js'

/** What became of a fact; a hint is about a key of which the store cannot tell whether the fact is old. */
export type Verdict = 'accepted' | 'stale' | 'duplicate' | 'hint'

/** One kind in the middle of a transaction. */
export class KindState {
  readonly objects: MapDraft<Held>
  readonly past: Past
  readonly updates: Update[] = []

  constructor(objects: MapDraft<Held>, past: Past) {
    this.objects = objects
    this.past = past
  }

  /** @param asOf - the version of the list that shows the object; absent for an event */
  upsert(key: Locator, object: KubeObject, version: string | undefined, asOf?: string): Verdict {
    const held = this.objects.get(key)
    const refused =
      version === undefined ? whyKnown(held, object) : this.#whyNotNewer(key, held, version, asOf)
    if (refused !== undefined) return refused
    this.put(key, object, version)
    return 'accepted'
  }

  /** Takes the object without asking. */
  put(key: Locator, object: KubeObject, version: string | undefined): void {
    if (version !== undefined) this.past.note(version)
    const before = this.objects.get(key)
    this.objects.set(key, { object, version })
    if (version !== undefined) this.past.exhume(key)
    else if (before?.version !== undefined) this.past.bury(key, before.version)
    this.#tell(key, before?.object, object)
  }

  #tell(key: Locator, held: KubeObject | undefined, object: KubeObject): void {
    if (held === undefined) this.updates.push({ type: 'create', locator: key, newObject: object })
    else if (isAnother(held.metadata.uid, object.metadata.uid)) {
      this.updates.push(
        { type: 'delete', locator: key, oldObject: held },
        { type: 'create', locator: key, newObject: object },
      )
    } else if (!isSilent(held, object)) {
      this.updates.push({ type: 'update', locator: key, oldObject: held, newObject: object })
    }
  }

  delete(key: Locator, uid: string | undefined, version: string | undefined): Verdict {
    const held = this.objects.get(key)
    if (held === undefined) return version === undefined ? 'duplicate' : this.#deleteUnknown(key, version)
    const isStale =
      version === undefined || held.version === undefined
        ? isAnother(held.object.metadata.uid, uid)
        : compareVersions(version, held.version) < 0
    if (isStale) return 'stale'
    this.remove(key, held, version ?? held.version)
    return 'accepted'
  }

  remove(key: Locator, held: Held, version: string | undefined): void {
    this.objects.delete(key)
    if (version !== undefined) this.past.bury(key, version)
    this.updates.push({ type: 'delete', locator: key, oldObject: held.object })
  }

  /** Drops the object as if it had never been heard of. */
  forget(key: Locator): Verdict {
    const held = this.objects.get(key)
    if (held === undefined) return 'duplicate'
    this.objects.delete(key)
    this.updates.push({ type: 'delete', locator: key, oldObject: held.object })
    return 'accepted'
  }

  /** Its database was restored: what is held stays until something newer is said of it, and anything is newer. */
  reset(): void {
    this.past.clear()
    for (const [key, { object, version }] of this.objects.entries()) {
      if (version !== undefined) this.objects.set(key, { object, version: '0' })
    }
  }

  #deleteUnknown(key: Locator, version: string): Verdict {
    const deletedAt = this.past.deletedAt(key)
    if (deletedAt === version) return 'duplicate'
    const isStale =
      deletedAt === undefined ? this.past.hides(key, version) : compareVersions(version, deletedAt) < 0
    if (isStale) return 'stale'
    this.past.bury(key, version)
    return 'accepted'
  }

  #whyNotNewer(
    key: Locator,
    held: Held | undefined,
    version: string,
    asOf: string | undefined,
  ): Verdict | undefined {
    if (held?.version !== undefined) {
      if (version === held.version) return 'duplicate'
      return isNewer(version, held.version, asOf) ? undefined : 'stale'
    }
    const deletedAt = this.past.deletedAt(key)
    if (deletedAt !== undefined && !isNewer(version, deletedAt, asOf)) return 'stale'
    return held === undefined && this.past.hides(key, version, asOf) ? 'hint' : undefined
  }
}

/** A list that could have seen a version and shows an older one is of a restored database: it is right. */
function isNewer(version: string, than: string, asOf: string | undefined): boolean {
  return compareVersions(version, than) > 0 || (asOf !== undefined && compareVersions(asOf, than) >= 0)
}

/** A fact without a version is taken as it comes, unless it says what another such fact said. */
function whyKnown(held: Held | undefined, object: KubeObject): Verdict | undefined {
  return held !== undefined && held.version === undefined && equal(held.object, object)
    ? 'duplicate'
    : undefined
}
