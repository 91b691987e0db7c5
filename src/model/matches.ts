import { whyNotRegex, type HTTPRouteMatch, type HTTPValueMatch } from '../kinds/index.js'
import type { Reason } from '../topology/index.js'
import type { Match, ValueMatch } from './types.js'

/** A match with the specification's defaults, names folded, and the second of equal names left out. */
export function matchOf(match: HTTPRouteMatch): Match {
  const type = match.path?.type ?? 'PathPrefix'
  const value = match.path?.value ?? '/'
  return {
    path: { type, value: type === 'PathPrefix' ? withoutTrailingSlash(value) : value },
    ...(match.method !== undefined && { method: match.method }),
    headers: firstOfEach(match.headers ?? [], name => name.toLowerCase()),
    queryParams: firstOfEach(match.queryParams ?? [], name => name),
  }
}

/** `/abc/` and `/abc` are one prefix (PathMatchType, PathPrefix: "a trailing / is ignored"). */
function withoutTrailingSlash(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
}

/** Of entries with equivalent names the first counts (HTTPHeaderMatch.name, HTTPQueryParamMatch.name). */
function firstOfEach(matches: readonly HTTPValueMatch[], fold: (name: string) => string): ValueMatch[] {
  const byName = new Map<string, ValueMatch>()
  for (const { type = 'Exact', name, value } of matches) {
    const folded = fold(name)
    if (!byName.has(folded)) byName.set(folded, { name: folded, type, value })
  }
  return [...byName.values()]
}

/** Whether the match takes every request. */
export function takesEverything({ path, method, headers, queryParams }: Match): boolean {
  const anyPath = path.type === 'PathPrefix' && path.value === '/'
  return anyPath && method === undefined && headers.length === 0 && queryParams.length === 0
}

type Check = (match: Match) => string | undefined

const checks: readonly Check[] = [whyPathUnusable, whyValuesUnusable]

/** The reason why no proxy could be given this match, or nothing. Schemas refuse most of it earlier. */
export function whyMatchUnusable(match: Match): Reason | undefined {
  for (const check of checks) {
    const message = check(match)
    if (message !== undefined) return { reason: 'UnsupportedValue', message }
  }
  return undefined
}

function whyPathUnusable({ path: { type, value } }: Match): string | undefined {
  if (type === 'RegularExpression') return whyNoRegularExpression(value)
  if (!['Exact', 'PathPrefix'].includes(type)) return `path match type ${type} is not supported`
  return /^\/[^?#]*$/.test(value) ? undefined : `path ${value} must begin with / and hold no ? or #`
}

function whyValuesUnusable({ headers, queryParams }: Match): string | undefined {
  for (const { name, type, value } of [...headers, ...queryParams]) {
    const supported = ['Exact', 'RegularExpression'].includes(type)
    const why = supported ? undefined : `match type ${type} of ${name} is not supported`
    const problem = why ?? (type === 'RegularExpression' ? whyNoRegularExpression(value) : undefined)
    if (problem !== undefined) return problem
  }
  return undefined
}

function whyNoRegularExpression(pattern: string): string | undefined {
  const why = whyNotRegex(pattern)
  return why === undefined ? undefined : `${pattern} is no RE2 regular expression: ${why}`
}
