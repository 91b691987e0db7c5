import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { boundAt, isLoopback } from './address.js'
import { HttpProblem } from './problem.js'
import type { Operation } from './specification.js'

/** Who calls what. */
export interface Call {
  /** Of `Authorization: Bearer …`. */
  readonly token?: string
  /** `operationId`; absent where nothing is served. */
  readonly operation?: string
}

/** Why a call is refused: `unauthenticated` = nobody knows the caller (401), `forbidden` = it may not (403). */
export interface Denial {
  readonly type: 'unauthenticated' | 'forbidden'
  readonly reason: string
}

/** Says why a caller may not, or nothing. TokenReview and SubjectAccessReview come in here. */
export type Authoriser = (call: Call) => Denial | undefined | Promise<Denial | undefined>

/** One fixed bearer token for everything; compared in constant time. */
export function bearerToken(expected: string): Authoriser {
  const wanted = digest(expected)
  return ({ token }) => {
    if (token === undefined)
      return {
        type: 'unauthenticated',
        reason: 'send `Authorization: Bearer <token>` with the server’s token',
      }
    if (!timingSafeEqual(digest(token), wanted))
      return { type: 'unauthenticated', reason: 'the bearer token is not the server’s' }
    return undefined
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * Lets nobody in whom the authoriser refuses, except to open operations. On a socket that is bound to loopback
 * nobody is asked, but the request must have been meant for this machine: a foreign `Host` is DNS rebinding and
 * a foreign `Origin` another site's page. Without a socket (inject) the caller is this process.
 */
export function authorise(
  app: FastifyInstance,
  operations: ReadonlyMap<string, Operation>,
  options: { authoriser?: Authoriser; loopbackExempt: boolean },
): void {
  const authoriser = options.authoriser ?? nobody
  app.addHook('onRequest', async request => {
    const local = app.addresses().every(address => isLoopback(boundAt(address)?.host ?? ''))
    if (local) refuseForeign(request)
    if (local && options.loopbackExempt) return
    const operation = operationOf(request)
    if (operation !== undefined && operations.get(operation)?.open) return
    const denial = await authoriser(callOf(request, operation))
    if (denial) throw deny(denial)
  })
}

/** Without an authoriser there are no credentials to show. */
const nobody: Authoriser = () => ({ type: 'forbidden', reason: 'the server was started without credentials' })

/** The operation that a request was routed to. */
export function operationOf(request: FastifyRequest): string | undefined {
  return (request.routeOptions.config as { operation?: string } | undefined)?.operation
}

function callOf(request: FastifyRequest, operation: string | undefined): Call {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  return { ...(token !== undefined && { token }), ...(operation !== undefined && { operation }) }
}

function deny({ type, reason }: Denial): HttpProblem {
  const headers = type === 'unauthenticated' ? { 'www-authenticate': 'Bearer realm="gatewright"' } : {}
  return new HttpProblem(type, reason, { headers })
}

function refuseForeign(request: FastifyRequest): void {
  const { host, origin } = request.headers
  const reason = whyForeign(host, origin)
  if (reason !== undefined) throw new HttpProblem('foreign-host', reason)
}

function whyForeign(host: string | undefined, origin: string | undefined): string | undefined {
  if (host !== undefined && !isLoopback(host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')))
    return 'the server listens on loopback only: call it as 127.0.0.1, [::1] or localhost'
  if (origin !== undefined && origin !== `http://${host ?? ''}`)
    return 'another site’s page may not call this server'
  return undefined
}
