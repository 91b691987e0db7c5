import { PendingUpdates } from './merge.js'
import type { Notice, Snapshot, Update } from './types.js'

export type Listener = (notice: Notice) => void | Promise<void>

/** Gives one listener a notice at a time; what happens meanwhile waits, merged. */
export class Subscriber {
  readonly #listener: Listener
  readonly #snapshot: () => Snapshot
  readonly #isHeld: () => boolean
  readonly #fail: (error: unknown) => void
  readonly #pending = new PendingUpdates()
  #busy = false
  #gone = false

  constructor(
    listener: Listener,
    snapshot: () => Snapshot,
    isHeld: () => boolean,
    fail: (error: unknown) => void,
  ) {
    this.#listener = listener
    this.#snapshot = snapshot
    this.#isHeld = isHeld
    this.#fail = fail
  }

  /** Whether it has been told everything, and is done with it. */
  get isIdle(): boolean {
    return !this.#busy && this.#pending.isEmpty
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

  /** Hands out what waits, unless it is held back or the listener is at work on the notice before. */
  pump(): void {
    while (!this.#isHeld() && !this.#busy && !this.#gone && !this.#pending.isEmpty) this.#give()
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

/** Everybody who listens. */
export class Audience {
  readonly #members = new Set<Subscriber>()
  readonly #snapshot: () => Snapshot
  readonly #fail: (error: unknown) => void
  #holds = 0

  constructor(snapshot: () => Snapshot, fail: (error: unknown) => void) {
    this.#snapshot = snapshot
    this.#fail = fail
  }

  /** @param everything - all objects as creates. Returns its undo. */
  join(listener: Listener, everything: readonly Update[]): () => void {
    const member = new Subscriber(listener, this.#snapshot, () => this.#holds > 0, this.#fail)
    this.#members.add(member)
    member.greet(everything)
    return () => {
      member.leave()
      this.#members.delete(member)
    }
  }

  add(updates: readonly Update[]): void {
    for (const member of this.#members) member.add(updates)
  }

  get isIdle(): boolean {
    return [...this.#members].every(member => member.isIdle)
  }

  /** Hands out what waits, unless it is held back. */
  tell(): void {
    for (const member of this.#members) member.pump()
  }

  /** Holds notices back until what it returns has been called, so that several transactions are one notice. */
  hold(): () => void {
    this.#holds++
    return () => {
      this.#holds--
      this.tell()
    }
  }
}
