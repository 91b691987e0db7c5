/** A value that does not fit its message: a bug of whoever built it. Says where and why; shows no secret text. */
export class Misfit extends Error {
  #path = ''
  readonly #why: string

  constructor(why: string) {
    super(why)
    this.name = 'Misfit'
    this.#why = why
  }

  /** Field path below the message encoded: `virtual_hosts[0].routes[3].match.prefix`. */
  get path(): string {
    return this.#path
  }

  /** Puts the step that led here before the path. */
  inside(step: string | number): this {
    const own = typeof step === 'number' ? `[${step}]` : step
    this.#path = this.#path === '' || this.#path.startsWith('[') ? own + this.#path : `${own}.${this.#path}`
    this.message = `${this.#path}: ${this.#why}`
    return this
  }
}

/** Says what was expected, and only the type of what came: the value may be a secret. */
export function misfit(expected: string, value: unknown): Misfit {
  return new Misfit(`${expected}, not ${Array.isArray(value) ? 'a list' : describe(value)}`)
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `this ${typeof value}`
}

/** The same error with the step before its path; other errors as they are. */
export function inside(error: unknown, step: string | number): unknown {
  return error instanceof Misfit ? error.inside(step) : error
}
