import { versionOf, versionOfParts } from './hash.js'
import { sizeOfVarint } from './writer.js'

/** A message encoded once, to be spliced into larger ones. */
export interface Part {
  readonly bytes: Uint8Array
  /** Hash of the bytes. */
  readonly version: string
}

export function partOf(bytes: Uint8Array): Part {
  return { bytes, version: versionOf(bytes) }
}

/** Equal bytes; the versions are looked at first, since they differ wherever the bytes do. */
export function samePart(a: Part, b: Part): boolean {
  return a.version === b.version && Buffer.compare(a.bytes, b.bytes) === 0
}

/**
 * The message whose own fields are `head` and whose repeated message field `number` holds the parts: in the wire
 * format that is one after the other, so nothing is encoded again, and the version comes from the parts' versions.
 */
export function join(head: Part, number: number, parts: readonly Part[]): Part {
  const tag = (number << 3) | 2
  const tagSize = sizeOfVarint(tag)
  let size = head.bytes.length
  for (const { bytes } of parts) size += tagSize + sizeOfVarint(bytes.length) + bytes.length
  const joined = new Uint8Array(Buffer.allocUnsafeSlow(size).buffer)
  joined.set(head.bytes)
  let at = head.bytes.length
  for (const { bytes } of parts) {
    at = writeVarint(joined, at, tag)
    at = writeVarint(joined, at, bytes.length)
    joined.set(bytes, at)
    at += bytes.length
  }
  return { bytes: joined, version: versionOfParts([head.version, ...parts.map(part => part.version)]) }
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
