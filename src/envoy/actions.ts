import type {
  ForwardAction,
  Match,
  RedirectAction as ModelRedirect,
  Rule,
  WeightedBackend,
} from '../model/index.js'
import { followedBy, headerMutations, type HeaderChanges } from './headers.js'
import { INVALID_CLUSTER } from './names.js'
import { pathRewrite, prefixRewrite } from './rewrites.js'
import type {
  Duration,
  RedirectAction,
  RouteAction,
  RouteAction_RequestMirrorPolicy,
  RouteRetryPolicy,
  RuntimeFractionalPercent,
  WeightedCluster_ClusterWeight,
} from './types.gen.js'

/** Streams that say nothing for this long are cut (`stream_idle_timeout` of the connection manager). */
const STREAM_IDLE_MS = 300_000

/** Every host's policy: tries again, elsewhere, only what no backend has seen, which cannot do anything twice. */
export const unseen: RouteRetryPolicy = {
  retry_on: 'connect-failure,refused-stream,reset-before-request',
  num_retries: 2,
  retry_host_predicate: [
    {
      name: 'envoy.retry_host_predicates.previous_hosts',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate',
      },
    },
  ],
  host_selection_retry_max_attempts: 5,
}

/** Milliseconds in Envoy's words. */
function duration(ms: number): Duration {
  return `${ms / 1000}s`
}

export function routeAction(action: ForwardAction, rule: Rule): RouteAction {
  const {
    backends,
    rewrite,
    mirrors,
    requestTimeoutMs: requestMs = 0,
    backendTimeoutMs: backendMs = 0,
  } = action
  const invalid = backends.some(({ cluster }) => cluster === undefined)
  return {
    ...target(action, rule),
    ...pathRewrite(rule.match.path, rewrite?.path),
    cluster_not_found_response_code: invalid ? 'INTERNAL_SERVER_ERROR' : undefined,
    host_rewrite_literal: rewriteHosts(backends) ? undefined : rewrite?.hostname,
    // Without one Envoy gives up after 15 s.
    timeout: duration(requestMs),
    idle_timeout: idleTimeout(action),
    retry_policy: backendMs > 0 ? { ...unseen, per_try_timeout: duration(backendMs) } : undefined,
    request_mirror_policies: mirrors.map(mirrorPolicy),
  }
}

/**
 * Whether a backend changes headers by itself. Envoy would then apply the route's changes after the backend's, so
 * the backends carry both, in the right order, and the route none.
 */
export function changeHeaders(backends: readonly WeightedBackend[]): boolean {
  return backends.some(({ requestHeaders, responseHeaders }) => requestHeaders ?? responseHeaders)
}

/** The same of host names: Envoy would apply the route's after the backend's, so the backends carry either. */
function rewriteHosts(backends: readonly WeightedBackend[]): boolean {
  return backends.some(({ rewrite }) => rewrite?.hostname !== undefined)
}

/**
 * A silent stream is cut when nobody would wait for it any longer: never before the rule's own time-outs, and not at
 * all where the rule says that there is none.
 */
function idleTimeout({ requestTimeoutMs, backendTimeoutMs }: ForwardAction): Duration | undefined {
  const stated = [requestTimeoutMs, backendTimeoutMs].filter(ms => ms !== undefined)
  if (stated.length === 0) return undefined
  const longest = Math.max(...stated)
  return longest === 0 || longest > STREAM_IDLE_MS ? duration(longest) : undefined
}

function target({ backends, rewrite }: ForwardAction, rule: Rule): RouteAction {
  const [first] = backends
  const plain = !changeHeaders(backends) && !rewriteHosts(backends)
  if (plain && backends.length === 1) return { cluster: first?.cluster ?? INVALID_CLUSTER }
  const outer = changeHeaders(backends) ? rule : {}
  const hostname = rewriteHosts(backends) ? rewrite?.hostname : undefined
  return { weighted_clusters: { clusters: backends.map(backend => clusterWeight(backend, outer, hostname)) } }
}

function clusterWeight(
  backend: WeightedBackend,
  outer: HeaderChanges,
  hostname: string | undefined,
): WeightedCluster_ClusterWeight {
  return {
    name: backend.cluster ?? INVALID_CLUSTER,
    weight: backend.weight,
    ...headerMutations({
      requestHeaders: followedBy(outer.requestHeaders, backend.requestHeaders),
      responseHeaders: followedBy(outer.responseHeaders, backend.responseHeaders),
    }),
    host_rewrite_literal: backend.rewrite?.hostname ?? hostname,
  }
}

function mirrorPolicy({
  cluster,
  numerator,
  denominator,
}: ForwardAction['mirrors'][number]): RouteAction_RequestMirrorPolicy {
  return {
    cluster,
    runtime_fraction: numerator < denominator ? fraction(numerator, denominator) : undefined,
    disable_shadow_host_suffix_append: true,
  }
}

/** Envoy counts in hundredths or millionths. */
function fraction(numerator: number, denominator: number): RuntimeFractionalPercent {
  const percent = (numerator * 100) / denominator
  return {
    default_value: Number.isInteger(percent)
      ? { numerator: percent, denominator: 'HUNDRED' }
      : { numerator: Math.round(percent * 10_000), denominator: 'MILLION' },
  }
}

const responseCodes = {
  301: 'MOVED_PERMANENTLY',
  302: 'FOUND',
  303: 'SEE_OTHER',
  307: 'TEMPORARY_REDIRECT',
  308: 'PERMANENT_REDIRECT',
} as const

export function redirectAction(action: ModelRedirect, match: Match): RedirectAction {
  const { scheme, hostname, port, path, statusCode } = action
  return {
    scheme_redirect: scheme,
    host_redirect: hostname,
    port_redirect: port,
    response_code: responseCodes[statusCode],
    ...(path?.type === 'ReplaceFullPath' && { path_redirect: path.value }),
    ...(path?.type === 'ReplacePrefixMatch' && prefixRewrite(match.path, path.value)),
  }
}
