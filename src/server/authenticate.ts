import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { systemClock } from '../core/index.js'
import { SeenSignatures, whyNotSigned } from '../sources/index.js'
import { openSecretFile } from './secret-file.js'
import type { SecretFileOptions } from './secret-file.js'

/** Who calls what, as far as a request tells. */
export interface Call {
  /** Of the operation; of the request where nothing is served. */
  readonly path: string
  /** HTTP method in lower case. */
  readonly verb: string
  readonly headers: IncomingHttpHeaders
  /** Of `Authorization: Bearer …`. */
  readonly token?: string
  /** What was shown in the TLS handshake. */
  readonly certificate?: { readonly subject: string; readonly refusal?: string }
  /** The bytes of the body; absent until an authenticator asks for them. */
  readonly body?: Uint8Array
}

/** Why a call is refused: `unauthenticated` = nobody knows the caller (401), `forbidden` = it may not (403). */
export interface Denial {
  readonly type: 'unauthenticated' | 'forbidden'
  readonly reason: string
}

/** The caller, who may; why it may not; `body` = ask again with the body; undefined = nothing was shown. */
export type Verdict = { readonly caller: string } | Denial | 'body' | undefined

/** One way to show who calls. Of several, any one that is content lets the caller in. */
export interface Authenticator {
  /** What a caller may show, for the text of a 401. */
  readonly offer: string
  /** Throws an `unavailable` HttpProblem when it cannot be known now: the caller is not let in then. */
  judge(call: Call): Verdict | Promise<Verdict>
}

/** Asks one after the other until one is content; else the most telling refusal of them. */
export async function judge(authenticators: readonly Authenticator[], call: Call): Promise<Verdict> {
  const others: Verdict[] = []
  for (const authenticator of authenticators) {
    const verdict = await authenticator.judge(call)
    if (typeof verdict === 'object' && 'caller' in verdict) return verdict
    others.push(verdict)
  }
  const denials = others.filter(each => typeof each === 'object')
  return (
    others.find(each => each === 'body') ??
    denials.find(each => 'type' in each && each.type === 'forbidden') ??
    denials[0]
  )
}

/** One fixed bearer token for everything; compared in constant time. */
export function bearerToken(expected: string): Authenticator {
  return tokenOf(() => Promise.resolve([expected]))
}

/** Bearer tokens of a file, one a line; read again when it changes. Throws SECRET_FILE_UNUSABLE. */
export async function staticToken(path: string, options: SecretFileOptions = {}): Promise<Authenticator> {
  const file = await openSecretFile(path, options)
  return tokenOf(() => file.lines())
}

function tokenOf(expected: () => Promise<readonly string[]>): Authenticator {
  return {
    offer: '`Authorization: Bearer <the server’s token>`',
    async judge({ token }) {
      if (token === undefined) return undefined
      const given = digest(token)
      const isKnown = (await expected()).some(each => timingSafeEqual(digest(each), given))
      if (isKnown) return { caller: 'the server’s token' }
      return { type: 'unauthenticated', reason: 'the bearer token is not the server’s' }
    },
  }
}

/** Bodies signed with a key of a file (one a line), see `signed`. Throws SECRET_FILE_UNUSABLE. */
export async function hmac(path: string, options: SecretFileOptions = {}): Promise<Authenticator> {
  const file = await openSecretFile(path, options)
  const { clock = systemClock } = options
  const seen = new SeenSignatures()
  return {
    offer:
      '`X-Gatewright-Timestamp` and `X-Gatewright-Signature` (HMAC-SHA256 of the timestamp, a dot and the body)',
    async judge({ headers, body }) {
      if (headers['x-gatewright-signature'] === undefined) return undefined
      if (body === undefined) return 'body'
      const reason = whyNotSigned(await file.lines(), headers, body, clock.now(), seen)
      if (reason === undefined) return { caller: 'the bearer of the HMAC key' }
      return { type: 'unauthenticated', reason: `the body is not to be believed: ${reason}` }
    },
  }
}

/** A client certificate that the client CA signed (`tls.clientCaFile`); TLS has verified it. */
export function clientCertificate(): Authenticator {
  return {
    offer: 'a client certificate of the client CA',
    judge({ certificate }) {
      if (certificate === undefined) return undefined
      const { subject, refusal } = certificate
      if (refusal === undefined) return { caller: subject }
      return { type: 'unauthenticated', reason: `the client certificate is not accepted: ${refusal}` }
    },
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
