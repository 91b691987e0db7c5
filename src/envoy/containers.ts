import { inside, misfit } from './misfit.js'
import type { Writer } from './writer.js'

/** Writes a field or an item whole: tag, length and value. */
export type Write = (writer: Writer, value: unknown) => void

/** Writes the fields of a message, without tag and length. `any`: the value names its type, which is no field. */
export type Body = (writer: Writer, value: unknown, any?: boolean) => void

/** The value as an object with own keys; throws on anything else. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw misfit('expected an object', value)
  return value as Readonly<Record<string, unknown>>
}

/** Writes every item of a list. */
export function writeItems(writer: Writer, value: unknown, write: Write): void {
  if (!Array.isArray(value)) throw misfit('expected a list', value)
  for (let i = 0; i < value.length; i++) {
    try {
      write(writer, value[i])
    } catch (error) {
      throw inside(error, i)
    }
  }
}

/** Writes the entries of a map with string keys, in order of key. `write` writes the entry's field 2. */
export function writeEntries(writer: Writer, number: number, value: unknown, write: Write): void {
  const entries = asObject(value)
  for (const key of Object.keys(entries).sort()) {
    if (entries[key] === undefined) continue
    writer.varint((number << 3) | 2)
    const start = writer.open()
    writer.varint((1 << 3) | 2)
    writer.string(key)
    try {
      write(writer, entries[key])
    } catch (error) {
      throw inside(error, key)
    }
    writer.close(start)
  }
}
