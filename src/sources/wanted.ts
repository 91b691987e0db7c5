import type { KindId, Locator } from '../core/index.js'
import { ids } from '../kinds/index.js'

const kinds: ReadonlySet<KindId> = new Set([ids.Secret, ids.ConfigMap])

/** Kinds that are listed and watched as metadata only, and read whole by name, while something references them. */
export function isReadByName(kind: KindId): boolean {
  return kinds.has(kind)
}

/** The kind that a key begins with. */
export function kindOfKey(key: Locator): KindId {
  return key.slice(0, key.indexOf(':'))
}
