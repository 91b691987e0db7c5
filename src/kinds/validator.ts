import { isIPv4, isIPv6 } from 'node:net'
import { Ajv, type ErrorObject, type FuncKeywordDefinition, type ValidateFunction } from 'ajv'
import { isFields } from './fields.js'
import { patternOf } from './pattern.js'
import { versionOf, type KindRow } from './table.js'
import type { Rule, Schema } from './schema.js'

/** A node of the object whose schema has rules; they are evaluated when the structure is sound. */
export interface RuledNode {
  readonly pointer: string
  readonly value: unknown
  readonly schema: Schema
  readonly rules: readonly Rule[]
}

/** An item that stands twice in a list of type set or map. */
export interface Duplicate {
  readonly pointer: string
  /** The item, or its keys, as JSON. */
  readonly key: string
}

/** What one walk over an object finds. */
export interface Walk {
  readonly errors: readonly ErrorObject[]
  readonly duplicates: readonly Duplicate[]
  readonly ruled: readonly RuledNode[]
}

interface Collecting {
  readonly duplicates: Duplicate[]
  readonly ruled: RuledNode[]
}

type CompileKeywordFunc = NonNullable<FuncKeywordDefinition['compile']>

interface NodeContext {
  readonly instancePath: string
}

function collectRules(rules: readonly Rule[], schema: Schema) {
  return function collect(this: Collecting, value: unknown, node?: NodeContext): boolean {
    this.ruled.push({ pointer: node?.instancePath ?? '', value, schema, rules })
    return true
  }
}

/** The keys of an item as JSON, without those that it lacks; undefined for what is no object and so equals no other. */
function picked(item: unknown, keys: readonly string[]): string | undefined {
  if (item !== null && !isFields(item)) return undefined
  const held = [...keys].sort().filter(key => item?.[key] !== undefined)
  return JSON.stringify(Object.fromEntries(held.map(key => [key, item?.[key]])))
}

/** Each that stands more than once is told of once, where it stands for the second time. */
function collectDuplicates(keyOf: (item: unknown) => string | undefined) {
  return function collect(this: Collecting, list: unknown, node?: NodeContext): boolean {
    const times = new Map<string, number>()
    for (const [index, item] of (list as unknown[]).entries()) {
      const key = keyOf(item)
      if (key === undefined) continue
      const before = times.get(key) ?? 0
      if (before === 1) this.duplicates.push({ pointer: `${node?.instancePath ?? ''}/${index}`, key })
      times.set(key, before + 1)
    }
    return true
  }
}

const int32 = (value: number) => value >= -(2 ** 31) && value < 2 ** 31

const formats: Readonly<Record<string, (value: never) => boolean>> = {
  int32,
  int64: Number.isSafeInteger,
  ipv4: isIPv4,
  ipv6: isIPv6,
  'date-time': (text: string) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)),
}

/** Where no type is wanted, a format wants its own; only lists have any format. */
function compileFormat(format: string, { type: wanted }: { readonly type?: unknown }) {
  const check = formats[format]
  const of = format.startsWith('int') ? 'number' : 'string'
  return (value: unknown): boolean => {
    if (check === undefined || Array.isArray(value)) return true
    return typeof value === of ? check(value as never) : wanted !== undefined
  }
}

function createAjv(): Ajv {
  const created = new Ajv({
    allErrors: true,
    verbose: true,
    strict: false,
    meta: false,
    validateSchema: false,
    passContext: true,
    // Optimising the code takes longer than it ever saves: a third of the first review.
    code: { optimize: false, regExp: Object.assign(patternOf, { code: 'patternOf' }) },
  })
  created
    .removeKeyword('format')
    .addKeyword({ keyword: 'format', compile: compileFormat as CompileKeywordFunc })
    .addKeyword({
      keyword: 'x-kubernetes-validations',
      errors: false,
      compile: collectRules as CompileKeywordFunc,
    })
    .addKeyword({
      keyword: 'x-kubernetes-list-map-keys',
      type: 'array',
      errors: false,
      compile: (keys: readonly string[]) => collectDuplicates(item => picked(item, keys)),
    })
    .addKeyword({
      keyword: 'x-kubernetes-list-type',
      type: 'array',
      errors: false,
      compile: (listType: string) =>
        listType === 'set' ? collectDuplicates(item => JSON.stringify(item)) : () => true,
    })
    .addKeyword({
      keyword: 'x-kubernetes-int-or-string',
      validate: (_: boolean, value: unknown) => Number.isInteger(value) || typeof value === 'string',
    })
  return created
}

let ajv: Ajv | undefined
const validators = new WeakMap<Schema, Map<boolean, ValidateFunction>>()
const compiled = new Set<string>()

/** The KindIds whose schema has been compiled in this process: each on its first validation, never before. */
export function compiledKinds(): readonly string[] {
  return [...compiled].sort()
}

function validatorOf(row: KindRow, version: string, withStatus: boolean): ValidateFunction {
  const schema = row.schema(version)
  const known = validators.get(schema) ?? new Map<boolean, ValidateFunction>()
  validators.set(schema, known)
  let validator = known.get(withStatus)
  if (!validator) {
    ajv ??= createAjv()
    validator = ajv.compile(withStatus ? schema : withoutStatus(schema))
    known.set(withStatus, validator)
    compiled.add(row.id)
  }
  return validator
}

function withoutStatus(schema: Schema): Schema {
  const fields = Object.entries(schema.properties ?? {}).filter(([name]) => name !== 'status')
  return { ...schema, properties: Object.fromEntries(fields) }
}

/** Walks a defaulted object with its kind's schema. The first walk of a kind compiles it (HTTPRoute: about 0.1 s). */
export function walk(object: Readonly<Record<string, unknown>>, row: KindRow, withStatus: boolean): Walk {
  const validator = validatorOf(row, versionOf(String(object['apiVersion'])), withStatus)
  const found: Collecting = { duplicates: [], ruled: [] }
  const sound = validator.call(found, object)
  return { errors: sound ? [] : (validator.errors ?? []), ...found }
}
