import type { Clock, KubeObject, Locator } from '../../core/index.js'
import type { Fresh } from './certificates.js'
import type { Read } from './types.js'

/** So many objects are read for one request. */
const most = 8

/** What one request may read, in a time for all of it together. */
export class Reads {
  readonly #read: Read
  readonly #abort = new AbortController()
  readonly #late: Promise<'late'>
  readonly #undo: () => void
  #left = most

  /** @param ms - after them nobody waits any more */
  constructor(read: Read, ms: number, clock: Clock) {
    this.#read = read
    this.#late = new Promise(resolve => this.#abort.signal.addEventListener('abort', () => resolve('late')))
    this.#undo = clock.after(ms, () => this.#abort.abort())
  }

  /** What the objects are now; those that could not be read in time, or are too many, are not among the answer. */
  async all(keys: readonly Locator[]): Promise<Fresh> {
    const asked = keys.slice(0, this.#left)
    this.#left -= asked.length
    const fresh = new Map<Locator, KubeObject | undefined>()
    const reading = asked.map(async key => {
      const object = await this.#read(key, this.#abort.signal)
      if (!this.#abort.signal.aborted) fresh.set(key, object)
    })
    await Promise.race([Promise.allSettled(reading), this.#late])
    return new Map(fresh)
  }

  /** Lets go of what is still under way. */
  end(): void {
    this.#undo()
    this.#abort.abort()
  }
}
