import type { KubeObject, Locator, Problem } from '../../core/index.js'
import { locator, problemLine } from '../../core/index.js'
import type { KindRow } from '../../kinds/index.js'
import { isFields, textOf } from '../message.js'
import type { AdmissionRequest, AdmissionStatus, AdmissionVerdict, Decision } from './types.js'

export function isKubeObject(value: object | null | undefined): value is KubeObject {
  return isFields(value) && isFields(value['metadata'])
}

/** So many warnings are told, and how many more there are. */
const most = 12

/** The object may come in, with what is odd about it. */
export function admitted(warnings: readonly string[]): AdmissionVerdict {
  if (warnings.length === 0) return { allowed: true }
  const more = warnings.length - most
  const told = more > 0 ? [...warnings.slice(0, most), `and ${more} more`] : warnings
  return { allowed: true, warnings: told }
}

/** Where something is likely to change now, unless the request is a dry run. */
export function withHint(
  verdict: AdmissionVerdict,
  request: AdmissionRequest,
  row: KindRow,
  object: object | null | undefined,
): Decision {
  if (request.dryRun === true) return { verdict }
  const metadata = isKubeObject(object) ? object.metadata : undefined
  const key = locatorIn(request, row, metadata)
  if (key === undefined) return { verdict }
  const uid = metadata?.uid
  const hint = { kind: row.id, key, operation: request.operation, ...(uid !== undefined && { uid }) }
  return { verdict, hint }
}

/** An API server has made a name of `generateName` before it asks; without one there is nothing to read back. */
function locatorIn(
  request: AdmissionRequest,
  row: KindRow,
  metadata: KubeObject['metadata'] | undefined,
): Locator | undefined {
  const name = metadata?.name ?? request.name
  const namespace = row.namespaced ? (metadata?.namespace ?? request.namespace) : undefined
  return name === undefined || name === '' ? undefined : locator(row.id, namespace, name)
}

/** The answer that the API server itself gives for an invalid object. */
export function denied(
  request: AdmissionRequest,
  row: KindRow,
  errors: readonly Pick<Problem, 'path' | 'message'>[],
): AdmissionVerdict {
  const name =
    request.name ?? (isKubeObject(request.object) ? textOf({ ...request.object.metadata }, 'name') : '') ?? ''
  const [only, ...others] = errors.map(problemLine)
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

/** field.ErrorType of apimachinery, which its messages begin with. */
const reasons: readonly (readonly [string, string])[] = [
  ['Required value', 'FieldValueRequired'],
  ['Duplicate value', 'FieldValueDuplicate'],
  ['Unsupported value', 'FieldValueNotSupported'],
  ['Forbidden', 'FieldValueForbidden'],
  ['Too long', 'FieldValueTooLong'],
  ['Too many', 'FieldValueTooMany'],
]

type Cause = AdmissionStatus['details']['causes'][number]

function cause({ path, message }: Pick<Problem, 'path' | 'message'>): Cause {
  const reason = reasons.find(([words]) => message.startsWith(words))?.[1] ?? 'FieldValueInvalid'
  return { reason, message, field: path }
}
