import { RE2JS } from '@bufbuild/re2'

/** Something that tells whether a text matches. */
export interface Pattern {
  test(text: string): boolean
}

/**
 * Patterns of the Gateway API on which a backtracking engine takes exponential time. RE2's linear engine is ten times
 * slower on short texts, so it is kept for these and for syntax that JavaScript lacks. A test attacks all the others.
 */
const backtracking = new Set(['^[!-~]+([\\t ]?[!-~]+)*$'])

const compiled = new Map<string, Pattern>()

/**
 * The compiled form of a pattern in RE2 syntax that stands in a schema or a rule (never in an object: nothing is ever
 * forgotten). Throws on one that RE2 refuses.
 */
export function patternOf(source: string): Pattern {
  let pattern = compiled.get(source)
  if (!pattern) {
    const needsRe2 = backtracking.has(source) || /\(\?[^:]/.test(source)
    pattern = needsRe2 ? RE2JS.compile(source) : new RegExp(source)
    compiled.set(source, pattern)
  }
  return pattern
}

/**
 * Why RE2, the engine of Envoy and of the API server, refuses a regular expression; undefined when it takes it. About
 * 0.1 ms.
 */
export function whyNotRegex(source: string): string | undefined {
  try {
    RE2JS.compile(source)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
