/** One entry of a derived collection, as somebody who read others. */
export interface Reader {
  /** Marks the entry for recomputation in the flush under way. */
  touch(): void
  /** Where this reader is registered; one that read a key twice may be here twice. */
  readonly reads: Reading[]
}

/** All readers of one key: most keys have one, which then costs no set. */
export class Reading {
  readonly key: string
  readonly #registry: Map<string, Reading>
  #only: Reader | undefined
  #many: Set<Reader> | undefined

  constructor(key: string, registry: Map<string, Reading>) {
    this.key = key
    this.#registry = registry
  }

  add(reader: Reader): void {
    if (this.#many) this.#many.add(reader)
    else if (this.#only === undefined || this.#only === reader) this.#only = reader
    else {
      this.#many = new Set([this.#only, reader])
      this.#only = undefined
    }
  }

  /** A key nobody reads any more costs nothing. */
  delete(reader: Reader): void {
    if (this.#many) this.#many.delete(reader)
    else if (this.#only === reader) this.#only = undefined
    if (this.#only === undefined && (this.#many?.size ?? 0) === 0) this.#registry.delete(this.key)
  }

  touch(): void {
    this.#only?.touch()
    if (this.#many) for (const reader of this.#many) reader.touch()
  }
}

/** Who read which key; missing keys have readers too. */
export class Readers {
  readonly #readings = new Map<string, Reading>()

  add(key: string, reader: Reader): void {
    let reading = this.#readings.get(key)
    if (!reading) {
      reading = new Reading(key, this.#readings)
      this.#readings.set(key, reading)
    }
    reading.add(reader)
    reader.reads.push(reading)
  }

  touch(key: string): void {
    this.#readings.get(key)?.touch()
  }
}

/** Forgets everything `reader` read. */
export function forgetReads(reader: Reader): void {
  for (const reading of reader.reads) reading.delete(reader)
  reader.reads.length = 0
}
