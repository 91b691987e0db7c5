/** Field paths as Kubernetes writes them: `spec.rules[0].matches[1].path.value`, `data[tls.crt]`. */

/** A name that a path can hold after a dot; any other map key stands in brackets. */
const plain = /^(?!\d+$)[\w$-]+$/

/** The path one step further down: a list index, or the name of a field or map key. */
export function child(path: string, segment: string | number): string {
  if (typeof segment === 'number' || !plain.test(segment)) return `${path}[${segment}]`
  return path === '' ? segment : `${path}.${segment}`
}

/** The path that leads through these segments from the whole object. */
export function pathOf(segments: readonly (string | number)[]): string {
  return segments.reduce<string>(child, '')
}

/**
 * The steps of a path: numbers are list indexes, texts are fields and map keys. `''` has none. A map key that is all
 * digits cannot be told from an index and comes as a number.
 */
export function pathSegments(path: string): (string | number)[] {
  const steps = path.matchAll(/\[(\d+)\]|\[((?:[^\]]|\](?![.[]|$))*)\]|([^.[]+)/g)
  return [...steps].map(([, index, key, name]) => (index === undefined ? (key ?? name ?? '') : Number(index)))
}
