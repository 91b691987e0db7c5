import { isIP } from 'node:net'
import {
  CelScalar,
  celEnv,
  celFunc,
  celList,
  celMap,
  celMethod,
  isCelError,
  listType,
  parse,
  plan,
  type CelInput,
  type CelResult,
} from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { fieldSchema, isFields } from './fields.js'
import { whyNot } from './metadata.js'
import { patternOf } from './pattern.js'
import type { Rule, Schema } from './schema.js'

/** The variables of a rule, made by {@link celValue}. */
export type Scope = {
  readonly self: CelInput
  readonly oldSelf?: CelInput
}

const { BOOL, DYN, STRING } = CelScalar

/**
 * Kubernetes' own functions, those that rules of the table use. `format.….validate` answers an optional in the API
 * server, which is never equal to null whatever XBackend's rule hopes: a list is not either.
 */
const kubernetes = [
  celFunc('isIP', [STRING], BOOL, text => isIP(text) !== 0 && !text.includes('%')),
  celFunc('format.dns1123Label', [], STRING, () => 'label'),
  celMethod('validate', STRING, [STRING], listType(DYN), text => {
    const why = whyNot('label', text)
    return why === undefined ? [] : [why]
  }),
]

type Program = (scope: Record<string, CelInput>) => CelResult

/** Built when the first rule is planned: the library's environment takes some milliseconds. */
let environment: ReturnType<typeof celEnv> | undefined
const programs = new Map<string, Program>()

function programOf(text: string): Program {
  let program = programs.get(text)
  if (!program) {
    environment ??= celEnv({ funcs: [...strings, ...kubernetes], re2: { compile: patternOf } })
    program = plan(environment, parse(text))
    programs.set(text, program)
  }
  return program
}

/**
 * The message of a broken rule, or undefined when it holds. As in the API server an evaluation that ends in an error
 * counts as broken, even where the node is as it was before an update (`unchanged`) and a plain "no" is let pass. A
 * rule that is no CEL throws: the schema is broken, not the object.
 */
export function whyBroken(rule: Rule, scope: Scope, unchanged = false): string | undefined {
  const answer = programOf(rule.rule)(scope)
  if (answer === true || (unchanged && !isCelError(answer))) return undefined
  return messageOf(rule, scope)
}

function messageOf({ rule, message, messageExpression }: Rule, scope: Scope): string {
  const computed = messageExpression === undefined ? undefined : programOf(messageExpression)(scope)
  if (typeof computed === 'string' && !isCelError(computed) && computed.trim() !== '') return computed
  return message ?? `failed rule: ${rule}`
}

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
const signs: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
}

/** By name: there are no more than the schemas have fields. */
const escapedNames = new Map<string, string>()

/** A field's name as rules must write it: `__namespace__` for `namespace`. */
function escaped(name: string): string {
  let known = escapedNames.get(name)
  if (known === undefined) {
    known = reserved.has(name) ? `__${name}__` : name.replace(/__|[.\-/]/g, sign => signs[sign] ?? sign)
    escapedNames.set(name, known)
  }
  return known
}

/**
 * A value as rules see it: integers by schema, objects with the fields of the schema only, names escaped, keys of maps
 * as they are. Values are remembered in `seen` by identity, so that the nodes of one object share their parts.
 */
export function celValue(value: unknown, schema: Schema, seen: WeakMap<object, CelInput>): CelInput {
  if (typeof value === 'number') return isInteger(value, schema) ? BigInt(value) : value
  if (typeof value !== 'object' || value === null) return value as string | boolean | null
  let converted = seen.get(value)
  if (converted === undefined) {
    converted = convert(value, schema, seen)
    seen.set(value, converted)
  }
  return converted
}

const isInteger = (value: number, schema: Schema) => schema.type !== 'number' && Number.isInteger(value)

function convert(value: object, schema: Schema, seen: WeakMap<object, CelInput>): CelInput {
  if (Array.isArray(value)) {
    return celList(value.map(item => celValue(item, schema.items ?? {}, seen)))
  }
  const entries = new Map<string, CelInput>()
  if (!isFields(value)) return celMap(entries)
  for (const [name, held] of Object.entries(value)) {
    const field = fieldSchema(schema, name)
    if (!field || held === undefined) continue
    entries.set(schema.additionalProperties ? name : escaped(name), celValue(held, field, seen))
  }
  return celMap(entries)
}
