import { kindOf, versionOf, type KindRow } from './table.js'
import { ids } from './ids.js'
import { fieldSchema, isFields, type Fields } from './fields.js'
import type { Schema } from './schema.js'
import type { KubeObject } from '../core/index.js'

export interface DefaultOptions {
  /** The namespace of an object of a namespaced kind that names none; without it such an object stays as it is. */
  readonly defaultNamespace?: string | undefined
}

/**
 * The object as the API server would hold it: schema defaults filled in, nulls that stand for "not set" removed, a
 * Secret's stringData joined into data, a Service's target ports completed. Its input is not changed; what needs no
 * default is shared with it, and an object that needs none comes back itself. A namespace on a kind that has none is
 * dropped. `status` is left alone. An object of an unknown kind comes back unchanged.
 */
export function defaulted(object: KubeObject, options: DefaultOptions = {}): KubeObject {
  const row = kindOf(object)
  return row ? (filled(object, row, options) as unknown as KubeObject) : object
}

/** {@link defaulted} for a value of which no more is known than its kind. */
export function filled(object: KubeObject | Fields, row: KindRow, options: DefaultOptions): Fields {
  const { apiVersion } = object as KubeObject
  const { status, ...rest } = object as Fields
  const known = rest as Fields
  const whole = fillFields(known, row.schema(versionOf(apiVersion)))
  const complete = completions[row.id]?.(whole) ?? whole
  const placed = placedIn(complete, row, options.defaultNamespace)
  if (placed === known) return object as Fields
  return status === undefined ? placed : { ...placed, status }
}

function placedIn(object: Fields, row: KindRow, namespace: string | undefined): Fields {
  const { metadata } = object
  if (!isFields(metadata)) return object
  const { namespace: own, ...rest } = metadata
  if (!row.namespaced) return own === undefined ? object : { ...object, metadata: rest }
  if (namespace === undefined) return object
  return own === undefined || own === '' ? { ...object, metadata: { ...metadata, namespace } } : object
}

function fill(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return schema.items ? fillList(value, schema.items) : value
  return isFields(value) ? fillFields(value, schema) : value
}

function fillList(list: readonly unknown[], items: Schema): readonly unknown[] {
  const full = list.map(item => fill(item, items))
  return full.some((item, index) => item !== list[index]) ? full : list
}

/** Copies only when something differs: most objects of a cluster are full already. */
function fillFields(fields: Fields, schema: Schema): Fields {
  const changes: (readonly [string, unknown])[] = []
  for (const [name, held] of Object.entries(fields)) {
    const full = fillHeld(held, fieldSchema(schema, name))
    if (full !== held) changes.push([name, full])
  }
  for (const entry of defaultsOf(schema)) {
    if (fields[entry[0]] === undefined || fields[entry[0]] === null) changes.push(entry)
  }
  if (changes.length === 0) return fields
  const entries = Object.entries({ ...fields, ...Object.fromEntries(changes) })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** A null where none is allowed is as good as nothing. */
function fillHeld(held: unknown, field: Schema | undefined): unknown {
  if (!field) return held
  return held === null && field.nullable !== true ? undefined : fill(held, field)
}

const defaults = new WeakMap<Schema, readonly (readonly [string, unknown])[]>()

/** The fields of an object schema that have a default; the values are complete and shared: never changed. */
function defaultsOf(schema: Schema): readonly (readonly [string, unknown])[] {
  let entries = defaults.get(schema)
  if (!entries) {
    entries = Object.entries(schema.properties ?? {})
      .filter(([, field]) => field.default !== undefined)
      .map(([name, field]) => [name, fill(field.default, field)] as const)
    defaults.set(schema, entries)
  }
  return entries
}

const isText = (value: unknown) => typeof value === 'string'
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Defaults that depend on other fields, as the API server's own code sets them. */
const completions: Readonly<Record<string, (object: Fields) => Fields>> = {
  [ids.Secret]: secret => {
    const { stringData, ...rest } = secret
    if (!isFields(stringData) || !Object.values(stringData).every(isText)) return secret
    const written = Object.entries(stringData).map(([key, value]) => [key, base64(value as string)])
    return {
      ...rest,
      data: { ...(isFields(rest['data']) ? rest['data'] : {}), ...Object.fromEntries(written) },
    }
  },
  [ids.Service]: service => {
    const { spec } = service
    if (!isFields(spec) || !Array.isArray(spec['ports'])) return service
    const ports = spec['ports'].map((port: unknown) =>
      isFields(port) && !port['targetPort'] ? { ...port, targetPort: port['port'] } : port,
    )
    const same = ports.every((port, index) => port === (spec['ports'] as unknown[])[index])
    return same ? service : { ...service, spec: { ...spec, ports } }
  },
}
