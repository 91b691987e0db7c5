/**
 * A pure function of two objects, whose results are kept for as long as both objects live. Streams that stand at
 * the same snapshots hold the same pointers, so what one of them has worked out serves all the others.
 */
export function perPair<A extends object, B extends object, R extends object>(
  compute: (a: A, b: B) => R,
): (a: A, b: B) => R {
  const results = new WeakMap<A, WeakMap<B, R>>()
  return (a, b) => {
    let row = results.get(a)
    if (row === undefined) results.set(a, (row = new WeakMap()))
    let result = row.get(b)
    if (result === undefined) row.set(b, (result = compute(a, b)))
    return result
  }
}

/** The same for one object. */
export function perObject<A extends object, R extends object | string | number>(
  compute: (a: A) => R,
): (a: A) => R {
  const results = new WeakMap<A, R>()
  return a => {
    let result = results.get(a)
    if (result === undefined) results.set(a, (result = compute(a)))
    return result
  }
}
