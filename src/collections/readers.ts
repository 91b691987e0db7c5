/** One entry of a derived collection, as somebody who read others. */
export interface Reader {
  /** Marks the entry for recomputation in the flush under way. */
  touch(): void
  /** Where this reader is registered. */
  readonly reads: Set<Reading>
}

/** All readers of one key. */
export interface Reading {
  readonly readers: Set<Reader>
  readonly key: string
  readonly registry: Map<string, Reading>
}

/** Who read which key; missing keys have readers too. */
export class Readers {
  readonly #readings = new Map<string, Reading>()

  add(key: string, reader: Reader): void {
    let reading = this.#readings.get(key)
    if (!reading) {
      reading = { readers: new Set(), key, registry: this.#readings }
      this.#readings.set(key, reading)
    }
    reading.readers.add(reader)
    reader.reads.add(reading)
  }

  touch(key: string): void {
    const reading = this.#readings.get(key)
    if (reading) for (const reader of reading.readers) reader.touch()
  }
}

/** Forgets everything `reader` read; a key nobody reads any more costs nothing. */
export function forgetReads(reader: Reader): void {
  for (const reading of reader.reads) {
    reading.readers.delete(reader)
    if (reading.readers.size === 0) reading.registry.delete(reading.key)
  }
  reader.reads.clear()
}
