import { child } from './path.js'
import type { Schema } from './schema.js'

export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The schema of one entry of an object: of the named field, or of any key of a map. */
export function fieldSchema(schema: Schema, name: string): Schema | undefined {
  const { properties } = schema
  return properties && Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties
}

/** The paths of all fields that the schema does not have, in the order of the object; where it wants no object, of any. */
export function unknownFields(value: unknown, schema: Schema | undefined, path = ''): string[] {
  if (schema && saysNothing(schema)) return []
  if (Array.isArray(value))
    return value.flatMap((item, index) => unknownFields(item, schema?.items, child(path, index)))
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([name, held]) => {
    const field = schema && fieldSchema(schema, name)
    if (field) return unknownFields(held, field, child(path, name))
    return schema?.['x-kubernetes-preserve-unknown-fields'] === true ? [] : [child(path, name)]
  })
}

/** Of a schema without a type anything may be, and of one that preserves what it does not know. */
const saysNothing = (schema: Schema) =>
  schema['x-kubernetes-preserve-unknown-fields'] === true
    ? schema.properties === undefined
    : schema.type === undefined && schema['x-kubernetes-int-or-string'] === undefined
