import { ScalarType, type DescEnum } from '@bufbuild/protobuf'
import { misfit } from './misfit.js'
import type { Writer } from './writer.js'

/** How a value without fields of its own is checked and written. */
export interface Scalar {
  /** 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes. */
  readonly wireType: 0 | 1 | 2 | 5
  /** Throws on a value of another type or range. */
  readonly write: (writer: Writer, value: unknown) => void
  /** Whether a field without presence leaves the value out. */
  readonly isZero: (value: unknown) => boolean
}

const isZeroNumber = (value: unknown) => value === 0 && !Object.is(value, -0)
const isZeroInt64 = (value: unknown) => value === 0 || value === '0'
const isEmpty = (value: unknown) => value === ''

function integer(value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    throw misfit(`expected a whole number from ${min} to ${max}`, value)
  return value
}

function integer64(value: unknown, min: bigint, max: bigint): bigint {
  const whole = typeof value === 'number' ? Number.isSafeInteger(value) : /^-?\d+$/.test(text(value))
  const big = whole ? BigInt(value as number | string) : undefined
  if (big === undefined || big < min || big > max)
    throw misfit(`expected a whole number from ${min.toString()} to ${max.toString()}`, value)
  return big
}

function number(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw misfit('expected a finite number', value)
  return value
}

function float(value: unknown): number {
  if (!Number.isFinite(Math.fround(number(value))))
    throw misfit('expected a number within the range of a float', value)
  return value as number
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw misfit('expected a string', value)
  return value
}

function base64(value: unknown): Uint8Array {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text(value)))
    throw misfit('expected base64', value)
  return Buffer.from(value as string, 'base64')
}

function boolean(value: unknown): number {
  if (typeof value !== 'boolean') throw misfit('expected true or false', value)
  return value ? 1 : 0
}

const INT32 = [-0x80000000, 0x7fffffff] as const
const UINT32 = [0, 0xffffffff] as const
const INT64 = [-(1n << 63n), (1n << 63n) - 1n] as const
const UINT64 = [0n, (1n << 64n) - 1n] as const

/** A negative 32-bit integer travels as a 64-bit one. */
export function writeInt32(writer: Writer, value: unknown): void {
  const whole = integer(value, ...INT32)
  if (whole < 0) writer.varint64(BigInt(whole))
  else writer.varint(whole)
}

const scalars: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.BOOL]: {
    wireType: 0,
    isZero: value => value === false,
    write: (writer, value) => writer.varint(boolean(value)),
  },
  [ScalarType.STRING]: {
    wireType: 2,
    isZero: isEmpty,
    write: (writer, value) => writer.string(text(value)),
  },
  [ScalarType.BYTES]: {
    wireType: 2,
    isZero: isEmpty,
    write: (writer, value) => writer.bytes(base64(value)),
  },
  [ScalarType.INT32]: { wireType: 0, isZero: isZeroNumber, write: writeInt32 },
  [ScalarType.UINT32]: {
    wireType: 0,
    isZero: isZeroNumber,
    write: (writer, value) => writer.varint(integer(value, ...UINT32)),
  },
  [ScalarType.SINT32]: {
    wireType: 0,
    isZero: isZeroNumber,
    write(writer, value) {
      const whole = integer(value, ...INT32)
      writer.varint(((whole << 1) ^ (whole >> 31)) >>> 0)
    },
  },
  [ScalarType.INT64]: {
    wireType: 0,
    isZero: isZeroInt64,
    write: (writer, value) => writer.varint64(integer64(value, ...INT64)),
  },
  [ScalarType.UINT64]: {
    wireType: 0,
    isZero: isZeroInt64,
    write: (writer, value) => writer.varint64(integer64(value, ...UINT64)),
  },
  [ScalarType.SINT64]: {
    wireType: 0,
    isZero: isZeroInt64,
    write(writer, value) {
      const whole = integer64(value, ...INT64)
      writer.varint64((whole << 1n) ^ (whole >> 63n))
    },
  },
  [ScalarType.FIXED32]: {
    wireType: 5,
    isZero: isZeroNumber,
    write: (writer, value) => writer.fixed32(integer(value, ...UINT32)),
  },
  [ScalarType.SFIXED32]: {
    wireType: 5,
    isZero: isZeroNumber,
    write: (writer, value) => writer.fixed32(integer(value, ...INT32)),
  },
  [ScalarType.FIXED64]: {
    wireType: 1,
    isZero: isZeroInt64,
    write: (writer, value) => writer.fixed64(integer64(value, ...UINT64)),
  },
  [ScalarType.SFIXED64]: {
    wireType: 1,
    isZero: isZeroInt64,
    write: (writer, value) => writer.fixed64(integer64(value, ...INT64)),
  },
  [ScalarType.FLOAT]: {
    wireType: 5,
    isZero: isZeroNumber,
    write: (writer, value) => writer.float(float(value)),
  },
  [ScalarType.DOUBLE]: {
    wireType: 1,
    isZero: isZeroNumber,
    write: (writer, value) => writer.double(number(value)),
  },
}

export function scalarOf(type: ScalarType): Scalar {
  return scalars[type]
}

/** An enum is written by the name of its value. */
export function enumScalar(descriptor: DescEnum): Scalar {
  const numbers = new Map(descriptor.values.map(value => [value.name, value.number]))
  return {
    wireType: 0,
    isZero: value => numbers.get(value as string) === 0,
    write(writer, value) {
      const known = numbers.get(value as string)
      if (known === undefined) throw misfit(`expected one of ${[...numbers.keys()].join(' ')}`, value)
      writeInt32(writer, known)
    },
  }
}
