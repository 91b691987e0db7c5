import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { boundAt, isLoopback } from './address.js'
import { judge } from './authenticate.js'
import type { Authenticator, Call, Denial, Verdict } from './authenticate.js'
import type { Limiter } from './limits.js'
import { HttpProblem } from './problem.js'
import type { Operation } from './specification.js'
import { createUnverified } from './unverified.js'

export interface AuthoriseOptions {
  readonly authenticators: readonly Authenticator[]
  /** Taken for `receiveWatch` too. */
  readonly relayAuthenticators: readonly Authenticator[]
  readonly loopbackExempt: boolean
  /** Nobody is asked for anything. */
  readonly open: boolean
  readonly limiter: Limiter
}

/**
 * Lets nobody in with whom no authenticator is content, except to open operations. On a socket that is bound to
 * loopback nobody is asked, but the request must have been meant for this machine: a foreign `Host` is DNS
 * rebinding and a foreign `Origin` another site's page. Without a socket (inject) the caller is this process.
 */
export function authorise(
  app: FastifyInstance,
  operations: ReadonlyMap<string, Operation>,
  options: AuthoriseOptions,
): void {
  const { limiter } = options
  const unverified = createUnverified()
  const operationFor = (request: FastifyRequest) => operations.get(operationOf(request) ?? '')
  const waysTo = (operation: Operation | undefined) =>
    operation?.id === 'receiveWatch'
      ? [...options.relayAuthenticators, ...options.authenticators]
      : options.authenticators

  const verdictOf = async (request: FastifyRequest, body?: Uint8Array): Promise<Verdict> => {
    const operation = operationFor(request)
    const ways = waysTo(operation)
    const verdict = (await judge(ways, callOf(request, operation, body))) ?? nothingShown(ways)
    if (verdict === 'body') return verdict
    if ('caller' in verdict) {
      if (operation?.id !== 'receiveWatch') limiter.caller(verdict.caller)
      return verdict
    }
    limiter.refusal(request.ip)
    throw deny(verdict)
  }
  app.addHook('onRequest', async request => {
    const local = app.addresses().every(address => isLoopback(boundAt(address)?.host ?? ''))
    if (local) refuseForeign(request)
    if (local && options.loopbackExempt) return
    limiter.request(request.ip)
    if (options.open || operationFor(request)?.open) return
    limiter.attempt(request.ip)
    if ((await verdictOf(request)) === 'body') unverified.expect(request)
  })
  app.addHook('preParsing', async (request, _reply, payload) => {
    if (!unverified.expects(request)) return payload
    return unverified.read(payload, operationFor(request)?.bodyLimit ?? 0, async body => {
      await verdictOf(request, body)
      return Readable.from([body])
    })
  })
}

/** The operation that a request was routed to. */
export function operationOf(request: FastifyRequest): string | undefined {
  return (request.routeOptions.config as { operation?: string } | undefined)?.operation
}

function callOf(request: FastifyRequest, operation?: Operation, body?: Uint8Array): Call {
  const { headers, method, url, socket } = request
  const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  const certificate = certificateOf(socket as Partial<TLSSocket>)
  return {
    // Not as it was asked for: /v1/%73tatus is routed as /v1/status.
    path: operation?.path ?? url.split('?', 1)[0] ?? '',
    // RBAC has no verb for HEAD: whoever may get may ask for the head.
    verb: method === 'HEAD' ? 'get' : method.toLowerCase(),
    headers,
    ...(token !== undefined && { token }),
    ...(certificate && { certificate }),
    ...(body && { body }),
  }
}

function certificateOf(socket: Partial<TLSSocket>): Call['certificate'] {
  const shown = socket.getPeerCertificate?.()
  if (shown === undefined || Object.keys(shown).length === 0) return undefined
  const subject = [shown.subject.CN].flat().join(', ') || shown.fingerprint256
  return socket.authorized ? { subject } : { subject, refusal: String(socket.authorizationError) }
}

/** Without an authenticator there are no credentials to show. */
function nothingShown(ways: readonly Authenticator[]): Denial {
  if (ways.length === 0) return { type: 'forbidden', reason: 'the server was started without credentials' }
  return { type: 'unauthenticated', reason: `send ${ways.map(({ offer }) => offer).join(', or ')}` }
}

function deny({ type, reason }: Denial): HttpProblem {
  const headers = type === 'unauthenticated' ? { 'www-authenticate': 'Bearer realm="gatewright"' } : {}
  return new HttpProblem(type, reason, { headers })
}

function refuseForeign(request: FastifyRequest): void {
  const { host, origin } = request.headers
  const reason = whyForeign(host, origin, request.protocol)
  if (reason !== undefined) throw new HttpProblem('foreign-host', reason)
}

function whyForeign(host: string | undefined, origin: string | undefined, protocol: string) {
  if (host !== undefined && !isLoopback(host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')))
    return 'the server listens on loopback only: call it as 127.0.0.1, [::1] or localhost'
  if (origin !== undefined && origin !== `${protocol}://${host ?? ''}`)
    return 'another site’s page may not call this server'
  return undefined
}
