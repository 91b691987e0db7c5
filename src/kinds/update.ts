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
): Correlation {
  let step: Step = { now, old, schema }
  let unchanged = isDeepStrictEqual(now, old)
  for (const segment of segments) {
    const next = below(step, segment)
    if (next.now === undefined) break
    unchanged ||= next.old !== undefined && isDeepStrictEqual(next.now, next.old)
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
