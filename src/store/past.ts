import { LRUCache } from 'lru-cache'
import type { Locator } from '../core/index.js'
import { compareVersions, newer } from './versions.js'

/**
 * What is known of objects of one kind that are not there: a tombstone with the version of each delete, as far as
 * memory goes, and the floor, at or below which nothing is known of a key that has no tombstone.
 */
export class Past {
  readonly #tombstones: LRUCache<Locator, string>
  #floor: string | undefined
  /** The version of the newest list of the whole kind. */
  listed: string | undefined
  /** The newest version of any fact. */
  known: string | undefined

  /** @param limit - how many tombstones are kept; forgetting one raises the floor to its version */
  constructor(limit: number) {
    this.#tombstones = new LRUCache<Locator, string>({
      max: limit,
      dispose: (version, _, reason) => {
        if (reason === 'evict') this.raiseFloor(version)
      },
    })
  }

  deletedAt(key: Locator): string | undefined {
    return this.#tombstones.get(key)
  }

  /** A fact of this version has come. */
  note(version: string): void {
    this.known = newer(this.known, version)
  }

  bury(key: Locator, version: string): void {
    this.note(version)
    this.#tombstones.set(key, newer(this.#tombstones.peek(key), version) ?? version)
  }

  /** The object is there again. */
  exhume(key: Locator): void {
    this.#tombstones.delete(key)
  }

  /** The object was not there at this version. Below the floor that says nothing: a newer delete may be forgotten. */
  missed(key: Locator, version: string): void {
    this.note(version)
    if (this.#floor === undefined || compareVersions(version, this.#floor) >= 0) this.bury(key, version)
  }

  /** At this version the whole kind was looked at: what was not seen was not there, tombstone or not. */
  list(version: string): void {
    this.note(version)
    this.listed = newer(this.listed, version)
    this.raiseFloor(version)
  }

  raiseFloor(version: string): void {
    this.#floor = newer(this.#floor, version)
  }

  /**
   * True when a delete that has no tombstone may be newer than the fact: an event at or below the floor, or an
   * object of a list (`asOf`) that is older than the floor. A tombstone is the newest delete that was told of; only
   * a list may have shown a newer one.
   */
  hides(key: Locator, version: string, asOf?: string): boolean {
    const floor = this.#tombstones.has(key) ? this.listed : this.#floor
    if (floor === undefined) return false
    return asOf === undefined ? compareVersions(version, floor) <= 0 : compareVersions(asOf, floor) < 0
  }

  clear(): void {
    this.#tombstones.clear()
    this.#floor = undefined
    this.listed = undefined
    this.known = undefined
  }
}
