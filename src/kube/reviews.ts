import type { Connection } from './connection.js'
import { kubeErrorOf } from './errors.js'
import type { Access, Caller } from './types.js'

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean
    readonly audiences?: readonly string[]
    readonly user?: {
      readonly username?: string
      readonly uid?: string
      readonly groups?: readonly string[]
      readonly extra?: Readonly<Record<string, readonly string[]>>
    }
  }
}

interface SubjectAccessReview {
  readonly status?: {
    readonly allowed?: boolean
    readonly reason?: string
    readonly evaluationError?: string
  }
}

export async function reviewToken(
  connection: Connection,
  token: string,
  audiences: readonly string[] = [],
): Promise<Caller | undefined> {
  const spec = { token, ...(audiences.length > 0 && { audiences }) }
  const { status } = await review<TokenReview>(connection, 'authentication.k8s.io', 'TokenReview', spec)
  // An authenticator that knows nothing of audiences answers none (TokenReview: audiences).
  const isMeant = audiences.length === 0 || audiences.some(audience => status?.audiences?.includes(audience))
  return status?.authenticated === true && isMeant ? callerOf(status.user) : undefined
}

function callerOf(user: NonNullable<TokenReview['status']>['user'] = {}): Caller | undefined {
  const { username, uid, groups = [], extra } = user
  if (username === undefined) return undefined
  return { username, groups, ...(uid !== undefined && { uid }), ...(extra && { extra }) }
}

export async function whyNotAllowed(
  connection: Connection,
  { username, uid, groups, extra }: Caller,
  { path, verb }: Access,
): Promise<string | undefined> {
  const nonResourceAttributes = { path, verb }
  const spec = { user: username, uid, groups, extra, nonResourceAttributes }
  const { status } = await review<SubjectAccessReview>(
    connection,
    'authorization.k8s.io',
    'SubjectAccessReview',
    spec,
  )
  if (status?.allowed === true) return undefined
  return `${username} may not ${verb} ${path}: bind a ClusterRole with that nonResourceURL and verb to it`
}

async function review<T>(connection: Connection, group: string, kind: string, spec: object): Promise<T> {
  const path = `/apis/${group}/v1/${kind.toLowerCase()}s`
  const body = { apiVersion: `${group}/v1`, kind, spec }
  const answer = await connection.ask({ method: 'POST', path, body, signal: AbortSignal.timeout(10_000) })
  if (answer.status !== 200 && answer.status !== 201)
    throw kubeErrorOf(answer.status, answer.body, `POST ${path}`)
  return answer.body as T
}
