import type { Clock } from '../../core/index.js'

/** Delays that double, each cut at random to between its half and the whole, so that many do not come back at once. */
export class Backoff {
  readonly #first: number
  readonly #most: number
  #failures = 0

  /** Both in ms. */
  constructor(first: number, most: number) {
    this.#first = first
    this.#most = most
  }

  next(): number {
    const whole = Math.min(this.#most, this.#first * 2 ** this.#failures)
    if (whole < this.#most) this.#failures++
    return whole * (0.5 + Math.random() / 2)
  }

  reset(): void {
    this.#failures = 0
  }
}

/** Resolves after `ms`, or as soon as the signal aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      undo()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const undo = clock.after(ms, end)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}
