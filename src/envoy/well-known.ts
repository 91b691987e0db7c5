import { ScalarType, fromJson, toBinary, type DescMessage, type JsonValue } from '@bufbuild/protobuf'
import { asObject, writeEntries, writeItems, type Body } from './containers.js'
import { registry, typeNameOf } from './descriptors.js'
import { Misfit, misfit } from './misfit.js'
import { scalarOf, writeInt32 } from './scalars.js'
import type { Writer } from './writer.js'

type BodyOf = (descriptor: DescMessage) => Body

/** The encoder of a message that has a JSON shape of its own; `undefined` for all others. */
export function wellKnownBody(descriptor: DescMessage, bodyOf: BodyOf): Body | undefined {
  if (!descriptor.typeName.startsWith('google.protobuf.')) return undefined
  return wrapper(descriptor) ?? special(descriptor, bodyOf)
}

function special(descriptor: DescMessage, bodyOf: BodyOf): Body | undefined {
  switch (descriptor.typeName) {
    case 'google.protobuf.Any':
      return anyBody(bodyOf)
    case 'google.protobuf.Duration':
      return writeDuration
    case 'google.protobuf.Struct':
      return writeStruct
    case 'google.protobuf.Value':
      return writeValue
    case 'google.protobuf.ListValue':
      return writeList
    case 'google.protobuf.Timestamp':
    case 'google.protobuf.FieldMask':
      return byLibrary(descriptor)
    default:
      return undefined
  }
}

const WRAPPER = /^google\.protobuf\.(?:Bool|Bytes|Double|Float|String|U?Int32|U?Int64)Value$/

function wrapper(descriptor: DescMessage): Body | undefined {
  const field = descriptor.fields[0]
  if (!WRAPPER.test(descriptor.typeName) || field?.fieldKind !== 'scalar') return undefined
  const scalar = scalarOf(field.scalar)
  const tag = (field.number << 3) | scalar.wireType
  return (out, value) => {
    if (scalar.isZero(value)) return
    out.varint(tag)
    scalar.write(out, value)
  }
}

/** Rare, and of a grammar not worth a second writing. */
function byLibrary(descriptor: DescMessage): Body {
  return (out, value) => out.raw(encodeByLibrary(descriptor, value))
}

function encodeByLibrary(descriptor: DescMessage, value: unknown): Uint8Array {
  try {
    return toBinary(descriptor, fromJson(descriptor, value as JsonValue))
  } catch {
    throw misfit(`expected a ${descriptor.name}`, value)
  }
}

function anyBody(bodyOf: BodyOf): Body {
  return (out, value) => {
    const any = asObject(value)
    const url = any['@type']
    const descriptor = typeof url === 'string' ? registry().getMessage(typeNameOf(url)) : undefined
    if (!descriptor) throw misfit('expected the type URL of a message', url).inside('@type')
    out.varint((1 << 3) | 2)
    out.string(url as string)
    const before = out.length
    out.varint((2 << 3) | 2)
    const start = out.open()
    const body = bodyOf(descriptor)
    if (hasOwnShape(descriptor)) body(out, valueOf(any))
    else body(out, any, true)
    if (out.length === start) out.rewind(before)
    else out.close(start)
  }
}

function hasOwnShape(descriptor: DescMessage): boolean {
  return descriptor.typeName.startsWith('google.protobuf.') && descriptor.typeName !== 'google.protobuf.Empty'
}

/** An Any of a message with a shape of its own holds it under `value`. */
function valueOf(any: Readonly<Record<string, unknown>>): unknown {
  for (const key of Object.keys(any))
    if (key !== '@type' && key !== 'value') throw new Misfit('no such field').inside(key)
  return any['value']
}

const DURATION = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/

function writeDuration(out: Writer, value: unknown): void {
  const parts = typeof value === 'string' ? DURATION.exec(value) : null
  const seconds = Number(parts?.[2])
  if (!parts || seconds > 315_576_000_000) throw misfit("expected a duration such as '1.5s'", value)
  const nanos = Number((parts[3] ?? '').padEnd(9, '0'))
  const negative = parts[1] === '-'
  if (seconds !== 0) {
    out.varint(1 << 3)
    if (negative) out.varint64(-BigInt(seconds))
    else out.varint(seconds)
  }
  if (nanos !== 0) {
    out.varint(2 << 3)
    writeInt32(out, negative ? -nanos : nanos)
  }
}

function writeStruct(out: Writer, value: unknown): void {
  writeEntries(out, 1, value, (writer, item) => writeNested(writer, 2, writeValue, item))
}

function writeList(out: Writer, value: unknown): void {
  writeItems(out, value, (writer, item) => writeNested(writer, 1, writeValue, item))
}

function writeNested(out: Writer, number: number, body: Body, value: unknown): void {
  out.varint((number << 3) | 2)
  const start = out.open()
  body(out, value)
  out.close(start)
}

/** google.protobuf.Value: one of null, number, string, bool, struct, list, which have the numbers 1 to 6. */
function writeValue(out: Writer, value: unknown): void {
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) writeNested(out, 6, writeList, value)
    else writeNested(out, 5, writeStruct, value)
    return
  }
  const [number, type] = valueField(value)
  const scalar = scalarOf(type)
  out.varint((number << 3) | scalar.wireType)
  scalar.write(out, value ?? 0)
}

/** Null travels as the number 0 of the enum NullValue. */
function valueField(value: unknown): readonly [number: number, type: ScalarType] {
  if (value === null) return [1, ScalarType.INT32]
  if (typeof value === 'number') return [2, ScalarType.DOUBLE]
  if (typeof value === 'string') return [3, ScalarType.STRING]
  if (typeof value === 'boolean') return [4, ScalarType.BOOL]
  throw misfit('expected JSON', value)
}
