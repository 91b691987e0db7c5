import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/index.js'

interface Answer<T> {
  readonly answer: Promise<T>
  until: number
}

/** ms that a failure is kept, so that many callers do not ask a peer that fails, each for itself. */
const failureMs = 1_000

/** Answers of a peer, each asked for once at a time and kept until its own end; bounded in number. */
export class Answers<T> {
  readonly #kept: LRUCache<string, Answer<T>>
  readonly #clock: Clock

  constructor(max: number, clock: Clock) {
    this.#kept = new LRUCache({ max })
    this.#clock = clock
  }

  /** @param until - ms since the epoch until which an answer counts */
  get(key: string, ask: () => Promise<T>, until: (answer: T) => number): Promise<T> {
    const held = this.#kept.get(key)
    if (held && this.#clock.now() < held.until) return held.answer
    const asked: Answer<T> = { answer: ask(), until: Infinity }
    this.#kept.set(key, asked)
    asked.answer.then(
      answer => (asked.until = until(answer)),
      () => (asked.until = this.#clock.now() + failureMs),
    )
    return asked.answer
  }
}
