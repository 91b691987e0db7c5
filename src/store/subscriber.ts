import { PendingUpdates } from './merge.js'
import type { Notice, Snapshot, Update } from './types.js'

export type Listener = (notice: Notice) => void | Promise<void>

/** Gives one listener a notice at a time; what happens meanwhile waits, merged. */
export class Subscriber {
  readonly #listener: Listener
  readonly #snapshot: () => Snapshot
  readonly #fail: (error: unknown) => void
  readonly #pending = new PendingUpdates()
  #busy = false
  #gone = false

  constructor(listener: Listener, snapshot: () => Snapshot, fail: (error: unknown) => void) {
    this.#listener = listener
    this.#snapshot = snapshot
    this.#fail = fail
  }

  /** The first notice: everything as creates. */
  greet(updates: readonly Update[]): void {
    this.add(updates)
    this.#give()
    this.pump()
  }

  add(updates: readonly Update[]): void {
    for (const update of updates) this.#pending.add(update)
  }

  /** Hands out what waits, unless the listener is at work on the notice before. */
  pump(): void {
    while (!this.#busy && !this.#gone && !this.#pending.isEmpty) this.#give()
  }

  leave(): void {
    this.#gone = true
  }

  #give(): void {
    this.#busy = true
    try {
      const working = this.#listener({ snapshot: this.#snapshot(), updates: this.#pending.take() })
      if (working === undefined) this.#busy = false
      else void working.catch(this.#fail).then(() => this.#resume())
    } catch (error) {
      this.#busy = false
      this.#fail(error)
    }
  }

  #resume(): void {
    this.#busy = false
    this.pump()
  }
}
