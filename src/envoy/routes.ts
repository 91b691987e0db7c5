import type { RouteTable, Rule, VirtualHost } from '../model/index.js'
import { changeHeaders, redirectAction, routeAction, unseen } from './actions.js'
import { corsPolicy } from './cors.js'
import { filterNames } from './hcm.js'
import { headerMutations } from './headers.js'
import { routeMatch } from './matches.js'
import { concat, partOf, repeat, type Part } from './parts.js'
import type { RouteConfiguration, RouteRoute, VirtualHost as EnvoyHost } from './types.gen.js'
import { typeUrls, type Resource } from './types.js'
import { encode } from './wire.js'

/** RouteConfiguration.virtual_hosts and VirtualHost.routes. */
const VIRTUAL_HOSTS = 2
const ROUTES = 3

/** From this many rules on, rules that come again unchanged are not encoded again. */
const MANY_RULES = 32
const encoded = new WeakMap<Rule, Part>()

/** A host with its rules, in their order. */
export function virtualHostPart({ host, rules }: VirtualHost): Part {
  const head: EnvoyHost = { name: host, domains: [host], retry_policy: unseen }
  if (rules.length < MANY_RULES) return partOf(encode(HOST, { ...head, routes: rules.map(route) }))
  return concat([partOf(encode(HOST, head)), repeat(ROUTES, rules.map(routePart))])
}

const HOST = 'envoy.config.route.v3.VirtualHost'

function routePart(rule: Rule): Part {
  let part = encoded.get(rule)
  if (!part) encoded.set(rule, (part = partOf(encode('envoy.config.route.v3.Route', route(rule)))))
  return part
}

/**
 * Some of a route table's hosts, to be joined once and kept: an edit then moves the bytes of a few hosts and of the
 * chunks, not of thousands of hosts.
 */
export function chunkPart(hosts: readonly Part[]): Part {
  return repeat(VIRTUAL_HOSTS, hosts)
}

/**
 * Cuts a table's host keys, in order, into chunks of 64 on average. Where to cut is decided by the keys themselves, so
 * that it does not depend on what was there before, and a new host moves no other's chunk.
 */
export function chunksOf(hosts: readonly string[]): (readonly string[])[] {
  const chunks: string[][] = []
  for (const host of hosts) {
    const last = chunks.at(-1)
    if (last && !beginsChunk(host)) last.push(host)
    else chunks.push([host])
  }
  return chunks
}

/** One key in 64 (FNV-1a). */
function beginsChunk(key: string): boolean {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return ((hash >>> 16) & 63) === 0
}

/** A route table: its chunks' bytes one after the other, joined when they are first asked for. */
export function routeResource({ name }: RouteTable, chunks: readonly Part[]): Resource {
  const head: RouteConfiguration = { name, ignore_port_in_host_matching: true }
  const joined = concat([partOf(encode(typeUrls.route, head)), ...chunks])
  return {
    type: 'route',
    name,
    version: joined.version,
    get bytes() {
      return joined.bytes
    },
  }
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
