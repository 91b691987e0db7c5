import type { Clock } from '../../core/index.js'
import type { Store } from '../../store/index.js'
import { crossChecks, lookups } from './checks.js'
import { decideAdmission } from './decision.js'
import { portsBound } from './gateways.js'
import { followStore } from './surroundings.js'
import type { AdmissionRequest, Decision, Read } from './types.js'

export interface AdmissionSource {
  readonly store: Store
  /** Whether a first full list is in. Default: yes. */
  readonly complete?: () => boolean
  readonly read?: Read
  /** Why whoever runs proxies cannot have them listen on a port. Default: every port can be had. */
  readonly whyNotBound?: (port: number) => string | undefined
  readonly clock?: Clock
}

/** Admission beside a store. */
export interface Admission {
  /** `decideAdmission` among the store's objects. `timeoutMs` is what the API server waits. */
  decide(request: AdmissionRequest, timeoutMs?: number): Decision | Promise<Decision>
  /** Follows the store no longer. */
  stop(): void
}

/** Follows the store, so that a decision costs the same among any number of objects. */
export function createAdmission(source: AdmissionSource): Admission {
  const { store, complete = () => true, read, whyNotBound, clock } = source
  const surroundings = followStore(store, lookups)
  const checks = whyNotBound ? [...crossChecks, portsBound(whyNotBound)] : crossChecks
  return {
    decide: (request, timeoutMs) =>
      decideAdmission(request, {
        snapshot: store.snapshot(),
        surroundings,
        checks,
        complete: complete(),
        ...(read && { read }),
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(clock && { clock }),
      }),
    stop: surroundings.stop,
  }
}
