import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/index.js'
import { HttpProblem } from './problem.js'

/** So many at once, and so many more each second. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** Nothing is limited on a loopback socket that is exempt from authentication. */
export interface Limits {
  /** Requests of one address, of any kind; an API server is one. Default 5,000/s, 10,000 at once. */
  readonly address?: Rate
  /** Requests of one authenticated caller, relays apart: their events are bounded. Default 100/s, 200 at once. */
  readonly caller?: Rate
  /** Refused credentials of one address; further ones are not looked at. Default 5/s, 50 at once. */
  readonly refusals?: Rate
}

export interface Limiter {
  /** Counts a request. Throws `too-many-requests`. */
  request(address: string): void
  /** Counts a request. Throws `too-many-requests`. */
  caller(name: string): void
  /** Throws `too-many-requests` where too many credentials of the address were refused. */
  attempt(address: string): void
  /** Counts refused credentials. */
  refusal(address: string): void
}

export function createLimiter(limits: Limits, clock: Clock): Limiter {
  const addresses = new Buckets(limits.address ?? { perSecond: 5_000, burst: 10_000 }, clock)
  const callers = new Buckets(limits.caller ?? { perSecond: 100, burst: 200 }, clock)
  const refusals = new Buckets(limits.refusals ?? { perSecond: 5, burst: 50 }, clock)
  return {
    request: address => refuse(addresses.take(address), 'requests of this address'),
    caller: name => refuse(callers.take(name), 'requests of this caller'),
    attempt: address => refuse(refusals.wait(address), 'refused credentials of this address'),
    refusal: address => void refusals.take(address),
  }
}

function refuse(waitSeconds: number, what: string): void {
  if (waitSeconds <= 0) return
  throw new HttpProblem('too-many-requests', `there are too many ${what}: try again later`, {
    headers: { 'retry-after': String(Math.ceil(waitSeconds)) },
  })
}

/** A token bucket for each key; the keys are bounded, and the one that was quiet longest begins anew. */
class Buckets {
  readonly #buckets = new LRUCache<string, { level: number; at: number }>({ max: 10_000 })
  readonly #rate: Rate
  readonly #clock: Clock

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate
    this.#clock = clock
  }

  /** Takes one; or takes none and answers in how many seconds there is one. */
  take(key: string): number {
    const bucket = this.#filled(key)
    if (bucket.level < 1) return this.#wait(bucket.level)
    bucket.level--
    return 0
  }

  wait(key: string): number {
    return this.#wait(this.#filled(key).level)
  }

  #wait(level: number): number {
    return level >= 1 ? 0 : (1 - level) / this.#rate.perSecond
  }

  #filled(key: string): { level: number; at: number } {
    const { perSecond, burst } = this.#rate
    const now = this.#clock.now()
    const bucket = this.#buckets.get(key) ?? { level: burst, at: now }
    bucket.level = Math.min(burst, bucket.level + (Math.max(0, now - bucket.at) / 1_000) * perSecond)
    bucket.at = now
    this.#buckets.set(key, bucket)
    return bucket
  }
}
