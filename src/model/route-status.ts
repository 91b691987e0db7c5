import type { Locator } from '../core/index.js'
import type { Collection, Engine, Index } from '../collections/index.js'
import { controllerName, type Condition, type HTTPRoute } from '../kinds/index.js'
import type { Attachment, Reason, RouteAttachments } from '../topology/index.js'
import { conditionsOf } from './conditions.js'
import type { InvalidRule, RoutePlan } from './plan.js'
import type { ObjectStatus, RouteParentStatus } from './types.js'

/** Routes that are attached and accepted, by listener: their number is `attachedRoutes`. */
export function indexAttached(
  engine: Engine,
  attachments: Collection<RouteAttachments>,
  plans: Collection<RoutePlan>,
): Index<readonly Locator[]> {
  const accepted = engine.derive('accepted routes', attachments, ({ parents }, context, route) => {
    const plan = context.get(plans, route)
    if (!plan || whyAllInvalid(plan)) return undefined
    const listeners = parents.flatMap(parent => parent.listeners.map(({ listener }) => listener))
    return listeners.length === 0 ? undefined : [...new Set(listeners)]
  })
  return engine.index('attached routes by listener', accepted, listeners => listeners)
}

/** The status of every route that names a Gateway of ours: one entry per such parentRef. */
export function routeStatuses(
  engine: Engine,
  httpRoutes: Collection<HTTPRoute>,
  attachments: Collection<RouteAttachments>,
  plans: Collection<RoutePlan>,
): Collection<ObjectStatus> {
  return engine.derive(
    'route statuses',
    attachments,
    ({ parents }, context, key): ObjectStatus | undefined => {
      const route = context.get(httpRoutes, key)
      const plan = context.get(plans, key)
      if (!route || !plan) return undefined
      return { kind: 'HTTPRoute', parents: parents.map(parent => parentStatus(route, plan, parent)) }
    },
  )
}

function parentStatus(route: HTTPRoute, plan: RoutePlan, parent: Attachment): RouteParentStatus {
  return { parentRef: parent.parentRef, controllerName, conditions: routeConditions(route, plan, parent) }
}

const accepted: Reason = { reason: 'Accepted', message: 'attached to its parent' }
const resolved: Reason = {
  reason: 'ResolvedRefs',
  message: 'every reference leads to something that can be used',
}

function routeConditions(route: HTTPRoute, plan: RoutePlan, { refused }: Attachment): Condition[] {
  const make = conditionsOf(route)
  const against = refused ?? whyAllInvalid(plan)
  const conditions = [
    make.holds('Accepted', accepted, against),
    make.holds('ResolvedRefs', resolved, whyUnresolved(plan)),
  ]
  const [first] = plan.invalid
  if (first && !against) {
    conditions.push(
      make.isTrue('PartiallyInvalid', {
        reason: first.reason,
        message: `Dropped Rule: ${rulesText(plan.invalid)}`,
      }),
    )
  }
  return conditions
}

/** A route of which no rule can be used is not accepted; one with some is partially invalid. */
function whyAllInvalid({ invalid, size }: RoutePlan): Reason | undefined {
  const [first] = invalid
  if (!first || invalid.length < size) return undefined
  return { reason: first.reason, message: rulesText(invalid) }
}

function rulesText(invalid: readonly InvalidRule[]): string {
  return invalid
    .map(({ rule, message, effect }) => {
      const what = effect === '500' ? 'its requests are answered 500' : 'it matches nothing'
      return `spec.rules[${rule}]: ${message} (${what})`
    })
    .join('; ')
}

function whyUnresolved({ unresolved }: RoutePlan): Reason | undefined {
  const [first] = unresolved
  return first && { reason: first.reason, message: unresolved.map(({ message }) => message).join('; ') }
}
