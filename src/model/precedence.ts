import type { Match, Rule } from './types.js'

/** Where a rule stands among others of equal matches. */
export interface Rank {
  /** RFC 3339 in UTC, so that text order is time order; `''` for objects that never saw an API server. */
  readonly createdAt: string
  /** `<namespace>/<name>` of the route. */
  readonly route: string
  readonly rule: number
  readonly match: number
}

export interface Ranked {
  readonly rule: Rule
  readonly rank: Rank
}

/**
 * Regular expressions stand between exact paths and prefixes, longest first: their place is left to the
 * implementation, and whoever writes one means something narrower than a prefix.
 */
const pathOrder: Readonly<Record<Match['path']['type'], number>> = {
  Exact: 0,
  RegularExpression: 1,
  PathPrefix: 2,
}

/** What decides, in the order of the specification (HTTPRouteRule.matches); the smaller goes first. */
const keys: readonly ((ranked: Ranked) => number | string)[] = [
  ({ rule }) => pathOrder[rule.match.path.type],
  ({ rule }) => (rule.match.path.type === 'Exact' ? 0 : -rule.match.path.value.length),
  ({ rule }) => (rule.match.method === undefined ? 1 : 0),
  ({ rule }) => -rule.match.headers.length,
  ({ rule }) => -rule.match.queryParams.length,
  ({ rank }) => rank.createdAt,
  ({ rank }) => rank.route,
  ({ rank }) => rank.rule,
  ({ rank }) => rank.match,
]

/** Negative when `a` is tried before `b`. */
export function byPrecedence(a: Ranked, b: Ranked): number {
  for (const key of keys) {
    const left = key(a)
    const right = key(b)
    if (left !== right) return left < right ? -1 : 1
  }
  return 0
}
