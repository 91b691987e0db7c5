import { Fault } from '../core/index.js'

/** Every way a request can fail, by the last part of its `type`: a status and a title. */
export const problemTypes = {
  'invalid-request': [400, 'The request is not valid'],
  'invalid-body': [400, 'The body cannot be read'],
  unauthenticated: [401, 'Credentials are needed'],
  forbidden: [403, 'The caller may not do this'],
  'foreign-host': [403, 'The request was not meant for this server'],
  'not-found': [404, 'There is no such thing'],
  'method-not-allowed': [405, 'The path does not take this method'],
  'not-acceptable': [406, 'None of the accepted types can be answered'],
  'request-timeout': [408, 'The request took too long to arrive'],
  'body-too-large': [413, 'The body is too large'],
  'unsupported-media-type': [415, 'The content type is not taken here'],
  'too-many-events': [429, 'Too many events are waiting'],
  'too-many-requests': [429, 'Too many requests'],
  'header-too-large': [431, 'The headers are too large'],
  internal: [500, 'The server failed'],
  'not-ready': [503, 'Not ready yet'],
  unavailable: [503, 'A peer or the machine failed'],
  timeout: [503, 'The answer took too long'],
} as const satisfies Record<string, readonly [status: number, title: string]>

export type ProblemType = keyof typeof problemTypes

/** One field that is wrong. `path` as Kubernetes writes it; `''` = the whole. */
export interface FieldError {
  readonly in: 'query' | 'body' | 'header' | 'state'
  readonly path: string
  readonly message: string
}

/** application/problem+json, RFC 9457. */
export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance?: string
  readonly errors?: readonly FieldError[]
}

/** A request that cannot be answered; thrown by handlers and hooks, answered by the error handler. */
export class HttpProblem extends Error {
  readonly type: ProblemType
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>

  constructor(
    type: ProblemType,
    detail: string,
    more: {
      errors?: readonly FieldError[]
      headers?: Readonly<Record<string, string>>
      cause?: unknown
    } = {},
  ) {
    super(detail, { cause: more.cause })
    this.name = 'HttpProblem'
    this.type = type
    this.errors = more.errors ?? []
    this.headers = more.headers ?? {}
  }

  get statusCode(): number {
    return problemTypes[this.type][0]
  }

  body(instance?: string): ProblemBody {
    const [status, title] = problemTypes[this.type]
    return {
      type: `urn:gatewright:problem:${this.type}`,
      title,
      status,
      detail: this.message,
      ...(instance !== undefined && { instance }),
      ...(this.errors.length > 0 && { errors: this.errors }),
    }
  }
}

/** A problem of some fields; `detail` sums them up. */
export function fieldProblem(errors: readonly FieldError[]): HttpProblem {
  const detail = errors.map(({ in: part, path, message }) => `${[part, path].join(' ').trim()}: ${message}`)
  return new HttpProblem('invalid-request', detail.join('; '), { errors })
}

interface FastifyFailure extends Error {
  readonly code?: string
  readonly statusCode?: number
  readonly validation?: readonly AjvError[]
  readonly validationContext?: string
}

interface AjvError {
  readonly keyword: string
  readonly instancePath: string
  readonly message?: string
  readonly params: Readonly<Record<string, unknown>>
}

/** Whatever was thrown, as the problem to answer with. What nobody foresaw is `internal` and tells nothing. */
export function problemOf(thrown: unknown): HttpProblem {
  if (thrown instanceof HttpProblem) return thrown
  if (thrown instanceof Fault) return new HttpProblem('unavailable', thrown.message, { cause: thrown })
  if (!(thrown instanceof Error)) return internal(thrown)
  const failure = thrown as FastifyFailure
  if (failure.validation) return validationProblem(failure.validation, failure.validationContext)
  return knownFailure(failure) ?? internal(thrown)
}

function internal(cause: unknown): HttpProblem {
  const detail = 'an error of the server itself: look for the instance in its log, and please report it'
  return new HttpProblem('internal', detail, { cause })
}

function knownFailure({ code, statusCode = 500, message }: FastifyFailure): HttpProblem | undefined {
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new HttpProblem('body-too-large', 'the body exceeds the limit of this path: send it in parts')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HttpProblem('unsupported-media-type', 'the Content-Type is none that this path takes')
    case 'FST_ERR_HANDLER_TIMEOUT':
      return new HttpProblem('timeout', 'the state did not settle in time: try again', {
        headers: { 'retry-after': '1' },
      })
  }
  if (statusCode < 400 || statusCode >= 500) return undefined
  return code?.startsWith('FST_ERR_CTP') || statusCode === 400
    ? new HttpProblem('invalid-body', message)
    : new HttpProblem('invalid-request', message)
}

const parts: Readonly<Record<string, FieldError['in']>> = { querystring: 'query', headers: 'header' }

function validationProblem(found: readonly AjvError[], context = 'body'): HttpProblem {
  const errors = found
    .filter(({ keyword }) => keyword !== 'if')
    .map(error => ({ in: parts[context] ?? 'body', path: fieldPath(error), message: fieldMessage(error) }))
  return fieldProblem(errors)
}

function fieldMessage({ keyword, params, message = 'is not valid' }: AjvError): string {
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`
  if (keyword === 'const') return `must be ${String(params['allowedValue'])}`
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties') return 'is not known here'
  return message
}

/** `/request/object/items/0` and a missing `name` give `request.object.items[0].name`. */
function fieldPath({ instancePath, params }: AjvError): string {
  const steps = instancePath
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = params['missingProperty'] ?? params['additionalProperty']
  if (typeof last === 'string') steps.push(last)
  return steps
    .map(step => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}
