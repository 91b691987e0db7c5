import type { Match, ValueMatch } from '../model/index.js'
import type { EnvoyTypeMatcherStringMatcher, RouteMatch } from './types.gen.js'

/** A path prefix without its trailing slashes: Gateway API prefixes match whole segments. */
export function barePrefix(value: string): string {
  return value.replace(/\/+$/, '')
}

/**
 * A path as proxies compare it: they decode letters, digits, `-`, `.`, `_` and `~` in every request first
 * (`normalize_path`), so a match that spells one of them `%41` would never meet its request.
 */
export function normalPath(value: string): string {
  return value.replace(/%[0-9a-f]{2}/gi, triplet => {
    const character = String.fromCharCode(parseInt(triplet.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : triplet
  })
}

export function routeMatch(match: Match): RouteMatch {
  const method =
    match.method === undefined ? [] : [{ name: ':method', string_match: { exact: match.method } }]
  const headers = match.headers.map(header => ({ name: header.name, string_match: valueMatch(header) }))
  const parameters = match.queryParams.map(each => ({ name: each.name, string_match: valueMatch(each) }))
  return {
    ...pathMatch(match.path),
    headers: [...method, ...headers],
    query_parameters: parameters,
  }
}

function pathMatch({ type, value }: Match['path']): RouteMatch {
  if (type === 'Exact') return { path: normalPath(value) }
  if (type === 'RegularExpression') return { safe_regex: { regex: value } }
  const prefix = barePrefix(normalPath(value))
  return prefix === '' ? { prefix: '/' } : { path_separated_prefix: prefix }
}

/** Regular expressions match the whole value. */
function valueMatch({ type, value }: ValueMatch): EnvoyTypeMatcherStringMatcher {
  return type === 'Exact' ? { exact: value } : { safe_regex: { regex: value } }
}
