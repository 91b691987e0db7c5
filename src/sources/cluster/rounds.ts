/** Lists in rounds: never two at once, so that none can overtake another. Who asks during a round shares the next. */
export class Rounds<Kind, Report> {
  readonly #run: (kinds: readonly Kind[]) => Promise<Report>
  #running = false
  #next:
    { readonly kinds: Set<Kind>; readonly report: Promise<Report>; readonly begin: () => void } | undefined

  constructor(run: (kinds: readonly Kind[]) => Promise<Report>) {
    this.#run = run
  }

  ask(kinds: readonly Kind[]): Promise<Report> {
    if (!this.#running) return this.#begin(kinds)
    this.#next ??= this.#later()
    for (const kind of kinds) this.#next.kinds.add(kind)
    return this.#next.report
  }

  #later() {
    const kinds = new Set<Kind>()
    let begin: () => void = () => undefined
    const report = new Promise<void>(resolve => (begin = resolve)).then(() => this.#begin([...kinds]))
    return { kinds, report, begin }
  }

  async #begin(kinds: readonly Kind[]): Promise<Report> {
    this.#running = true
    try {
      return await this.#run(kinds)
    } finally {
      const next = this.#next
      this.#next = undefined
      this.#running = next !== undefined
      next?.begin()
    }
  }
}
