import type { Collection, Context, Engine } from '../collections/index.js'
import { section, type Locator } from '../core/index.js'
import type { Backend, HTTPBackendRef, HTTPRoute, HTTPRouteRule } from '../kinds/index.js'
import type { Objects } from '../store/index.js'
import { sectionNames, type BackendReference, type Reason, type References } from '../topology/index.js'
import { clusterOf, type ClusterUse } from './clusters.js'
import { durationMs } from './durations.js'
import { whyBackendFiltersUnusable, whyFiltersUnusable } from './filter-checks.js'
import { filtersOf, type Filters } from './filters.js'
import { matchOf, whyMatchUnusable } from './matches.js'
import type { Rank } from './precedence.js'
import type { Redirect } from './redirect.js'
import type { FixedAction, ForwardAction, Rule, WeightedBackend } from './types.js'

/** What a rule does, as far as it is the same on every port. */
export type PlannedAction =
  ForwardAction | FixedAction | { readonly kind: 'redirect'; readonly redirect: Redirect }

export interface PlannedRule {
  readonly rule: Omit<Rule, 'action'>
  readonly action: PlannedAction
  readonly rank: Rank
}

/** A rule that cannot do what it says. */
export interface InvalidRule extends Reason {
  readonly rule: number
  /** `500`: what it matches gets an error. `dropped`: it cannot even match. */
  readonly effect: '500' | 'dropped'
}

/** A route, worked out as far as it is the same for all its parents. Keyed by the route's locator. */
export interface RoutePlan {
  readonly route: Locator
  /** How many rules the route has. */
  readonly size: number
  readonly rules: readonly PlannedRule[]
  /** Clusters in use, each once, by name. */
  readonly clusters: readonly ClusterUse[]
  readonly invalid: readonly InvalidRule[]
  /** References that lead nowhere, in order of path. */
  readonly unresolved: readonly Reason[]
}

/** Works out every route that names a Gateway of ours. */
export function planRoutes(
  engine: Engine,
  objects: Pick<Objects, 'httpRoutes' | 'backends'>,
  references: References,
): Collection<RoutePlan> {
  return engine.derive('route plans', references.backends, ({ references: refs }, context, key) => {
    const route = context.get(objects.httpRoutes, key)
    return route && planRoute(route, key, { refs, context, backends: objects.backends })
  })
}

interface Inputs {
  readonly refs: readonly BackendReference[]
  readonly context: Context
  readonly backends: Collection<Backend>
}

function planRoute(route: HTTPRoute, key: Locator, inputs: Inputs): RoutePlan {
  const clusters = new Map<string, ClusterUse>()
  const rules: PlannedRule[] = []
  const invalid: InvalidRule[] = []
  const specs = route.spec.rules ?? []
  const names = sectionNames(specs, 'rules', (_, i) => `rule-${i + 1}`)
  for (const [position, spec] of specs.entries()) {
    const matches = (spec.matches?.length ? spec.matches : [{}]).map(matchOf)
    const noMatch = matches.map(whyMatchUnusable).find(reason => reason !== undefined)
    if (noMatch) {
      invalid.push({ ...noMatch, rule: position, effect: 'dropped' })
      continue
    }
    const unusable = whyRuleUnusable(spec)
    if (unusable) invalid.push({ ...unusable, rule: position, effect: '500' })
    const done = unusable ? failing : planRule(spec, position, inputs, clusters)
    for (const [number, match] of matches.entries()) {
      rules.push({
        rule: {
          id: `${section(key, names[position] as string)}/${number}`,
          route: key,
          match,
          ...done.headers,
        },
        action: done.action,
        rank: rankOf(route, position, number),
      })
    }
  }
  const used = [...clusters.values()].sort((a, b) => (a.cluster.name < b.cluster.name ? -1 : 1))
  return {
    route: key,
    size: specs.length,
    rules,
    clusters: used,
    invalid,
    unresolved: unresolved(specs, inputs.refs),
  }
}

function rankOf({ metadata }: HTTPRoute, rule: number, match: number): Rank {
  const route = `${metadata.namespace ?? ''}/${metadata.name}`
  return { createdAt: metadata.creationTimestamp ?? '', route, rule, match }
}

interface Done {
  readonly headers: Pick<Rule, 'requestHeaders' | 'responseHeaders' | 'cors'>
  readonly action: PlannedAction
}

const failing: Done = { headers: {}, action: { kind: 'fixed', status: 500 } }

type Check = (rule: HTTPRouteRule) => Reason | undefined

const ruleChecks: readonly Check[] = [whyFiltersUnusable, whyBackendsUnusable, whyTimeoutsUnusable]

/** The reason why a rule can match but not do what it says, or nothing. */
function whyRuleUnusable(rule: HTTPRouteRule): Reason | undefined {
  for (const check of ruleChecks) {
    const reason = check(rule)
    if (reason) return reason
  }
  return undefined
}

function whyBackendsUnusable(rule: HTTPRouteRule): Reason | undefined {
  for (const { filters } of rule.backendRefs ?? []) {
    const reason = filters && whyBackendFiltersUnusable(filters, rule)
    if (reason) return reason
  }
  return undefined
}

function whyTimeoutsUnusable({ timeouts = {} }: HTTPRouteRule): Reason | undefined {
  const bad = Object.values(timeouts).find(text => durationMs(text) === undefined)
  return bad === undefined
    ? undefined
    : { reason: 'UnsupportedValue', message: `${bad} is no duration (GEP-2257)` }
}

function planRule(
  spec: HTTPRouteRule,
  position: number,
  inputs: Inputs,
  clusters: Map<string, ClusterUse>,
): Done {
  const filters = filtersOf(spec.filters ?? [])
  const { requestHeaders, responseHeaders, cors, redirect } = filters
  const headers = {
    ...(requestHeaders && { requestHeaders }),
    ...(responseHeaders && { responseHeaders }),
    ...(cors && { cors }),
  }
  if (redirect) return { headers, action: { kind: 'redirect', redirect } }
  const clusterAt = (path: string) => {
    const full = `spec.rules[${position}].${path}`
    const target = inputs.refs.find(reference => reference.path === full)?.target
    if (!target || target.kind === 'invalid') return undefined
    const use = clusterOf(target, inputs.context, inputs.backends)
    clusters.set(use.cluster.name, use)
    return use.cluster.name
  }
  return { headers, action: forward(spec, filters, clusterAt) }
}

type ClusterAt = (path: string) => string | undefined

/** Without a backend that may be used, all requests are answered 500 (HTTPRouteRule.backendRefs). */
function forward(spec: HTTPRouteRule, filters: Filters, clusterAt: ClusterAt): PlannedAction {
  const backends = (spec.backendRefs ?? [])
    .map((ref, i) => ({ ref, path: `backendRefs[${i}]` }))
    .filter(({ ref }) => (ref.weight ?? 1) > 0)
    .map(({ ref, path }) => weightedBackend(ref, clusterAt(path)))
  if (!backends.some(({ cluster }) => cluster !== undefined)) return failing.action
  const mirrors = filters.mirrors.flatMap(({ position, ...share }) => {
    const cluster = clusterAt(`filters[${position}].requestMirror.backendRef`)
    return cluster === undefined ? [] : [{ cluster, ...share }]
  })
  const request = durationOf(spec.timeouts?.request)
  const backendRequest = durationOf(spec.timeouts?.backendRequest)
  return {
    kind: 'forward',
    backends,
    ...(filters.rewrite && { rewrite: filters.rewrite }),
    mirrors,
    ...(request !== undefined && { requestTimeoutMs: request }),
    ...(backendRequest !== undefined && { backendTimeoutMs: backendRequest }),
  }
}

function durationOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : durationMs(text)
}

function weightedBackend(ref: HTTPBackendRef, cluster: string | undefined): WeightedBackend {
  const weight = ref.weight ?? 1
  if (cluster === undefined) return { weight }
  const { requestHeaders, responseHeaders, rewrite } = filtersOf(ref.filters ?? [])
  return {
    weight,
    cluster,
    ...(requestHeaders && { requestHeaders }),
    ...(responseHeaders && { responseHeaders }),
    ...(rewrite?.hostname !== undefined && { rewrite: { hostname: rewrite.hostname } }),
  }
}

function unresolved(specs: readonly HTTPRouteRule[], refs: readonly BackendReference[]): Reason[] {
  const backends = refs.flatMap(({ path, target }) =>
    target.kind === 'invalid' ? [{ reason: target.reason, message: `${path}: ${target.message}` }] : [],
  )
  const extensions = specs.flatMap((spec, i) =>
    (spec.filters ?? []).flatMap(({ extensionRef }, j) => {
      if (!extensionRef) return []
      const message = `spec.rules[${i}].filters[${j}]: ${extensionRef.kind}.${extensionRef.group} is no kind of filter`
      return [{ reason: 'InvalidKind', message }]
    }),
  )
  return [...backends, ...extensions]
}
