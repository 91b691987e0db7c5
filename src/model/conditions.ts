import type { KubeObject } from '../core/index.js'
import type { Condition } from '../kinds/index.js'
import type { Reason } from '../topology/index.js'

/** Makes the conditions of one object: each carries the generation that was looked at. */
export interface Conditions {
  /** True with `good`, or with the reason there is against it, False. */
  holds(type: string, good: Reason, against?: Reason): Condition
  isTrue(type: string, reason: Reason): Condition
  isFalse(type: string, reason: Reason): Condition
}

export function conditionsOf({ metadata: { generation } }: KubeObject): Conditions {
  const make = (type: string, status: Condition['status'], { reason, message }: Reason): Condition => ({
    type,
    status,
    reason,
    message,
    ...(generation !== undefined && { observedGeneration: generation }),
  })
  return {
    holds: (type, good, against) => (against ? make(type, 'False', against) : make(type, 'True', good)),
    isTrue: (type, reason) => make(type, 'True', reason),
    isFalse: (type, reason) => make(type, 'False', reason),
  }
}
