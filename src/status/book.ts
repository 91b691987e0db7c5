import type { Clock, Locator } from '../core/index.js'
import type { ObjectStatus } from '../model/index.js'
import { statusOf } from './overlay.js'
import type { Runtime, Status } from './types.js'

/** The statuses as last computed, so that times stay and equal ones are recognised. */
export interface StatusBook {
  /** Computes an object's status anew; answers whether it differs from the one held. */
  update(locator: Locator, model: ObjectStatus, runtime: Runtime): boolean
  /** Forgets an object that is gone; answers whether one was held. */
  forget(locator: Locator): boolean
  get(locator: Locator): Status | undefined
}

export function createStatusBook(clock: Pick<Clock, 'now'>): StatusBook {
  const held = new Map<Locator, Status>()
  return {
    update(locator, model, runtime) {
      const previous = held.get(locator)
      const status = statusOf(model, runtime, { previous, now: clock.now() })
      held.set(locator, status)
      return status !== previous
    },
    forget: locator => held.delete(locator),
    get: locator => held.get(locator),
  }
}
