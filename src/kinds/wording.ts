import type { ErrorObject } from 'ajv'
import type { Finding } from './metadata.js'
import { child } from './path.js'

/** A schema error in the API server's words; `blocking` ones keep the rules from being checked. */
export interface Worded extends Finding {
  readonly blocking: boolean
}

/** Of several errors of one text or number the API server reports the first in this order. */
const once = ['maxLength', 'minLength', 'pattern', 'maximum', 'minimum']
const blocking = new Set(['required', 'enum', 'type', 'format', 'maxLength', 'maxItems', 'maxProperties'])

const json = (value: unknown) => JSON.stringify(value)

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** An integer that its format has no room for blocks nothing, as long as it is one to the API server. */
const isBlocking = ({ keyword, data }: ErrorObject) =>
  blocking.has(keyword) && !(keyword === 'format' && typeof data === 'number' && Math.abs(data) < 2 ** 63)

interface Told {
  readonly path: string
  readonly data: unknown
  /** The keyword's value in the schema. */
  readonly limit: unknown
  readonly format: unknown
}

const invalid = ({ path, data }: Told, should: string) =>
  `Invalid value: ${json(data)}: ${path} in body ${should}`
const counted = (limit: unknown, noun: string) => `${String(limit)} ${noun}${limit === 1 ? '' : 's'}`
const size = (data: unknown) => Object.keys(data as object).length

const messages: Readonly<Record<string, (told: Told) => string>> = {
  required: () => 'Required value',
  enum: ({ data, limit }) =>
    `Unsupported value: ${json(data)}: supported values: ${(limit as unknown[]).map(value => `"${String(value)}"`).join(', ')}`,
  type: ({ path, data, limit, format }) => {
    const fraction = limit === 'integer' && typeof data === 'number'
    const [given, wanted] = fraction ? ['float64', format ?? limit] : [typeName(data), limit]
    return `Invalid value: "${given}": ${path} in body must be of type ${String(wanted)}: "${given}"`
  },
  format: told => invalid(told, `must be of type ${String(told.limit)}: ${json(told.data)}`),
  pattern: told => invalid(told, `should match '${String(told.limit)}'`),
  minLength: told => invalid(told, `should be at least ${String(told.limit)} chars long`),
  maxLength: ({ limit }) => `Too long: may not be more than ${counted(limit, 'byte')}`,
  minimum: told => invalid(told, `should be greater than or equal to ${String(told.limit)}`),
  maximum: told => invalid(told, `should be less than or equal to ${String(told.limit)}`),
  minItems: told =>
    invalid({ ...told, data: size(told.data) }, `should have at least ${String(told.limit)} items`),
  minProperties: told =>
    invalid({ ...told, data: size(told.data) }, `should have at least ${String(told.limit)} properties`),
  maxItems: ({ data, limit }) => `Too many: ${size(data)}: must have at most ${counted(limit, 'item')}`,
  maxProperties: ({ data, limit }) => `Too many: ${size(data)}: must have at most ${counted(limit, 'item')}`,
  oneOf: ({ path }) =>
    `Invalid value: "": "${path}" must validate one and only one schema (oneOf). Found none valid`,
  anyOf: ({ path }) => `Invalid value: "": "${path}" must validate at least one schema (anyOf)`,
}

/** Inside oneOf and anyOf only the wanted format says something; the rest repeats it for the other branches. */
function isNoise({ keyword, schemaPath }: ErrorObject): boolean {
  if (keyword === 'not' || keyword === 'if') return true
  const branch = /\/(?:oneOf|anyOf)\/(\d+)\/(?!.*\/(?:oneOf|anyOf)\/)/.exec(schemaPath)
  return branch !== null && keyword !== 'anyOf' && !(keyword === 'format' && branch[1] === '0')
}

function worded(error: ErrorObject, path: string): Worded {
  const { keyword, params, schema, parentSchema, data } = error
  const where = keyword === 'required' ? child(path, String(params['missingProperty'])) : path
  const told = { path: where, data, limit: schema, format: parentSchema?.['format'] as unknown }
  const message = messages[keyword]?.(told) ?? `Invalid value: ${error.message ?? keyword}`
  return { path: where, message, rule: 'schema', blocking: isBlocking(error) }
}

/** ajv's errors (with `verbose`) in the API server's words and order; `pathAt` turns a JSON pointer into a path. */
export function wordedErrors(errors: readonly ErrorObject[], pathAt: (pointer: string) => string): Worded[] {
  const told = new Map<string, number>()
  const kept = errors.filter(error => {
    if (isNoise(error)) return false
    const rank = once.indexOf(error.keyword)
    if (rank < 0) return true
    const best = told.get(error.instancePath) ?? rank
    told.set(error.instancePath, Math.min(best, rank))
    return true
  })
  return kept
    .filter(({ keyword, instancePath }) => {
      const rank = once.indexOf(keyword)
      return rank < 0 || rank === told.get(instancePath)
    })
    .map(error => worded(error, pathAt(error.instancePath)))
}
