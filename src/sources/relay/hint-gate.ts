import type { Clock } from '../../core/index.js'

/** What becomes of a hint: it goes, the same one went just now, or there are too many. */
export type Verdict = 'passed' | 'duplicate' | 'dropped'

/** In ms: how long a hint stands for the same hints after it. */
const window = 250
/** Hints each second in the long run, and at once. */
const [rate, burst] = [200, 1000]
/** Hints that are remembered at once. */
const mostRecent = 2000

/**
 * Lets hints through, each once in a while and not too many in all, so that a flood costs little. The same hint may
 * be about a later change: where it does not say which, it goes once more when the while is over.
 */
export class HintGate {
  readonly #clock: Clock
  readonly #onPass: (hint: string) => void
  readonly #recent = new Map<string, { again: boolean; stop: () => void }>()
  #allowance = burst
  #since: number

  constructor(clock: Clock, onPass: (hint: string) => void) {
    this.#clock = clock
    this.#onPass = onPass
    this.#since = clock.now()
  }

  /** @param isExact - the hint names the version that it is about */
  take(hint: string, isExact: boolean): Verdict {
    const before = this.#recent.get(hint)
    if (before !== undefined) {
      before.again ||= !isExact
      return 'duplicate'
    }
    if (this.#recent.size >= mostRecent || !this.#isAllowed()) return 'dropped'
    this.#remember(hint, false)
    this.#onPass(hint)
    return 'passed'
  }

  close(): void {
    for (const { stop } of this.#recent.values()) stop()
    this.#recent.clear()
  }

  #remember(hint: string, again: boolean): void {
    this.#recent.set(hint, { again, stop: this.#clock.after(window, () => this.#end(hint)) })
  }

  #end(hint: string): void {
    const again = this.#recent.get(hint)?.again === true
    this.#recent.delete(hint)
    if (!again) return
    const isAllowed = this.#isAllowed()
    this.#remember(hint, !isAllowed)
    if (isAllowed) this.#onPass(hint)
  }

  #isAllowed(): boolean {
    const now = this.#clock.now()
    this.#allowance = Math.min(burst, this.#allowance + (Math.max(0, now - this.#since) * rate) / 1000)
    this.#since = now
    if (this.#allowance < 1) return false
    this.#allowance--
    return true
  }
}
