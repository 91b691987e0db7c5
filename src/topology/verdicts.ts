import type { Locator } from '../core/index.js'
import type { Reason, RouteAttachments, RouteBackends } from './types.js'

/** What was decided about the edges, asked when a view is made. */
export interface Decisions {
  attachment(route: Locator): RouteAttachments | undefined
  backends(route: Locator): RouteBackends | undefined
}

export interface Verdict {
  readonly state: 'broken' | 'refused'
  readonly reason: Reason
}

/** One reference as an edge: `field` is in the object of the end that refers. */
export interface Referral {
  readonly link: string
  readonly from: Locator
  readonly to: Locator
  readonly field: string
}

/** Why the reference does not count, as far as that is decided elsewhere. */
export function verdict(referral: Referral, decisions: Decisions): Verdict | undefined {
  switch (referral.link) {
    case 'route':
      return whyNotAttached(referral, decisions.attachment(referral.to))
    case 'backend':
    case 'mirror':
      return whyNotResolved(referral, decisions.backends(ownerOf(referral.from)))
    default:
      return undefined
  }
}

function whyNotAttached({ from, field }: Referral, route: RouteAttachments | undefined): Verdict | undefined {
  const parent = route?.parents.find(({ position }) => field === `spec.parentRefs[${position}]`)
  if (!parent || parent.listeners.some(({ listener }) => listener === from)) return undefined
  const missed = parent.missed.find(({ listener }) => listener === from)
  const reason = missed?.reason ?? parent.refused
  return reason && { state: 'refused', reason }
}

function whyNotResolved({ field }: Referral, route: RouteBackends | undefined): Verdict | undefined {
  const target = route?.references.find(({ path }) => path === field)?.target
  if (target?.kind !== 'invalid') return undefined
  return { state: 'broken', reason: { reason: target.reason, message: target.message } }
}

/** The object of a section; of an object itself. */
export function ownerOf(id: Locator): Locator {
  const at = id.indexOf('#')
  return at < 0 ? id : id.slice(0, at)
}

/** Why a reference leads nowhere, by what the graph holds alone. `owner` tells whether the object at least is there. */
export function whyMissing(id: string, owner: boolean): Reason {
  const object = ownerOf(id)
  if (object === id || !owner) return { reason: 'NotFound', message: `${object} does not exist` }
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(id.slice(object.length + 1)) ?? []
  const on = port === undefined ? '' : ` on port ${port}`
  const what = name === '*' ? 'nothing' : `nothing named \`${name}\``
  return { reason: 'NotFound', message: `${object} has ${what}${on}` }
}
