import type { Clock, KindId } from '../../core/index.js'

/** In ms: what was admitted when a flood came is written by then, or never. */
const settling = 3000

/** Kinds with more hints than can be read back one by one: each is listed now, and again while more of them come. */
export class Floods {
  readonly #clock: Clock
  readonly #list: (kind: KindId) => void
  readonly #open = new Map<KindId, { isHinted: boolean; cancel: () => void }>()

  constructor(clock: Clock, list: (kind: KindId) => void) {
    this.#clock = clock
    this.#list = list
  }

  begin(kind: KindId): void {
    if (this.take(kind)) return
    this.#list(kind)
    const cancel = this.#clock.after(settling, () => this.#end(kind))
    this.#open.set(kind, { isHinted: false, cancel })
  }

  /** Returns whether a hint of this kind needs no reading back, since the kind is listed anyway. */
  take(kind: KindId): boolean {
    const open = this.#open.get(kind)
    if (open) open.isHinted = true
    return open !== undefined
  }

  close(): void {
    for (const { cancel } of this.#open.values()) cancel()
    this.#open.clear()
  }

  #end(kind: KindId): void {
    const isHinted = this.#open.get(kind)?.isHinted
    this.#open.delete(kind)
    if (isHinted) this.begin(kind)
    else this.#list(kind)
  }
}
