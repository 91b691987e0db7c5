import { createHmac, timingSafeEqual } from 'node:crypto'

/** How a sender that has the key shows that a body is its own, and of now. */
export interface SignatureHeaders {
  /** ms since the epoch. */
  readonly 'x-gatewright-timestamp': string
  /** `sha256=<hex HMAC-SHA256(key, timestamp + "." + raw body)>`. */
  readonly 'x-gatewright-signature': string
}

/** Signatures that were accepted, each kept for as long as it could be accepted again. */
export class SeenSignatures {
  readonly #until = new Map<string, number>()

  /** Remembers a signature until `until` (ms); false when it is known already. */
  take(signature: string, until: number, now: number): boolean {
    if (this.#until.has(signature)) return false
    // They come in nearly the order of their times, so the first that still counts ends the clearing.
    for (const [old, end] of this.#until) {
      if (end >= now) break
      this.#until.delete(old)
    }
    this.#until.set(signature, until)
    return true
  }
}

/** In ms: how far the clocks of sender and receiver may be apart, the way included. */
const tolerance = 5 * 60_000

/** The headers that sign a body, now (ms since the epoch). Each try of a request is signed anew. */
export function signed(key: string | Uint8Array, body: string | Uint8Array, now: number): SignatureHeaders {
  const timestamp = String(now)
  return {
    'x-gatewright-timestamp': timestamp,
    'x-gatewright-signature': `sha256=${hmac(key, timestamp, body).toString('hex')}`,
  }
}

/**
 * Why a request is not to be believed by its signature; undefined when it is of one of the keys. An accepted signature is
 * used up.
 */
export function whyNotSigned(
  keys: readonly (string | Uint8Array)[],
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  rawBody: string | Uint8Array,
  now: number,
  seen: SeenSignatures,
): string | undefined {
  const [timestamp, signature] = [headers['x-gatewright-timestamp'], headers['x-gatewright-signature']]
  if (typeof timestamp !== 'string' || typeof signature !== 'string') return 'it is not signed'
  if (!/^\d{1,15}$/.test(timestamp)) return 'its timestamp is no number of milliseconds'
  const [, given] = /^sha256=([0-9a-f]{64})$/.exec(signature) ?? []
  if (given === undefined) return 'its signature is not sha256= and 64 hexadecimal digits'
  const bytes = Buffer.from(given, 'hex')
  if (!keys.some(key => timingSafeEqual(hmac(key, timestamp, rawBody), bytes)))
    return 'its signature is not of this key'
  const at = Number(timestamp)
  if (Math.abs(now - at) > tolerance) return 'its timestamp is more than 5 min away from now'
  return seen.take(given, at + tolerance, now) ? undefined : 'its signature was used before'
}

function hmac(key: string | Uint8Array, timestamp: string, body: string | Uint8Array): Buffer {
  return createHmac('sha256', key).update(`${timestamp}.`).update(body).digest()
}
