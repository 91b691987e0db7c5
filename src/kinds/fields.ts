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

/** The paths of all fields that the schema does not have, in the order of the object. */
export function unknownFields(value: unknown, schema: Schema, path = ''): string[] {
  if (Array.isArray(value)) {
    const { items } = schema
    return items ? value.flatMap((item, index) => unknownFields(item, items, child(path, index))) : []
  }
  if (!isFields(value) || (!schema.properties && !schema.additionalProperties)) return []
  return Object.entries(value).flatMap(([name, held]) => {
    const field = fieldSchema(schema, name)
    if (field) return unknownFields(held, field, child(path, name))
    return schema['x-kubernetes-preserve-unknown-fields'] === true ? [] : [child(path, name)]
  })
}
