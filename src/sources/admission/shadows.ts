import type { KubeObject } from '../../core/index.js'
import { ids, whyNotRegex, widerHostnames } from '../../kinds/index.js'
import type {
  GatewayListener,
  HTTPRoute,
  HTTPRouteMatch,
  HTTPRouteRule,
  HTTPValueMatch,
} from '../../kinds/index.js'
import { hostnameOf, hostnamesOf, isTaker, metAt } from './attachment.js'
import type { Listening } from './references.js'
import { keyOf, namespaceOf, ownParentsOf, parentsOf } from './references.js'
import type { Lookup, Surroundings } from './surroundings.js'
import type { CrossCheck, Finding } from './types.js'

/*
 * Matches are tried by kind and length of path, then by whether they have a method, then by how many headers and query
 * parameters they have (HTTPRouteRule.matches). What is tried first and takes at least the same requests therefore says
 * the very same: fewer conditions would come later, and others would let something through. (Regular expressions of
 * different text may mean the same; nothing is claimed of those.)
 */

/** One match of a rule. */
interface Place {
  readonly path: string
  readonly rule: HTTPRouteRule
  /** Two matches that say the same have one of these. */
  readonly saying: string
}

/** So many of a route's matches, times its hosts and parents, are remembered and looked for. */
const most = 256
/** So many routes that say the same at one host are looked at. */
const mostRivals = 64
/** So many rules are named in one answer. */
const mostTold = 4

function placesOf({ spec: { rules = [] } }: HTTPRoute): readonly Place[] {
  return rules.flatMap((rule, position) => {
    const { matches = [] } = rule
    const path = `spec.rules[${position}]`
    if (matches.length === 0) return [{ path, rule, saying: sayingOf({}) }]
    return matches.map((match, at) => ({
      path: matches.length === 1 ? path : `${path}.matches[${at}]`,
      rule,
      saying: sayingOf(match),
    }))
  })
}

/** With the specification's defaults: of equivalent names the first counts, `/a/` is the prefix `/a`. */
function sayingOf({ path, method, headers = [], queryParams = [] }: HTTPRouteMatch): string {
  const { type = 'PathPrefix', value = '/' } = path ?? {}
  const isSlashed = type === 'PathPrefix' && value.length > 1 && value.endsWith('/')
  return JSON.stringify([
    type,
    isSlashed ? value.slice(0, -1) : value,
    method ?? null,
    firstOfEach(headers, name => name.toLowerCase()),
    firstOfEach(queryParams, name => name),
  ])
}

function firstOfEach(matches: readonly HTTPValueMatch[], fold: (name: string) => string) {
  const byName = new Map<string, readonly string[]>()
  for (const { name, type = 'Exact', value } of matches) {
    const folded = fold(name)
    if (!byName.has(folded)) byName.set(folded, [folded, type, value])
  }
  return [...byName.values()].sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
}

const filedAt = (parent: string, hostname: string, saying: string) => `${parent}|${hostname}|${saying}`

/** HTTPRoutes by parent, hostname and match. */
export const routesByMatch: Lookup = {
  kind: ids.HTTPRoute,
  keysOf(object) {
    const route = object as HTTPRoute
    const sayings = [...new Set(placesOf(route).map(({ saying }) => saying))]
    const spots = parentsOf(route).flatMap(parent =>
      hostnamesOf(route).map(hostname => [keyOf(parent), hostname] as const),
    )
    const keys = spots
      .slice(0, most)
      .flatMap(([parent, hostname]) =>
        sayings.slice(0, shareOf(spots)).map(saying => filedAt(parent, hostname, saying)),
      )
    return [...new Set(keys)]
  },
}

const shareOf = (spots: readonly unknown[]) => Math.ceil(most / Math.max(1, spots.length))

const shadowedWithin: CrossCheck = {
  name: 'rule-shadowed-within',
  kinds: [ids.HTTPRoute],
  find(object) {
    const first = new Map<string, Place>()
    const found: Finding[] = []
    for (const place of placesOf(object as HTTPRoute)) {
      const before = first.get(place.saying)
      if (before === undefined || !isUsable(before.rule)) first.set(place.saying, place)
      else
        found.push({
          path: place.path,
          message: `never used: ${before.path} matches the same and goes first`,
        })
    }
    return found.slice(0, mostTold)
  },
}

/** A rule with a regular expression that is none is not served, so that it shadows nothing. */
function isUsable({ matches = [] }: HTTPRouteRule): boolean {
  return matches
    .flatMap(({ path, headers = [], queryParams = [] }) => [path, ...headers, ...queryParams])
    .every(part => part?.type !== 'RegularExpression' || whyNotRegex(part.value ?? '') === undefined)
}

/** A listener, and a host of it that is a route's: what another route there says first is never asked of this one. */
interface Spot {
  readonly parent: string
  readonly to: Listening
  readonly listener: GatewayListener
  readonly host: string
}

function spotsOf(route: HTTPRoute, around: Surroundings): readonly Spot[] {
  return ownParentsOf(route, around).flatMap(parent => {
    const to = around.get(keyOf(parent)) as Listening | undefined
    const listeners = to?.spec.listeners.filter(listener => isTaker(listener, { route, parent, to }, around))
    return (listeners ?? []).flatMap(listener => {
      const hosts = hostnamesOf(route).map(hostname => metAt(listener, hostname))
      return [...new Set(hosts)]
        .filter(host => host !== undefined)
        .map(host => ({ parent: keyOf(parent), to: to as Listening, listener, host }))
    })
  })
}

const shadowedByOthers: CrossCheck = {
  name: 'rule-shadowed-by-another-route',
  kinds: [ids.HTTPRoute],
  find(object, around) {
    const route = object as HTTPRoute
    const spots = spotsOf(route, around)
    const places = placesOf(route).slice(0, shareOf(spots))
    const found = places.flatMap(place => {
      for (const spot of spots.slice(0, most)) {
        const shadow = shadowAt(route, place, spot, around)
        if (shadow) return [shadow]
      }
      return []
    })
    return found.slice(0, mostTold)
  },
}

function shadowAt(route: HTTPRoute, place: Place, spot: Spot, around: Surroundings): Finding | undefined {
  const { parent, listener, host } = spot
  const hostnames = host === hostnameOf(listener) ? [host, ...widerHostnames(host)] : [host]
  const rivals = hostnames.flatMap(hostname =>
    around.near(routesByMatch, filedAt(parent, hostname, place.saying), mostRivals),
  ) as HTTPRoute[]
  const [first] = rivals
    .filter(other => nameIn(other) !== nameIn(route) && goesBefore(other, route, ageOf(route) || notYet))
    .flatMap(other => placeAt(other, place, spot, around) ?? [])
    .sort((a, b) => (goesBefore(a.route, b.route) ? -1 : 1))
  if (first === undefined) return undefined
  const where = `on listener "${listener.name}"${host === '*' ? '' : ` for ${host}`}`
  return { path: place.path, message: `never used ${where}: ${calledFrom(route, first)} goes first` }
}

interface RivalPlace extends Place {
  readonly route: HTTPRoute
}

/** The first rule of another route that says the same, where that route is served at the spot. */
function placeAt(
  route: HTTPRoute,
  { saying }: Place,
  { to, listener, host, parent }: Spot,
  around: Surroundings,
): RivalPlace | undefined {
  const isThere = parentsOf(route).some(
    ref => keyOf(ref) === parent && isTaker(listener, { route, parent: ref, to }, around),
  )
  const isHost = isThere && hostnamesOf(route).some(hostname => metAt(listener, hostname) === host)
  const place = isHost
    ? placesOf(route).find(each => each.saying === saying && isUsable(each.rule))
    : undefined
  return place && { ...place, route }
}

/** The oldest goes first, then the first by namespace and name. */
function goesBefore(a: HTTPRoute, b: HTTPRoute, ageOfB = ageOf(b)): boolean {
  return ageOf(a) === ageOfB ? nameIn(a) < nameIn(b) : ageOf(a) < ageOfB
}

/** RFC 3339 in UTC, so that text order is time order; `''` for objects that never saw an API server. */
const ageOf = ({ metadata }: HTTPRoute) => metadata.creationTimestamp ?? ''
/** What an API server has not dated yet will be the youngest. */
const notYet = '~'

const nameIn = (object: KubeObject) => `${namespaceOf(object)}/${object.metadata.name}`

/** Of what is in other namespaces no name is told: whoever asks need not be allowed to see it. */
function calledFrom(asker: HTTPRoute, { route, path }: RivalPlace): string {
  return namespaceOf(route) === namespaceOf(asker)
    ? `the same match of ${route.kind} ${nameIn(route)} (${path})`
    : 'the same match of a route in another namespace'
}

/** Rules that no request can reach. */
export const shadowChecks: readonly CrossCheck[] = [shadowedWithin, shadowedByOthers]
