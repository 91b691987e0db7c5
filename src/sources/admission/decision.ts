import type { KubeObject, Locator, Problem } from '../../core/index.js'
import { kindIdOf, problemLine, systemClock } from '../../core/index.js'
import { kindOf } from '../../kinds/index.js'
import type { KindRow } from '../../kinds/index.js'
import { checkObject } from '../check.js'
import { certificateFindings, secretsOf } from './certificates.js'
import { crossChecks } from './checks.js'
import { Reads } from './reads.js'
import type { Surroundings } from './surroundings.js'
import { surroundingsOf, withFresh } from './surroundings.js'
import type { AdmissionOptions, AdmissionRequest, CrossCheck, Decision, Finding } from './types.js'
import { admitted, denied, isKubeObject, withHint } from './verdict.js'

const allowed: Decision = { verdict: { allowed: true } }

/**
 * Decides about one request; it has no effect. An object that is not valid is denied with every reason; what may still
 * come right is a warning. Kinds that are not in the table and subresources are none of its business. The answer is
 * there at once, unless something is read from the API server first.
 */
export function decideAdmission(
  request: AdmissionRequest,
  options: AdmissionOptions,
): Decision | Promise<Decision> {
  const { operation } = request
  const row = rowOf(request)
  if (row === undefined || operation === 'CONNECT') return allowed
  if (operation === 'DELETE') return withHint(allowed.verdict, request, row, request.oldObject)
  const { object, problems } = checkObject(request.object, options.check, {
    ...(operation === 'UPDATE' && isKubeObject(request.oldObject) && { oldObject: request.oldObject }),
  })
  const errors = problems.filter(isDenial)
  if (errors.length > 0 || object === undefined) return { verdict: denied(request, row, errors) }
  if (kindIdOf(object) !== row.id) return { verdict: denied(request, row, [otherKind(object, row)]) }
  const warnings = problems.filter(problem => !isDenial(problem)).map(problemLine)
  const conclude = ({ denials, oddities }: Outcome): Decision =>
    denials.length > 0
      ? { verdict: denied(request, row, denials) }
      : withHint(admitted([...warnings, ...oddities.map(problemLine)]), request, row, object)
  const outcome = askAround(object, row, options)
  return outcome instanceof Promise ? outcome.then(conclude) : conclude(outcome)
}

function otherKind(object: KubeObject, row: KindRow): Finding {
  return { path: 'kind', message: `Invalid value: "${object.kind}": the request is about a ${row.kind}` }
}

function rowOf({ kind: { group, version, kind }, subResource = '' }: AdmissionRequest): KindRow | undefined {
  if (subResource !== '') return undefined
  return kindOf({ apiVersion: group === '' ? version : `${group}/${version}`, kind })
}

/** The API server has dropped the fields that its schema does not know; those that ours does not know may be new. */
function isDenial({ severity, rule }: Problem): boolean {
  return severity === 'error' && rule !== 'unknown'
}

/** What other objects say of one. */
interface Outcome {
  readonly denials: readonly Finding[]
  readonly oddities: readonly Finding[]
}

const unknown: Finding = {
  path: '',
  message: 'other objects were not looked at: the first full list of them is not in yet',
}

function askAround(object: KubeObject, row: KindRow, options: AdmissionOptions): Outcome | Promise<Outcome> {
  const checks = (options.checks ?? crossChecks).filter(({ kinds }) => kinds.includes(row.id))
  if (checks.length === 0) return { denials: [], oddities: [] }
  if (options.complete === false) return { denials: [], oddities: [unknown] }
  const around = options.surroundings ?? surroundingsOf(options.snapshot)
  const asked = checks.map(check => ({ check, found: check.find(object, around) }))
  const secrets = options.read ? secretsOf(object, around) : []
  const rests = options.read ? restsOf(asked.flatMap(({ found }) => found)) : []
  if (rests.length + secrets.length === 0) {
    return { denials: [], oddities: asked.flatMap(({ found }) => found) }
  }
  return readOn({ object, around, asked, rests, secrets }, options)
}

/** The objects that denials rest on. */
function restsOf(findings: readonly Finding[]): readonly Locator[] {
  return [...new Set(findings.map(({ denies }) => denies).filter(key => key !== undefined))]
}

interface Case {
  readonly object: KubeObject
  readonly around: Surroundings
  readonly asked: readonly { readonly check: CrossCheck; readonly found: readonly Finding[] }[]
  readonly rests: readonly Locator[]
  readonly secrets: readonly Locator[]
}

/**
 * What has been found is looked at once more with what the API server has now. Only what rests on an object as it was
 * read denies; what could not be read is a warning, and certificates that could not be are passed over.
 */
async function readOn(
  { object, around, asked, rests, secrets }: Case,
  options: AdmissionOptions,
): Promise<Outcome> {
  const { read, timeoutMs = 10_000, clock = systemClock } = options
  const reads = new Reads(read as NonNullable<typeof read>, Math.min(1_000, timeoutMs / 2), clock)
  try {
    const fresh = await reads.all([...new Set([...rests, ...secrets])])
    const told = new Map(rests.filter(key => fresh.has(key)).map(key => [key, fresh.get(key)]))
    const seen = withFresh(around, told)
    const again = asked.flatMap(({ check, found }) =>
      restsOf(found).some(key => told.has(key)) ? check.find(object, seen) : found,
    )
    const isConfirmed = ({ denies }: Finding) => denies !== undefined && told.has(denies)
    return {
      denials: again.filter(isConfirmed),
      oddities: [
        ...again.filter(finding => !isConfirmed(finding)),
        ...(secrets.length > 0 ? certificateFindings(object, around, fresh, clock.now()) : []),
      ],
    }
  } finally {
    reads.end()
  }
}
