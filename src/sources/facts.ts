import type { Locator } from '../core/index.js'
import { kindId, groupOf, locator, problemLine } from '../core/index.js'
import { kindOf } from '../kinds/index.js'
import type { StoreEvent } from '../store/index.js'
import { isVersion } from '../store/index.js'
import type { Check } from './check.js'
import { checkObject } from './check.js'
import type { Fields } from './message.js'
import { isFields, textOf } from './message.js'

/** A fact, or why what was told is none. */
export type Fact = { readonly event: StoreEvent } | { readonly object?: Locator; readonly message: string }

/**
 * An object that somebody says is there. It has passed an API server, which knew fields that this program does not:
 * unknown fields are no mistake here, everything else is.
 */
export function upsertOf(value: Fields, check?: Check): Fact {
  const named = nameOf(value)
  if ('message' in named) return named
  const { object, problems } = checkObject(value, check)
  const errors = problems.filter(({ severity, rule }) => severity === 'error' && rule !== 'unknown')
  if (object === undefined || errors.length > 0) {
    const told = errors.length > 0 ? errors : problems
    return { object: named.locator, message: told.map(problemLine).join('; ') }
  }
  return { event: { type: 'upsert', object, ...(named.version !== undefined && { version: named.version }) } }
}

/** An object that somebody says is gone; what its spec was does not matter any more. */
export function deleteOf(value: Fields): Fact {
  const named = nameOf(value)
  if ('message' in named) return named
  const { locator: of, uid, version } = named
  return {
    event: {
      type: 'delete',
      locator: of,
      ...(uid !== undefined && { uid }),
      ...(version !== undefined && { version }),
    },
  }
}

export interface Named {
  readonly locator: Locator
  readonly uid: string | undefined
  readonly version: string | undefined
}

/** Which object it is, or why that cannot be told. */
export function nameOf(value: Fields): Named | { readonly message: string } {
  const [apiVersion, kind] = [textOf(value, 'apiVersion'), textOf(value, 'kind')]
  if (apiVersion === undefined || kind === undefined)
    return { message: 'an object needs apiVersion and kind' }
  const row = kindOf({ apiVersion, kind })
  if (row === undefined) return { message: `${kind} in ${apiVersion} is not among the kinds that are read` }
  const metadata = isFields(value['metadata']) ? value['metadata'] : {}
  const name = textOf(metadata, 'name')
  if (name === undefined) return { message: 'an object needs metadata.name' }
  const namespace = row.namespaced ? (textOf(metadata, 'namespace') ?? 'default') : undefined
  const of = locator(kindId(groupOf(apiVersion), kind), namespace, name)
  const version = textOf(metadata, 'resourceVersion')
  if (version !== undefined && !isVersion(version)) {
    return { message: `metadata.resourceVersion of ${of} must be a decimal number` }
  }
  return { locator: of, uid: textOf(metadata, 'uid'), version }
}
