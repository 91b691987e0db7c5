import { inspect } from 'node:util'
import type { SecretText } from './types.js'

/** A text that every way of printing shows as `[redacted]`. */
class Redacted implements SecretText {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  reveal(): string {
    return this.#text
  }
  toJSON(): '[redacted]' {
    return '[redacted]'
  }
  toString(): '[redacted]' {
    return '[redacted]'
  }
  [inspect.custom](): '[redacted]' {
    return '[redacted]'
  }
}

/** Wraps a secret so that logs, dumps and goldens show `[redacted]`. */
export function secretText(text: string): SecretText {
  return new Redacted(text)
}
