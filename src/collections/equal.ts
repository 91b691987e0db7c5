/** Deep structural equality of plain data: objects, arrays, byte arrays, Maps and Sets, primitives. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b)
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
  if (a instanceof Uint8Array) return equalBytes(a, b as Uint8Array)
  if (a instanceof Map) return equalMaps(a, b as Map<unknown, unknown>)
  if (a instanceof Set) return equalSets(a, b as Set<unknown>)
  return equalObjects(a as Record<string, unknown>, b as Record<string, unknown>)
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => equal(item, b[i]))
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}

function equalMaps(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a) if (!b.has(key) || !equal(value, b.get(key))) return false
  return true
}

function equalSets(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean {
  if (a.size !== b.size) return false
  for (const item of a) if (!b.has(item)) return false
  return true
}

/** A key that is absent and one that is `undefined` differ, as they do to whoever asks `in`. */
function equalObjects(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(key => Object.hasOwn(b, key) && equal(a[key], b[key]))
}
