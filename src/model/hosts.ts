import type { Locator } from '../core/index.js'
import type { Collection, Context, Engine, Index } from '../collections/index.js'
import { mostSpecific, widerHostnames } from '../kinds/index.js'
import type { References } from '../topology/index.js'
import { takesEverything } from './matches.js'
import type { PlannedRule, RoutePlan } from './plan.js'
import { byPrecedence, type Ranked } from './precedence.js'
import { redirectFrom } from './redirect.js'
import type { Site } from './sites.js'
import type { RouteTable, Rule, VirtualHost } from './types.js'

/** What one route adds to one host. Keyed `<gateway>|<routeTable>|<host>|<route>`. */
interface Contribution {
  readonly place: HostPlace
  readonly rules: readonly Ranked[]
}

/** A host, whoever fills it. Keyed `<gateway>|<routeTable>|<host>`. */
interface HostPlace {
  readonly gateway: Locator
  readonly routeTable: string
  readonly host: string
  /** The listener it belongs to: the most specific one of the port. */
  readonly listener: Locator
  /** It belongs to another listener than the one whose connection asks: answers 421. */
  readonly misdirected?: true
}

export interface HostCollections {
  readonly hosts: Collection<VirtualHost>
  readonly routeTables: Collection<RouteTable>
}

/** The virtual hosts of every route table, from the plans of the routes attached there. */
export function buildHosts(
  engine: Engine,
  references: References,
  plans: Collection<RoutePlan>,
  gatewaySites: Collection<readonly Site[]>,
): HostCollections {
  const sites = engine.expand('sites', gatewaySites, all => all.map(site => [site.listener, site] as const))
  const contributions = engine.expand('contributions', plans, (plan, context, route) => {
    const parents = context.get(references.attachments, route)?.parents ?? []
    const attached = parents.flatMap(parent => parent.listeners)
    return attached.flatMap(({ listener, hostnames }) => {
      const site = context.get(sites, listener)
      return site ? contribute(plan, site, hostnames) : []
    })
  })
  const byHost = engine.index('contributions by host', contributions, ({ place }) => [placeKey(place)])
  const filled = engine.group('filled hosts', byHost, (_, [first]) => first?.place)
  const owned = engine.expand('listener hosts', gatewaySites, all =>
    all.flatMap(site => ownPlaces(site, all)),
  )
  const places = engine.union('host places', [owned, filled])
  const hosts = engine.derive('hosts', places, (place, context) => hostOf(place, context, byHost))
  return { hosts, routeTables: buildTables(engine, gatewaySites, places) }
}

function buildTables(
  engine: Engine,
  gatewaySites: Collection<readonly Site[]>,
  places: Collection<HostPlace>,
): Collection<RouteTable> {
  const byTable = engine.index('hosts by table', places, place => [tableKey(place)])
  const hostKeys = engine.roster('table hosts', byTable)
  const tables = engine.expand('tables', gatewaySites, sites =>
    sites.map(
      ({ gateway, routeTable: name }) =>
        [tableKey({ gateway, routeTable: name }), { gateway, name }] as const,
    ),
  )
  return engine.derive(
    'route tables',
    tables,
    (table, context, key): RouteTable => ({ ...table, hosts: context.get(hostKeys, key) ?? [] }),
    // A roster moves only when membership does, so another list is another table.
    { equal: (a, b) => a.hosts === b.hosts },
  )
}

function tableKey({
  gateway,
  routeTable,
}: {
  readonly gateway: Locator
  readonly routeTable: string
}): string {
  return `${gateway}|${routeTable}`
}

function placeKey(place: HostPlace): string {
  return `${tableKey(place)}|${place.host}`
}

/** A listener serves only the hosts for which no other listener of its port is more specific. */
function contribute(
  plan: RoutePlan,
  site: Site,
  hostnames: readonly string[],
): (readonly [string, Contribution])[] {
  const own = hostnames.filter(host => mostSpecific(site.portHostnames, host) === site.hostname)
  if (own.length === 0) return []
  const rules = plan.rules.map(planned => finish(planned, site))
  return own.map(host => {
    const { gateway, routeTable, listener } = site
    const place = { gateway, routeTable, host, listener }
    return [`${placeKey(place)}|${plan.route}`, { place, rules }] as const
  })
}

function finish({ rule, action, rank }: PlannedRule, site: Site): Ranked {
  if (action.kind !== 'redirect') return { rule: { ...rule, action }, rank }
  const scheme = site.protocol === 'HTTPS' ? 'https' : 'http'
  return { rule: { ...rule, action: redirectFrom(action.redirect, site.port, scheme) }, rank }
}

/**
 * Every listener answers for its own hostname, with 404 where no route does. On HTTPS, where each listener has a
 * table of its own, the hostnames of the port's other listeners are there too: a request for one of them came by
 * the wrong connection and is answered 421 (Listener.hostname).
 */
function ownPlaces(site: Site, all: readonly Site[]): (readonly [string, HostPlace])[] {
  const { gateway, routeTable } = site
  const neighbours = site.protocol === 'HTTPS' ? all.filter(({ port }) => port === site.port) : [site]
  return neighbours.map(({ hostname, listener }) => {
    const place = { gateway, routeTable, host: hostname, listener }
    return [placeKey(place), listener === site.listener ? place : { ...place, misdirected: true }] as const
  })
}

/**
 * Rules of the most specific hostname go first, and those of wider hostnames of the same listener after them
 * (HTTPRouteSpec.hostnames: precedence, not exclusion), up to a rule that takes every request.
 */
function hostOf(place: HostPlace, context: Context, byHost: Index<Contribution>): VirtualHost {
  const { gateway, routeTable, host, listener, misdirected } = place
  if (misdirected) return { gateway, routeTable, host, rules: [misdirectedRule(gateway, listener)] }
  const rules = new Map<string, Rule>()
  for (const level of [host, ...widerHostnames(host)]) {
    const contributions = context.lookup(byHost, placeKey({ ...place, host: level }))
    const ranked = contributions
      .filter(({ place: from }) => from.listener === listener)
      .flatMap(each => each.rules)
    for (const { rule } of ranked.sort(byPrecedence)) if (!rules.has(rule.id)) rules.set(rule.id, rule)
    if (ranked.some(({ rule }) => takesEverything(rule.match))) break
  }
  return { gateway, routeTable, host, rules: [...rules.values()] }
}

function misdirectedRule(gateway: Locator, listener: Locator): Rule {
  return {
    id: `${listener}/misdirected`,
    route: gateway,
    match: { path: { type: 'PathPrefix', value: '/' }, headers: [], queryParams: [] },
    action: { kind: 'fixed', status: 421 },
  }
}
