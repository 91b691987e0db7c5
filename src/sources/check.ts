import type { KubeObject, ObjectMeta } from '../core/index.js'
import { kindIdOf } from '../core/index.js'
import { kindById, validate } from '../kinds/index.js'
import type { Validated, ValidateOptions } from '../kinds/index.js'

/** Defaults one object and finds what is wrong with it; {@link validate} of the kinds room unless a test says else. */
export type Check = (value: unknown, options?: ValidateOptions) => Validated

/**
 * Checks an object as it goes into the store: in namespace `default` where a namespaced kind names none, in none
 * where a kind is cluster-scoped.
 */
export function checkObject(
  value: unknown,
  check: Check = validate,
  options: ValidateOptions = {},
): Validated {
  const { object, problems } = check(value, { defaultNamespace: 'default', ...options })
  return { object: object && withoutNamespace(object), problems }
}

function withoutNamespace(object: KubeObject): KubeObject {
  if (object.metadata.namespace === undefined || kindById(kindIdOf(object))?.namespaced !== false)
    return object
  const others = Object.entries(object.metadata).filter(([name]) => name !== 'namespace')
  return { ...object, metadata: Object.fromEntries(others) as unknown as ObjectMeta }
}
