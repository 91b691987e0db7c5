import type { Match, PathChange } from '../model/index.js'
import { barePrefix, normalPath } from './matches.js'
import type { RegexMatchAndSubstitute } from './types.gen.js'

/** How a path is changed, in the words that RouteAction and RedirectAction share. */
export interface PathRewrite {
  readonly prefix_rewrite?: string
  readonly regex_rewrite?: RegexMatchAndSubstitute
}

/** The whole path, the query left as it is. */
function fullPathRewrite(value: string): PathRewrite {
  return { regex_rewrite: { pattern: { regex: '^/.*$' }, substitution: literal(value) } }
}

/**
 * The matched prefix, whole segments, with exactly one slash where the parts meet: `/foo` → `/xyz` makes `/foo/bar`
 * `/xyz/bar`, and `/foo` → `/` makes `/foo` `/` (HTTPPathModifier.replacePrefixMatch has the table).
 */
export function prefixRewrite(match: Match['path'], value: string): PathRewrite {
  const prefix = barePrefix(normalPath(match.value))
  const replacement = barePrefix(value)
  if (replacement === '' && prefix === '') return {}
  if (replacement === '') {
    return { regex_rewrite: { pattern: { regex: `^${quoted(prefix)}/*` }, substitution: '/' } }
  }
  return { prefix_rewrite: prefix === '' ? `${replacement}/` : replacement }
}

/** The change of a forwarded request's path. */
export function pathRewrite(match: Match['path'], change: PathChange | undefined): PathRewrite {
  if (!change) return {}
  return change.type === 'ReplaceFullPath'
    ? fullPathRewrite(change.value)
    : prefixRewrite(match, change.value)
}

function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** In a substitution a backslash begins a reference. */
function literal(text: string): string {
  return text.replaceAll('\\', '\\\\')
}
