import { createHash } from 'node:crypto'
import { silentLog, systemClock } from '../core/index.js'
import type { Clock, Log, Metrics } from '../core/index.js'
import type { Access, Caller, KubeClient } from '../kube/index.js'
import { Answers } from './answers.js'
import type { Authenticator } from './authenticate.js'
import { HttpProblem } from './problem.js'

export interface KubeAuthoriserOptions {
  readonly client: Pick<KubeClient, 'reviewToken' | 'whyNotAllowed'>
  /** Tokens must be meant for one of them. Default: whatever the API server takes for itself. */
  readonly audiences?: readonly string[]
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics: Metrics
}

/** ms that an answer of the API server counts: so long a withdrawn token or role still works. */
const [allowedMs, refusedMs] = [60_000, 10_000]

/**
 * Bearer tokens that the API server knows (TokenReview), each for the paths and verbs that its RBAC allows
 * (SubjectAccessReview of a non-resource URL). While the API server cannot be asked, nobody is let in: 503.
 */
export function createKubeAuthoriser(options: KubeAuthoriserOptions): Authenticator {
  const { client, audiences, clock = systemClock, log = silentLog, metrics } = options
  const reviews = metrics.counter('authorisation_reviews_total', 'Reviews by the API server', [
    'review',
    'result',
  ])
  const callers = new Answers<Caller | undefined>(1_000, clock)
  const refusals = new Answers<string | undefined>(5_000, clock)
  const inMs = (ms: number) => clock.now() + ms

  const asked = async <T>(review: string, answer: Promise<T>, isGood: (answer: T) => boolean): Promise<T> => {
    try {
      const known = await answer
      reviews.inc({ review, result: isGood(known) ? 'allowed' : 'refused' })
      return known
    } catch (cause) {
      reviews.inc({ review, result: 'failed' })
      log.warn({ review, error: (cause as Error).message }, 'the API server cannot say who calls')
      throw unavailable(cause)
    }
  }
  const callerOf = (key: string, token: string) =>
    callers.get(
      key,
      () => asked('token', client.reviewToken(token, audiences), caller => caller !== undefined),
      caller => (caller ? Math.min(inMs(allowedMs), expiryOf(token)) : inMs(refusedMs)),
    )
  const whyNot = (key: string, caller: Caller, access: Access) =>
    refusals.get(
      `${key} ${access.verb} ${access.path}`,
      () => asked('access', client.whyNotAllowed(caller, access), reason => reason === undefined),
      reason => inMs(reason === undefined ? allowedMs : refusedMs),
    )
  return {
    offer: '`Authorization: Bearer <a token of the cluster>`, as `kubectl create token` gives',
    async judge({ token, path, verb }) {
      if (token === undefined) return undefined
      // The token itself is not kept.
      const key = createHash('sha256').update(token).digest('base64')
      const caller = await callerOf(key, token)
      if (!caller) return { type: 'unauthenticated', reason: 'the API server does not know the bearer token' }
      const reason = await whyNot(key, caller, { path, verb })
      return reason === undefined ? { caller: caller.username } : { type: 'forbidden', reason }
    },
  }
}

function unavailable(cause: unknown): HttpProblem {
  return new HttpProblem('unavailable', 'the API server cannot be asked who the caller is: try again', {
    headers: { 'retry-after': '1' },
    cause,
  })
}

/** `exp` of a JWT in ms; a token that is none ends with what is kept of it. */
function expiryOf(token: string): number {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as unknown
    const { exp } = claims as { exp?: unknown }
    return typeof exp === 'number' ? exp * 1_000 : Infinity
  } catch {
    return Infinity
  }
}
