import { isDeepStrictEqual } from 'node:util'
import type { Condition } from '../kinds/index.js'
import type { RouteParentStatus } from '../model/index.js'
import type { Status, Times } from './types.js'

/** Gives every condition its `lastTransitionTime`; answers the previous status itself when nothing differs. */
export function withTimes(status: Status, { previous, now }: Times): Status {
  const at = new Date(Math.floor(now / 1000) * 1000).toISOString().replace('.000Z', 'Z')
  const dated = datedStatus(status, previous ?? {}, at)
  return previous !== undefined && isDeepStrictEqual(dated, previous) ? previous : dated
}

function datedStatus(status: Status, previous: Status, at: string): Status {
  const { conditions, listeners, parents } = status
  return {
    ...status,
    ...(conditions && { conditions: dated(conditions, previous.conditions, at) }),
    ...(listeners && {
      listeners: listeners.map(listener => {
        const before = previous.listeners?.find(({ name }) => name === listener.name)
        return { ...listener, conditions: dated(listener.conditions, before?.conditions, at) }
      }),
    }),
    ...(parents && {
      parents: parents.map(parent => {
        const before = previous.parents?.find(other => isSameParent(parent, other))
        return { ...parent, conditions: dated(parent.conditions, before?.conditions, at) }
      }),
    }),
  }
}

function isSameParent(a: RouteParentStatus, b: RouteParentStatus): boolean {
  return a.controllerName === b.controllerName && isDeepStrictEqual(a.parentRef, b.parentRef)
}

function dated(
  conditions: readonly Condition[],
  previous: readonly Condition[] = [],
  at: string,
): Condition[] {
  return conditions.map(condition => {
    const before = previous.find(({ type }) => type === condition.type)
    const since = before?.status === condition.status ? before.lastTransitionTime : undefined
    return { ...condition, lastTransitionTime: since ?? at }
  })
}
