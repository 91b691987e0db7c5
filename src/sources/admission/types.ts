import type { Clock, KindId, KubeObject, Locator } from '../../core/index.js'
import type { Snapshot } from '../../store/index.js'
import type { Check } from '../check.js'
import type { Hint } from '../hint.js'
import type { Surroundings } from './surroundings.js'

/** `request` of an AdmissionReview (admission.k8s.io/v1), as far as it is read. */
export interface AdmissionRequest {
  readonly uid: string
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string }
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly namespace?: string
  readonly name?: string
  readonly subResource?: string
  readonly dryRun?: boolean
  readonly object?: object | null
  readonly oldObject?: object | null
}

/** `response` of an AdmissionReview, without the uid. */
export interface AdmissionVerdict {
  readonly allowed: boolean
  readonly status?: AdmissionStatus
  readonly warnings?: readonly string[]
}

/** meta/v1 Status, as the API server itself answers for an invalid object. */
export interface AdmissionStatus {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details: {
    readonly group: string
    readonly kind: string
    readonly name: string
    readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[]
  }
}

export interface Decision {
  readonly verdict: AdmissionVerdict
  /** Where something is likely to change now; it is no fact. */
  readonly hint?: Hint
}

/**
 * Reads one object from the API server now; undefined where there is none. Whatever it rejects with counts as "could
 * not be looked at". It should end when the signal aborts; nobody waits for it any longer.
 */
export type Read = (key: Locator, signal: AbortSignal) => Promise<KubeObject | undefined>

/** What one check found. */
export interface Finding {
  /** The field, as in a Problem. */
  readonly path: string
  readonly message: string
  /**
   * The object because of which this can never work: the request is denied, once a live read of that object has shown
   * the same. Absent on what may still come right: a warning.
   */
  readonly denies?: Locator
}

/**
 * A question about an object among the others. No rule about Gateways and routes denies: what they lack may still
 * arrive.
 */
export interface CrossCheck {
  readonly name: string
  /** The kinds it asks about. */
  readonly kinds: readonly KindId[]
  readonly find: (object: KubeObject, around: Surroundings) => readonly Finding[]
}

export interface AdmissionOptions {
  readonly snapshot: Snapshot
  /** Default: {@link surroundingsOf} the snapshot, which goes through a whole kind where it is asked for the first time. */
  readonly surroundings?: Surroundings
  readonly check?: Check
  /** Default: `crossChecks`. */
  readonly checks?: readonly CrossCheck[]
  /** False until a first full list is in: nothing is said of other objects then, but that nothing is. Default true. */
  readonly complete?: boolean
  /** Without it certificates are not looked at, and nothing is denied because of another object. */
  readonly read?: Read
  /** ms the API server waits for the answer (`?timeout=10s`). Default 10,000. Reads end after half of it, or 1,000. */
  readonly timeoutMs?: number
  readonly clock?: Clock
}
