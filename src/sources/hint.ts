import type { KindId, Locator } from '../core/index.js'

/**
 * Somebody says that an object may have changed. It is no fact: whoever takes it reads the object back. Without a key
 * anything of the kind may have changed: it is listed again.
 */
export interface Hint {
  readonly kind: KindId
  readonly key?: Locator
  readonly uid?: string
  readonly operation?: string
  /** The version that is to be seen; reading back may end as soon as it, or a newer one, or a newer list without it, is. */
  readonly version?: string
}
