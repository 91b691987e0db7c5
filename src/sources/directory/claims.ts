import type { KubeObject, Locator, Problem } from '../../core/index.js'
import type { StoreEvent } from '../../store/index.js'
import type { PlacedObject } from './manifest.js'

/**
 * Which file says what about which object. Where several speak of one object, the first by path is believed; when it
 * goes away, the next takes over.
 */
export class Claims {
  readonly #byObject = new Map<Locator, Map<string, PlacedObject>>()
  readonly #byFile = new Map<string, readonly PlacedObject[]>()
  readonly #contested = new Set<Locator>()
  /** What the store was told last. */
  readonly #told = new Map<Locator, KubeObject>()
  readonly #touched = new Set<Locator>()

  /** A file's objects from now on; none when it is gone. */
  claim(file: string, objects: readonly PlacedObject[]): void {
    for (const { locator } of this.#byFile.get(file) ?? []) {
      this.#byObject.get(locator)?.delete(file)
      this.#touched.add(locator)
    }
    for (const placed of objects) {
      const claims = this.#byObject.get(placed.locator) ?? new Map<string, PlacedObject>()
      this.#byObject.set(placed.locator, claims.set(file, placed))
      this.#touched.add(placed.locator)
    }
    if (objects.length === 0) this.#byFile.delete(file)
    else this.#byFile.set(file, objects)
  }

  /** What the store has to hear since the last time. */
  changes(): readonly StoreEvent[] {
    const events = [...this.#touched].flatMap(locator => this.#change(locator))
    this.#touched.clear()
    return events
  }

  /** All that there is to tell, whether or not the store has heard it. */
  everything(): readonly StoreEvent[] {
    return [...this.#told.values()].map(object => ({ type: 'upsert', object }))
  }

  /** A problem for each claim that is not believed. */
  problems(): readonly Problem[] {
    return [...this.#contested].flatMap(locator => {
      const [first, ...others] = [...(this.#byObject.get(locator)?.values() ?? [])].sort(byFile)
      const where = `${first?.place.file}:${first?.place.line}`
      return others.map(({ place }): Problem => {
        const message = `the same object stands in ${where}, which is used: remove one of the two`
        return { severity: 'error', object: locator, path: '', message, rule: 'duplicate', place }
      })
    })
  }

  #change(locator: Locator): readonly StoreEvent[] {
    const claims = this.#byObject.get(locator)
    if (claims !== undefined && claims.size > 1) this.#contested.add(locator)
    else this.#contested.delete(locator)
    const believed = claims && [...claims].sort(([a], [b]) => (a < b ? -1 : 1))[0]?.[1].object
    if (believed === this.#told.get(locator)) return []
    if (believed !== undefined) {
      this.#told.set(locator, believed)
      return [{ type: 'upsert', object: believed }]
    }
    this.#byObject.delete(locator)
    this.#told.delete(locator)
    return [{ type: 'delete', locator }]
  }
}

const byFile = (a: PlacedObject, b: PlacedObject) => (a.place.file < b.place.file ? -1 : 1)
