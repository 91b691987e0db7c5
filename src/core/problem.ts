import type { Locator } from './locator.js'

/** Where in the user's files something stands; line and column count from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/**
 * A user's mistake, as a value: it ends in a status, an admission answer or the CLI, never in a stack trace.
 * The message says what is wrong and what to do.
 */
export interface Problem {
  readonly severity: 'error' | 'warning'
  /** The object, where one could be read. */
  readonly object?: Locator
  /** Field path as Kubernetes writes it: `spec.rules[0].matches[1].path.value`; `''` is the whole object. */
  readonly path: string
  readonly message: string
  /** What was broken: `yaml`, `schema`, `unknown`, `duplicate`, `default`, a CEL rule's text, … */
  readonly rule: string
  readonly place?: Place
}

/** One line for whoever knows which object it is about: `spec.rules[0]: message`. */
export function problemLine({ path, message }: Pick<Problem, 'path' | 'message'>): string {
  return path === '' ? message : `${path}: ${message}`
}

/** One line for people: `shop.yaml:12:7 httproute…:shop/cart spec.rules[0]: message`. */
export function problemText(problem: Problem): string {
  const { place, object, path } = problem
  const where = place ? `${place.file}:${place.line}:${place.column}` : undefined
  const what = path === '' ? object : object === undefined ? path : `${object} ${path}`
  const head = [where, what].filter(part => part !== undefined).join(' ')
  return head === '' ? problem.message : `${head}: ${problem.message}`
}
