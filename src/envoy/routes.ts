import type { RouteTable, Rule, VirtualHost } from '../model/index.js'
import { changeHeaders, redirectAction, routeAction } from './actions.js'
import { corsPolicy } from './cors.js'
import { filterNames } from './hcm.js'
import { headerMutations } from './headers.js'
import { routeMatch } from './matches.js'
import { join, partOf, type Part } from './parts.js'
import type { RouteConfiguration, RouteRoute, VirtualHost as EnvoyHost } from './types.gen.js'
import { typeUrls, type Resource } from './types.js'
import { encode } from './wire.js'

/** RouteConfiguration.virtual_hosts and VirtualHost.routes. */
const VIRTUAL_HOSTS = 2
const ROUTES = 3

/** Rules that come again unchanged are not encoded again: a host may have thousands, of which an edit changes one. */
const encoded = new WeakMap<Rule, Part>()

/** A host with its rules, in their order. */
export function virtualHostPart({ host, rules }: VirtualHost): Part {
  const head: EnvoyHost = { name: host, domains: [host] }
  return join(partOf(encode('envoy.config.route.v3.VirtualHost', head)), ROUTES, rules.map(routePart))
}

function routePart(rule: Rule): Part {
  let part = encoded.get(rule)
  if (!part) encoded.set(rule, (part = partOf(encode('envoy.config.route.v3.Route', route(rule)))))
  return part
}

/** A route table: its hosts' bytes one after the other. */
export function routeResource({ name }: RouteTable, hosts: readonly Part[]): Resource {
  const head: RouteConfiguration = { name, ignore_port_in_host_matching: true }
  const { bytes, version } = join(partOf(encode(typeUrls.route, head)), VIRTUAL_HOSTS, hosts)
  return { type: 'route', name, version, bytes }
}

function route(rule: Rule): RouteRoute {
  const { action, match, cors } = rule
  const byBackend = action.kind === 'forward' && changeHeaders(action.backends)
  return {
    name: rule.id,
    match: routeMatch(match),
    ...(action.kind === 'forward' && { route: routeAction(action, rule) }),
    ...(action.kind === 'redirect' && { redirect: redirectAction(action, match) }),
    ...(action.kind === 'fixed' && { direct_response: { status: action.status } }),
    typed_per_filter_config: cors && { [filterNames.cors]: corsPolicy(cors) },
    ...(!byBackend && headerMutations(rule)),
  }
}
