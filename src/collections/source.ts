import { Keyed } from './keyed.js'
import type { Source } from './types.js'

/** Where state enters: what is set waits for the next flush, so readers never see half a transaction. */
export class SourceCollection<V> extends Keyed<V> implements Source<V> {
  #waiting = new Map<string, V | undefined>()

  set(key: string, value: V): void {
    this.#waiting.set(key, value)
  }
  delete(key: string): void {
    this.#waiting.set(key, undefined)
  }

  *settle(): Iterable<void> {
    if (this.#waiting.size === 0) return
    const waiting = this.#waiting
    this.#waiting = new Map()
    for (const [key, value] of waiting) {
      this.commit(key, value)
      yield
    }
  }
}
