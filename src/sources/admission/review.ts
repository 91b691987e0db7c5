import type { Problem } from '../../core/index.js'
import { isFields, textOf } from '../message.js'
import { decideAdmission } from './decision.js'
import type { AdmissionOptions, AdmissionRequest } from './types.js'
import type { Hint } from '../hint.js'

/** An answer to send, or why the review itself is malformed (HTTP 400). */
export type Reviewed = { readonly review: object; readonly hint?: Hint } | { readonly problem: Problem }

/** `decideAdmission` for a whole AdmissionReview v1 as it arrives. */
export async function reviewAdmission(body: unknown, options: AdmissionOptions): Promise<Reviewed> {
  const request = requestOf(body)
  if ('problem' in request) return request
  const { verdict, hint } = await decideAdmission(request, options)
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

/** The ms of `?timeout=10s`, which an API server puts on the address it asks; undefined for what is no such text. */
export function timeoutOf(text: string | undefined): number | undefined {
  const seconds = /^(\d{1,3})s$/.exec(text ?? '')?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
