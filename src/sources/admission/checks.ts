import { backendChecks } from './backends.js'
import { gatewayChecks } from './gateways.js'
import { parentChecks } from './parents.js'
import { grantsByNamespace } from './references.js'
import { routesByMatch, shadowChecks } from './shadows.js'
import type { Lookup } from './surroundings.js'
import type { CrossCheck } from './types.js'

/** What needs no more than the store's content; all of it may still come right, so none of it denies. */
export const crossChecks: readonly CrossCheck[] = [
  ...parentChecks,
  ...backendChecks,
  ...shadowChecks,
  ...gatewayChecks,
]

/** How those checks find other objects. */
export const lookups: readonly Lookup[] = [grantsByNamespace, routesByMatch]
