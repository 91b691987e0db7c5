import type { KindId, KubeObject, Locator } from '../../core/index.js'
import { kindIdOf, locatorOf } from '../../core/index.js'
import type { Snapshot, Store, Update } from '../../store/index.js'
import { pauses } from '../pauses.js'

/** What a check may ask about the other objects. */
export interface Surroundings {
  get(key: Locator): KubeObject | undefined
  /**
   * Those that a lookup files under the key, `most` of them at most (default: all); an object that has just changed may
   * still stand under an earlier key.
   */
  near(lookup: Lookup, key: string, most?: number): readonly KubeObject[]
}

/** By what, beside its name, an object of a kind is found. */
export interface Lookup {
  readonly kind: KindId
  readonly keysOf: (object: KubeObject) => readonly string[]
}

class Register {
  readonly #lookup: Lookup
  readonly #filed = new Map<string, Set<Locator>>()

  constructor(lookup: Lookup) {
    this.#lookup = lookup
  }

  at(key: string, most = Infinity): readonly Locator[] {
    const found: Locator[] = []
    for (const each of this.#filed.get(key) ?? []) {
      if (found.length >= most) break
      found.push(each)
    }
    return found
  }

  add(object: KubeObject): void {
    const of = locatorOf(object)
    for (const key of this.#lookup.keysOf(object)) {
      const filed = this.#filed.get(key)
      if (filed) filed.add(of)
      else this.#filed.set(key, new Set([of]))
    }
  }

  remove(object: KubeObject): void {
    const of = locatorOf(object)
    for (const key of this.#lookup.keysOf(object)) {
      const filed = this.#filed.get(key)
      filed?.delete(of)
      if (filed?.size === 0) this.#filed.delete(key)
    }
  }
}

const bySnapshot = new WeakMap<Snapshot, Surroundings>()

/** The objects of a snapshot; what a lookup files is gathered when it is first used, from the whole kind. */
export function surroundingsOf(snapshot: Snapshot): Surroundings {
  const known = bySnapshot.get(snapshot)
  if (known) return known
  const registers = new Map<Lookup, Register>()
  const registerOf = (lookup: Lookup) => {
    const register = registers.get(lookup) ?? new Register(lookup)
    if (!registers.has(lookup)) for (const object of snapshot.list(lookup.kind)) register.add(object)
    registers.set(lookup, register)
    return register
  }
  const made = joined(key => snapshot.get(key), registerOf)
  bySnapshot.set(snapshot, made)
  return made
}

/** The objects of a store as they are at each moment; a change costs as much as what changed. */
export function followStore(
  store: Store,
  lookups: readonly Lookup[],
): Surroundings & { readonly stop: () => void } {
  const registers = new Map(lookups.map(lookup => [lookup, new Register(lookup)]))
  const registerOf = (lookup: Lookup) => {
    const register = registers.get(lookup)
    if (!register) throw new Error(`nothing is looked up among ${lookup.kind} in this way`)
    return register
  }
  const stop = store.subscribe(async ({ updates }) => {
    const pause = pauses()
    for (const update of updates) {
      take(registers, update)
      await pause()
    }
  })
  return { ...joined(key => store.snapshot().get(key), registerOf), stop }
}

function take(registers: ReadonlyMap<Lookup, Register>, update: Update): void {
  for (const [{ kind }, register] of registers) {
    if (!update.locator.startsWith(`${kind}:`)) continue
    if (update.type !== 'create') register.remove(update.oldObject)
    if (update.type !== 'delete') register.add(update.newObject)
  }
}

function joined(get: Surroundings['get'], registerOf: (lookup: Lookup) => Register): Surroundings {
  return {
    get,
    near: (lookup, key, most) =>
      registerOf(lookup)
        .at(key, most)
        .map(get)
        .filter(object => object !== undefined),
  }
}

/** The same with these objects as they have just been read, beside the others: undefined for one that is gone. */
export function withFresh(
  around: Surroundings,
  fresh: ReadonlyMap<Locator, KubeObject | undefined>,
): Surroundings {
  return {
    get: key => (fresh.has(key) ? fresh.get(key) : around.get(key)),
    near(lookup, key, most) {
      const others = around.near(lookup, key, most).filter(object => !fresh.has(locatorOf(object)))
      const read = [...fresh.values()].filter(object => object !== undefined)
      const filed = read.filter(
        object => kindIdOf(object) === lookup.kind && lookup.keysOf(object).includes(key),
      )
      return [...others, ...filed]
    },
  }
}
