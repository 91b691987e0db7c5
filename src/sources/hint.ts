import type { KindId, Locator } from '../core/index.js'

/** Somebody says that an object may have changed. It is no fact: whoever takes it reads the object back. */
export interface Hint {
  readonly kind: KindId
  readonly key: Locator
  readonly uid?: string
  readonly operation?: string
}
