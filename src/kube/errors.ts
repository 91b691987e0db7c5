/** An answer of the API server that is none to build on (meta/v1 Status, as far as it came). */
export class KubeError extends Error {
  /** HTTP status; 410 also where a watch says in its stream that the version is too old. */
  readonly code: number
  /** `Forbidden`, `Expired`, …; `''` when the server gave none. */
  readonly reason: string

  constructor(code: number, reason: string, message: string) {
    super(message)
    this.name = 'KubeError'
    this.code = code
    this.reason = reason
  }
}

interface Status {
  readonly code?: unknown
  readonly reason?: unknown
  readonly message?: unknown
}

/** @param what - the request, for example `GET /api/v1/services` */
export function kubeErrorOf(code: number, body: unknown, what: string): KubeError {
  const status: Status = typeof body === 'object' && body !== null ? body : {}
  const message = typeof status.message === 'string' ? status.message : 'the server gave no reason'
  const reason = typeof status.reason === 'string' ? status.reason : ''
  return new KubeError(code, reason, `${what} answered ${code}: ${message.slice(0, 500)}`)
}
