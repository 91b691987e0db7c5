import { isDeepStrictEqual } from 'node:util'
import { fieldSchema, isFields } from './fields.js'
import type { Schema } from './schema.js'

/** An update as seen from one node of the new object. */
export interface Correlation {
  /** The old value of the node; undefined when it is new or stands in a list whose items have no identity. */
  readonly old: unknown
  /** The node, or one that holds it, is as it was: the API server then keeps silent about what is wrong in it. */
  readonly unchanged: boolean
}

/** Whether two values are deeply equal; one instance is for one pair of objects, and asks about each part once. */
export class Sameness {
  readonly #known = new WeakMap<object, { readonly old: unknown; readonly same: boolean }>()

  of(now: unknown, old: unknown): boolean {
    if (typeof now !== 'object' || now === null) return Object.is(now, old)
    const known = this.#known.get(now)
    if (known && known.old === old) return known.same
    const same = isDeepStrictEqual(now, old)
    this.#known.set(now, { old, same })
    return same
  }
}

interface Step {
  readonly now: unknown
  readonly old: unknown
  readonly schema: Schema | undefined
}

/**
 * Follows the segments through the new and the old object at once (apiextensions' CorrelatedObject): fields by name,
 * items of a list of type map by their keys, items of other lists not at all.
 */
export function correlate(
  now: unknown,
  old: unknown,
  schema: Schema,
  segments: readonly (string | number)[],
  sameness = new Sameness(),
): Correlation {
  let step: Step = { now, old, schema }
  let unchanged = sameness.of(now, old)
  for (const segment of segments) {
    const next = below(step, segment)
    if (next.now === undefined) break
    unchanged ||= next.old !== undefined && sameness.of(next.now, next.old)
    step = next
  }
  return { old: step.old, unchanged }
}

function below({ now, old, schema }: Step, segment: string | number): Step {
  if (Array.isArray(now)) {
    const item: unknown = now[Number(segment)]
    const keys = schema?.['x-kubernetes-list-map-keys']
    return { now: item, old: keys && sameKeys(old, item, keys), schema: schema?.items }
  }
  const name = String(segment)
  return {
    now: isFields(now) ? now[name] : undefined,
    old: isFields(old) ? old[name] : undefined,
    schema: schema && fieldSchema(schema, name),
  }
}

function sameKeys(list: unknown, item: unknown, keys: readonly string[]): unknown {
  if (!Array.isArray(list) || !isFields(item)) return undefined
  return list.find((other: unknown) => isFields(other) && keys.every(key => other[key] === item[key]))
}
