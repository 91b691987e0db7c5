import { versionOf, versionOfParts } from './hash.js'
import { sizeOfVarint } from './writer.js'

/** A message, or some of its fields, encoded once to be spliced into larger ones. */
export interface Part {
  readonly bytes: Uint8Array
  /** Hash of the content. */
  readonly version: string
}

export function partOf(bytes: Uint8Array): Part {
  return { bytes, version: versionOf(bytes) }
}

/** Equal bytes; the versions are looked at first, since they differ wherever the bytes do. */
export function samePart(a: Part, b: Part): boolean {
  return a.version === b.version && Buffer.compare(a.bytes, b.bytes) === 0
}

/** The messages as items of the repeated field `number`: in the wire format one after the other. */
export function repeat(number: number, messages: readonly Part[]): Part {
  const tag = (number << 3) | 2
  const tagSize = sizeOfVarint(tag)
  const sizes = messages.map(({ bytes }) => tagSize + sizeOfVarint(bytes.length) + bytes.length)
  const joined = room(sizes)
  let at = 0
  for (const { bytes } of messages) {
    at = writeVarint(joined, at, tag)
    at = writeVarint(joined, at, bytes.length)
    joined.set(bytes, at)
    at += bytes.length
  }
  return { bytes: joined, version: versionOfParts(messages.map(({ version }) => version)) }
}

/**
 * The fields of all parts in one message. Nothing is encoded again, the version comes from the parts' versions, and the
 * bytes are joined when they are first asked for: while a proxy is busy with a state, those that follow cost nothing.
 */
export function concat(parts: readonly Part[]): Part {
  return new Joined(parts)
}

class Joined implements Part {
  readonly version: string
  readonly #parts: readonly Part[]
  #bytes: Uint8Array | undefined

  constructor(parts: readonly Part[]) {
    this.#parts = parts
    this.version = versionOfParts(parts.map(({ version }) => version))
  }

  get bytes(): Uint8Array {
    return (this.#bytes ??= join(this.#parts))
  }
}

function join(parts: readonly Part[]): Uint8Array {
  const joined = room(parts.map(({ bytes }) => bytes.length))
  let at = 0
  for (const { bytes } of parts) {
    joined.set(bytes, at)
    at += bytes.length
  }
  return joined
}

/** Not zeroed first: every byte is written. */
function room(sizes: readonly number[]): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(sizes.reduce((sum, size) => sum + size, 0)).buffer)
}

function writeVarint(target: Uint8Array, start: number, value: number): number {
  let at = start
  let rest = value
  while (rest > 127) {
    target[at++] = (rest & 127) | 128
    rest >>>= 7
  }
  target[at++] = rest
  return at
}
