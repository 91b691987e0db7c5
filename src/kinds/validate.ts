import { locator, type KubeObject, type Place, type Problem } from '../core/index.js'
import { celValue, whyBroken } from './cel.js'
import { builtinFindings } from './checks.js'
import { defaulted, filled, type DefaultOptions } from './default.js'
import { isFields, unknownFields, type Fields } from './fields.js'
import { groups } from './ids.js'
import { isRequired, metadataFindings, required, type Finding } from './metadata.js'
import { pathOf, pathSegments } from './path.js'
import { isOurGroup, kindOf, versionOf, type KindRow } from './table.js'
import { correlate } from './update.js'
import { walk, type RuledNode, type Walk } from './validator.js'
import { wordedErrors, type Worded } from './wording.js'
import type { Rule, Schema } from './schema.js'
import type { CelInput } from '@bufbuild/cel'

export interface ValidateOptions extends DefaultOptions {
  /** The object before an update: rules with `oldSelf` run, and what was wrong before and is unchanged is no problem. */
  readonly oldObject?: KubeObject | undefined
  /** Where a path stands in the user's file. */
  readonly locate?: ((path: string) => Place | undefined) | undefined
  /** Validates `status` too, as a write of the status subresource. Without it `status` is only looked at for unknown fields. */
  readonly status?: boolean
}

export interface Validated {
  /** The defaulted object; undefined when its kind is not in the table or it has no name. */
  readonly object: KubeObject | undefined
  readonly problems: readonly Problem[]
}

/**
 * Defaults one object and finds everything that is wrong with it, in the API server's words. `value` is whatever a user
 * wrote; nothing is thrown for it. An object of a kind or version that is not in the table gives no object and one
 * problem with rule `kind`: a warning, or an error when its group is one of the table's.
 */
export function validate(value: unknown, options: ValidateOptions = {}): Validated {
  const envelope = envelopeFindings(value)
  if (envelope.length > 0 || !isFields(value)) return { object: undefined, problems: told(envelope, options) }
  const typed = value as Fields & { readonly apiVersion: string; readonly kind: string }
  const row = kindOf(typed)
  if (!row) return { object: undefined, problems: [unknownKind(typed, options)] }
  const object = filled(typed, row, options)
  const metadata = metadataFindings(object, row)
  const structure = structureOf(object, row, options)
  const sound = !structure.blocking && !metadata.some(isRequired)
  const findings = [
    ...unknownFindings(typed, row),
    ...metadata,
    ...structure.findings,
    ...(sound ? structure.further() : []),
  ]
  const { name, namespace } = isFields(object['metadata']) ? object['metadata'] : ({} as Fields)
  if (typeof name !== 'string' || name === '') return { object: undefined, problems: told(findings, options) }
  const of = locator(row.id, row.namespaced && typeof namespace === 'string' ? namespace : undefined, name)
  return { object: object as unknown as KubeObject, problems: told(findings, options, of) }
}

function told(findings: readonly Finding[], { locate }: ValidateOptions, object?: string): Problem[] {
  return findings.map(finding => {
    const place = locate?.(finding.path)
    return { severity: 'error', ...finding, ...(object !== undefined && { object }), ...(place && { place }) }
  })
}

function envelopeFindings(value: unknown): Finding[] {
  if (!isFields(value)) return [{ path: '', message: 'Invalid value: must be an object', rule: 'schema' }]
  return ['apiVersion', 'kind']
    .filter(name => typeof value[name] !== 'string' || value[name] === '')
    .map(name => required(name))
}

function unknownKind(
  object: { readonly apiVersion: string; readonly kind: string },
  options: ValidateOptions,
): Problem {
  const { apiVersion, kind } = object
  const place = options.locate?.('kind')
  return {
    severity: isOurGroup(apiVersion) ? 'error' : 'warning',
    path: 'kind',
    message: `no matches for kind "${kind}" in version "${apiVersion}"`,
    rule: 'kind',
    ...(place && { place }),
  }
}

function unknownFindings(object: Fields, row: KindRow): Finding[] {
  const schema = row.schema(versionOf(String(object['apiVersion'])))
  return unknownFields(object, schema).map(path => ({
    path,
    message: `unknown field "${path}"`,
    rule: 'unknown',
  }))
}

/** Structure first; rules and checks only on what is structurally sound, as the API server does it. */
function structureOf(object: Fields, row: KindRow, options: ValidateOptions): Structure {
  const schema = row.schema(versionOf(String(object['apiVersion'])))
  const found = walk(object, row, options.status ?? false)
  const pathAt = (pointer: string) => pathOf(segmentsAt(object, pointer))
  const update = isBuiltin(row) ? undefined : updateOf(object, schema, options.oldObject)
  const errors = wordedErrors(found.errors, pathAt).filter(
    ({ path }) => !update?.(pathSegments(path)).unchanged,
  )
  return {
    findings: [...errors.map(finding), ...duplicates(found, pathAt)],
    blocking: errors.some(({ blocking }) => blocking),
    further: () => [
      ...builtinFindings(object as unknown as KubeObject, row.id),
      ...brokenRules(found.ruled, object, update),
    ],
  }
}

interface Structure {
  readonly findings: readonly Finding[]
  /** Whether these keep the rest from being looked at. */
  readonly blocking: boolean
  readonly further: () => readonly Finding[]
}

const finding = ({ path, message, rule }: Worded): Finding => ({ path, message, rule })

function isBuiltin(row: KindRow): boolean {
  return row.group === groups.core || row.group === groups.discovery
}

type Update = (segments: readonly (string | number)[]) => {
  readonly old: unknown
  readonly unchanged: boolean
}

function updateOf(object: Fields, schema: Schema, old: KubeObject | undefined): Update | undefined {
  if (!old) return undefined
  const full = defaulted(old)
  return segments => correlate(object, full, schema, segments)
}

/** The steps of a JSON pointer through a value: numbers in lists, texts elsewhere. */
function segmentsAt(root: unknown, pointer: string): (string | number)[] {
  let value = root
  return pointer
    .split('/')
    .slice(1)
    .map(step => {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
      const segment = Array.isArray(value) ? Number(name) : name
      value = (value as Readonly<Record<string | number, unknown>> | undefined)?.[segment]
      return segment
    })
}

function duplicates(found: Walk, pathAt: (pointer: string) => string): Finding[] {
  return found.duplicates.map(({ pointer, key }) => ({
    path: pathAt(pointer),
    message: `Duplicate value: ${key}`,
    rule: 'duplicate',
  }))
}

function brokenRules(ruled: readonly RuledNode[], object: Fields, update: Update | undefined): Finding[] {
  const seen = new WeakMap<object, CelInput>()
  const seenOld = new WeakMap<object, CelInput>()
  return ruled.flatMap(({ pointer, value, schema, rules }) => {
    const self = celValue(value, schema, seen)
    return rules.flatMap(rule => {
      // What it was before is only looked for where it matters: that takes longer than most rules.
      const before = () => update?.(segmentsAt(object, pointer))
      const message = isTransition(rule)
        ? whyBrokenChange(rule, self, before()?.old, old => celValue(old, schema, seenOld))
        : whyBroken(rule, { self }) && whyBroken(rule, { self }, before()?.unchanged)
      if (message === undefined) return []
      const path = pathOf(segmentsAt(object, pointer)) + fieldPath(rule, pointer)
      return [{ path, message, rule: rule.rule }]
    })
  })
}

function whyBrokenChange(
  rule: Rule,
  self: CelInput,
  old: unknown,
  valueOf: (old: unknown) => CelInput,
): string | undefined {
  return old === undefined ? undefined : whyBroken(rule, { self, oldSelf: valueOf(old) })
}

const transitions = new WeakMap<Rule, boolean>()

function isTransition(rule: Rule): boolean {
  let known = transitions.get(rule)
  if (known === undefined) transitions.set(rule, (known = /\boldSelf\b/.test(rule.rule)))
  return known
}

const fieldPath = (rule: Rule, pointer: string) =>
  pointer === '' ? (rule.fieldPath ?? '').replace(/^\./, '') : (rule.fieldPath ?? '')
