import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import { asObject, writeEntries, writeItems, type Body, type Write } from './containers.js'
import { descriptorOf, typeNameOf } from './descriptors.js'
import { Misfit, inside } from './misfit.js'
import { enumScalar, scalarOf, type Scalar } from './scalars.js'
import { wellKnownBody } from './well-known.js'
import { Writer } from './writer.js'

interface Field {
  readonly name: string
  readonly number: number
  /** One bit per oneof of the message; 0 = in none. */
  readonly oneof: number
  readonly write: Write
}

const writer = new Writer()
const bodies = new Map<string, Body>()

/**
 * Encodes a value in Envoy's documented JSON shape (snake_case, `'15s'`, `'@type'`, enums by name): fields in order of
 * number, map entries in order of key, so that equal values give equal bytes. `undefined` and `null` fields are absent.
 * Throws {@link Misfit} with the path on an unknown field, a second member of a oneof, or a value of another type.
 * Message types are compiled on first use.
 *
 * @param type the message's full name, or its type URL
 */
export function encode(type: string, value: object): Uint8Array {
  try {
    bodyOf(descriptorOf(typeNameOf(type)))(writer, value)
    return writer.copy()
  } catch (error) {
    throw inside(error, typeNameOf(type))
  } finally {
    writer.rewind(0)
  }
}

/** The compiled encoder of a message type. */
export function bodyOf(descriptor: DescMessage): Body {
  let body = bodies.get(descriptor.typeName)
  if (!body) {
    body = wellKnownBody(descriptor, bodyOf) ?? messageBody(descriptor)
    bodies.set(descriptor.typeName, body)
  }
  return body
}

function messageBody(descriptor: DescMessage): Body {
  const fields = new Map<string, Field>()
  for (const field of descriptor.fields) {
    const oneof = field.oneof ? 1 << descriptor.oneofs.indexOf(field.oneof) : 0
    fields.set(field.name, { name: field.name, number: field.number, oneof, write: fieldWriter(field) })
  }
  return (out, value, any) => writeFields(out, asObject(value), fields, any === true)
}

function writeFields(
  out: Writer,
  value: Readonly<Record<string, unknown>>,
  fields: ReadonlyMap<string, Field>,
  any: boolean,
): void {
  let seen = 0
  for (const field of presentFields(value, fields, any)) {
    try {
      if ((seen & field.oneof) !== 0) throw new Misfit('another member of its oneof is set')
      seen |= field.oneof
      field.write(out, value[field.name])
    } catch (error) {
      throw inside(error, field.name)
    }
  }
}

/** The fields of the own keys that hold something, in order of number (they mostly are already). */
function presentFields(
  value: Readonly<Record<string, unknown>>,
  fields: ReadonlyMap<string, Field>,
  any: boolean,
): readonly Field[] {
  const present: Field[] = []
  for (const key of Object.keys(value)) {
    if (any && key === '@type') continue
    const field = fields.get(key)
    if (!field) throw new Misfit('no such field').inside(key)
    if (value[key] !== undefined) insert(present, field)
  }
  return present
}

function insert(present: Field[], field: Field): void {
  let at = present.length
  for (let before; (before = present[at - 1]) && before.number > field.number; at--) present[at] = before
  present[at] = field
}

function fieldWriter(field: DescField): Write {
  switch (field.fieldKind) {
    case 'message':
      return singularMessage(field.number, field.message)
    case 'scalar':
      return singularScalar(field, scalarOf(field.scalar))
    case 'enum':
      return singularScalar(field, enumScalar(field.enum))
    case 'map':
      return mapWriter(field)
    case 'list':
      return listWriter(field)
  }
}

function singularScalar(field: DescField, scalar: Scalar): Write {
  const tag = (field.number << 3) | scalar.wireType
  const implicit = field.presence === FeatureSet_FieldPresence.IMPLICIT
  return (out, value) => {
    if (value === null || (implicit && scalar.isZero(value))) return
    out.varint(tag)
    scalar.write(out, value)
  }
}

function singularMessage(number: number, descriptor: DescMessage): Write {
  const write = lengthDelimited(number, descriptor)
  if (descriptor.typeName === 'google.protobuf.Value') return write
  return (out, value) => {
    if (value !== null) write(out, value)
  }
}

/** Compiles the body when it is first needed: messages refer to themselves. */
function lengthDelimited(number: number, descriptor: DescMessage): Write {
  const tag = (number << 3) | 2
  let body: Body | undefined
  return (out, value) => {
    out.varint(tag)
    const start = out.open()
    body ??= bodyOf(descriptor)
    body(out, value)
    out.close(start)
  }
}

function listWriter(field: DescField & { fieldKind: 'list' }): Write {
  if (field.listKind === 'message') return repeated(lengthDelimited(field.number, field.message))
  const scalar = field.listKind === 'enum' ? enumScalar(field.enum) : scalarOf(field.scalar)
  if (field.packed) return packed(field.number, scalar)
  const tag = (field.number << 3) | scalar.wireType
  return repeated((out, value) => {
    out.varint(tag)
    scalar.write(out, value)
  })
}

function repeated(write: Write): Write {
  return (out, value) => {
    if (value !== null) writeItems(out, value, write)
  }
}

function packed(number: number, scalar: Scalar): Write {
  return (out, value) => {
    if (value === null || (Array.isArray(value) && value.length === 0)) return
    out.varint((number << 3) | 2)
    const start = out.open()
    writeItems(out, value, scalar.write)
    out.close(start)
  }
}

function mapWriter(field: DescField & { fieldKind: 'map' }): Write {
  if (field.mapKey !== ScalarType.STRING) return refuse
  const write = mapValueWriter(field)
  return (out, value) => {
    if (value !== null) writeEntries(out, field.number, value, write)
  }
}

/** Only the syntax trees of CEL have such a map, and nobody writes one by hand. */
function refuse(): never {
  throw new Misfit('a map with keys other than strings is not supported')
}

function mapValueWriter(field: DescField & { fieldKind: 'map' }): Write {
  if (field.mapKind === 'message') return lengthDelimited(2, field.message)
  const scalar = field.mapKind === 'enum' ? enumScalar(field.enum) : scalarOf(field.scalar)
  return (out, value) => {
    out.varint((2 << 3) | scalar.wireType)
    scalar.write(out, value)
  }
}
