import type { KubeObject, Locator, Problem } from '../../core/index.js'
import { locator } from '../../core/index.js'
import { kindOf } from '../../kinds/index.js'
import type { KindRow } from '../../kinds/index.js'
import type { Snapshot } from '../../store/index.js'
import type { Check } from '../check.js'
import { checkObject } from '../check.js'
import type { Hint } from '../hint.js'
import { isFields, textOf } from '../message.js'
import type { CrossCheck } from './references.js'
import { crossChecks } from './references.js'

/** `request` of an AdmissionReview (admission.k8s.io/v1), as far as it is read. */
export interface AdmissionRequest {
  readonly uid: string
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string }
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly namespace?: string
  readonly name?: string
  readonly subResource?: string
  readonly dryRun?: boolean
  readonly object?: object | null
  readonly oldObject?: object | null
}

/** `response` of an AdmissionReview, without the uid. */
export interface AdmissionVerdict {
  readonly allowed: boolean
  readonly status?: AdmissionStatus
  readonly warnings?: readonly string[]
}

/** meta/v1 Status, as the API server itself answers for an invalid object. */
export interface AdmissionStatus {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details: {
    readonly group: string
    readonly kind: string
    readonly name: string
    readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[]
  }
}

export interface Decision {
  readonly verdict: AdmissionVerdict
  /** Where something is likely to change now; it is no fact. */
  readonly hint?: Hint
}

export interface AdmissionOptions {
  readonly snapshot: Snapshot
  readonly check?: Check
  /** Default: {@link crossChecks}. */
  readonly checks?: readonly CrossCheck[]
}

const allowed: Decision = { verdict: { allowed: true } }

/**
 * Decides about one request; it has no effect. An object that is not valid is denied with every reason; what only
 * rests on other objects is a warning. Kinds that are not in the table and subresources are none of its business.
 */
export function decideAdmission(request: AdmissionRequest, options: AdmissionOptions): Decision {
  const { operation } = request
  const row = rowOf(request)
  if (row === undefined || operation === 'CONNECT') return allowed
  if (operation === 'DELETE') return withHint(allowed.verdict, request, row, request.oldObject)
  const { object, problems } = checkObject(request.object, options.check, {
    ...(operation === 'UPDATE' && isKubeObject(request.oldObject) && { oldObject: request.oldObject }),
  })
  const errors = problems.filter(isDenial)
  if (errors.length > 0 || object === undefined) return { verdict: denial(request, row, errors) }
  const warnings = [
    ...problems.filter(problem => !isDenial(problem)).map(line),
    ...(options.checks ?? crossChecks).flatMap(({ reasons }) => reasons(object, options.snapshot)),
  ]
  const verdict = warnings.length === 0 ? allowed.verdict : { allowed: true, warnings }
  return withHint(verdict, request, row, object)
}

function rowOf({ kind: { group, version, kind }, subResource = '' }: AdmissionRequest): KindRow | undefined {
  if (subResource !== '') return undefined
  return kindOf({ apiVersion: group === '' ? version : `${group}/${version}`, kind })
}

/** The API server has dropped the fields that its schema does not know; those that ours does not know may be new. */
function isDenial({ severity, rule }: Problem): boolean {
  return severity === 'error' && rule !== 'unknown'
}

function isKubeObject(value: object | null | undefined): value is KubeObject {
  return isFields(value) && isFields(value['metadata'])
}

function withHint(
  verdict: AdmissionVerdict,
  request: AdmissionRequest,
  row: KindRow,
  object: object | null | undefined,
): Decision {
  if (request.dryRun === true) return { verdict }
  const metadata = isKubeObject(object) ? object.metadata : undefined
  const key = keyOf(request, row, metadata)
  if (key === undefined) return { verdict }
  const uid = metadata?.uid
  const hint = { kind: row.id, key, operation: request.operation, ...(uid !== undefined && { uid }) }
  return { verdict, hint }
}

function keyOf(
  request: AdmissionRequest,
  row: KindRow,
  metadata: KubeObject['metadata'] | undefined,
): Locator | undefined {
  const name = metadata?.name ?? request.name
  const namespace = row.namespaced ? (metadata?.namespace ?? request.namespace) : undefined
  return name === undefined || name === '' ? undefined : locator(row.id, namespace, name)
}

function denial(request: AdmissionRequest, row: KindRow, errors: readonly Problem[]): AdmissionVerdict {
  const name =
    request.name ?? (isKubeObject(request.object) ? textOf({ ...request.object.metadata }, 'name') : '') ?? ''
  const [only, ...others] = errors.map(line)
  const why = others.length === 0 ? (only ?? 'it has no name') : `[${[only, ...others].join(', ')}]`
  const kind = row.group === '' ? row.kind : `${row.kind}.${row.group}`
  return {
    allowed: false,
    status: {
      code: 422,
      reason: 'Invalid',
      message: `${kind} "${name}" is invalid: ${why}`,
      details: { group: row.group, kind: row.kind, name, causes: errors.map(cause) },
    },
  }
}

function line({ path, message }: Problem): string {
  return path === '' ? message : `${path}: ${message}`
}

/** field.ErrorType of apimachinery, which its messages begin with. */
const reasons: readonly (readonly [string, string])[] = [
  ['Required value', 'FieldValueRequired'],
  ['Duplicate value', 'FieldValueDuplicate'],
  ['Unsupported value', 'FieldValueNotSupported'],
  ['Forbidden', 'FieldValueForbidden'],
  ['Too long', 'FieldValueTooLong'],
  ['Too many', 'FieldValueTooMany'],
]

function cause({ path, message }: Problem): AdmissionStatus['details']['causes'][number] {
  const reason = reasons.find(([words]) => message.startsWith(words))?.[1] ?? 'FieldValueInvalid'
  return { reason, message, field: path }
}

/** An answer to send, or why the review itself is malformed (HTTP 400). */
export type Reviewed = { readonly review: object; readonly hint?: Hint } | { readonly problem: Problem }

/** {@link decideAdmission} for a whole AdmissionReview v1 as it arrives. */
export function reviewAdmission(body: unknown, options: AdmissionOptions): Reviewed {
  const request = requestOf(body)
  if ('problem' in request) return request
  const { verdict, hint } = decideAdmission(request, options)
  const response = { uid: request.uid, ...verdict }
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }
  return hint === undefined ? { review } : { review, hint }
}

function requestOf(body: unknown): AdmissionRequest | { readonly problem: Problem } {
  if (!isFields(body) || body['kind'] !== 'AdmissionReview' || body['apiVersion'] !== 'admission.k8s.io/v1') {
    return malformed('', 'the body must be an AdmissionReview of admission.k8s.io/v1')
  }
  const { request } = body
  if (!isFields(request)) return malformed('request', 'Required value')
  if (textOf(request, 'uid') === undefined) return malformed('request.uid', 'Required value')
  const { kind } = request
  const isKind = isFields(kind) && ['group', 'version', 'kind'].every(name => typeof kind[name] === 'string')
  if (!isKind) return malformed('request.kind', 'it must have group, version and kind')
  if (!operations.has(request['operation'])) {
    return malformed('request.operation', `it must be one of ${[...operations].join(', ')}`)
  }
  return request as unknown as AdmissionRequest
}

const operations: ReadonlySet<unknown> = new Set(['CREATE', 'UPDATE', 'DELETE', 'CONNECT'])

function malformed(path: string, message: string): { readonly problem: Problem } {
  return { problem: { severity: 'error', path, message, rule: 'schema' } }
}
