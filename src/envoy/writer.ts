import { misfit } from './misfit.js'

const LONE_SURROGATE = /\p{Surrogate}/u

/** Writes the protobuf wire format into one growing buffer. */
export class Writer {
  #bytes = Buffer.allocUnsafeSlow(1 << 16)
  #at = 0

  get length(): number {
    return this.#at
  }

  /** Drops what was written after `length`. */
  rewind(length: number): void {
    this.#at = length
  }

  /** A copy of all that was written. */
  copy(): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(0, this.#at))
  }

  /** An integer from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.#reserve(10)
    let rest = value
    while (rest > 0x7fffffff) {
      this.#bytes[this.#at++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    while (rest > 127) {
      this.#bytes[this.#at++] = (rest & 127) | 128
      rest >>>= 7
    }
    this.#bytes[this.#at++] = rest
  }

  /** Any 64-bit integer, two's complement. */
  varint64(value: bigint): void {
    this.#reserve(10)
    let rest = BigInt.asUintN(64, value)
    while (rest > 127n) {
      this.#bytes[this.#at++] = Number(rest & 127n) | 128
      rest >>= 7n
    }
    this.#bytes[this.#at++] = Number(rest)
  }

  fixed32(value: number): void {
    this.#reserve(4)
    this.#at = this.#bytes.writeUInt32LE(value >>> 0, this.#at)
  }

  fixed64(value: bigint): void {
    this.#reserve(8)
    this.#at = this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, value), this.#at)
  }

  float(value: number): void {
    this.#reserve(4)
    this.#at = this.#bytes.writeFloatLE(value, this.#at)
  }

  double(value: number): void {
    this.#reserve(8)
    this.#at = this.#bytes.writeDoubleLE(value, this.#at)
  }

  /** Length and UTF-8; throws on a lone surrogate. Most strings are short ASCII, for which a loop beats a call into the runtime. */
  string(value: string): void {
    if (value.length < 64 && this.#ascii(value)) return
    if (LONE_SURROGATE.test(value)) throw misfit('expected well-formed Unicode', value)
    const start = this.open()
    this.#reserve(value.length * 3)
    this.#at += this.#bytes.write(value, this.#at)
    this.close(start)
  }

  /** Length and bytes. */
  bytes(value: Uint8Array): void {
    this.varint(value.length)
    this.raw(value)
  }

  /** Bytes that are encoded already. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#bytes.set(value, this.#at)
    this.#at += value.length
  }

  /** Begins something whose length is not yet known: one byte is kept for it. */
  open(): number {
    this.#reserve(1)
    return ++this.#at
  }

  /** Ends it: writes the length before it, and moves it when the length takes more than the one byte. */
  close(start: number): void {
    const length = this.#at - start
    if (length > 127) {
      const extra = sizeOfVarint(length) - 1
      this.#reserve(extra)
      this.#bytes.copyWithin(start + extra, start, this.#at)
    }
    this.#at = start - 1
    this.varint(length)
    this.#at += length
  }

  #ascii(value: string): boolean {
    this.#reserve(value.length + 1)
    const start = this.#at
    this.#bytes[this.#at++] = value.length
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      if (code > 127) {
        this.#at = start
        return false
      }
      this.#bytes[this.#at++] = code
    }
    return true
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + size))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
  }
}

/** How many bytes `value` takes as a varint. */
export function sizeOfVarint(value: number): number {
  let size = 1
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) size++
  return size
}
