import { equal } from '../collections/index.js'
import type { KubeObject } from '../core/index.js'
import { groups } from '../kinds/index.js'

interface OwnedEntry {
  readonly controllerName?: string
}

interface Status {
  readonly parents?: readonly OwnedEntry[]
  readonly ancestors?: readonly OwnedEntry[]
}

/** Nobody has checked what a status holds. */
type Stated = KubeObject & { readonly status?: Status | null }

function isOurs(entry: OwnedEntry | null): boolean {
  return String(entry?.controllerName).startsWith(`${groups.gatewright}/`)
}

/**
 * True when the two differ at most in what nobody derives anything from: managedFields, resourceVersion, and the
 * status that Gatewright itself writes. That is the entries of `status.parents` and `status.ancestors` with a
 * controllerName of ours, and the whole status of a GatewayClass, of a Gateway and of a kind of our own group.
 */
export function isSilent(before: KubeObject, after: KubeObject): boolean {
  return (
    before === after ||
    (agree(before, after, judgedApart) &&
      agree(before.metadata, after.metadata, unheard) &&
      equal(audibleStatus(before), audibleStatus(after)))
  )
}

const judgedApart: ReadonlySet<string> = new Set(['metadata', 'status'])
const unheard: ReadonlySet<string> = new Set(['resourceVersion', 'managedFields'])

/** Whether two objects are equal but for some fields. Copies nothing: this is asked of every change. */
function agree(a: object, b: object, aside: ReadonlySet<string>): boolean {
  const differs = (key: string) => !aside.has(key) && !equal(a[key as keyof object], b[key as keyof object])
  return !Object.keys(a).some(differs) && !Object.keys(b).some(key => !(key in a) && differs(key))
}

function audibleStatus({ apiVersion, kind, status }: Stated): object | undefined {
  if (typeof status !== 'object' || status === null || isWrittenByUs(apiVersion, kind)) return undefined
  const { parents, ancestors, ...rest } = status
  const foreign = [parents, ancestors].map(foreignEntries)
  const isEmpty = foreign.every(entries => entries.length === 0) && Object.keys(rest).length === 0
  return isEmpty ? undefined : { ...rest, foreign }
}

function foreignEntries(entries: unknown): readonly unknown[] {
  return Array.isArray(entries) ? entries.filter(entry => !isOurs(entry as OwnedEntry | null)) : []
}

function isWrittenByUs(apiVersion: string, kind: string): boolean {
  if (apiVersion.startsWith(`${groups.gatewright}/`)) return true
  return apiVersion.startsWith(`${groups.gatewayApi}/`) && (kind === 'Gateway' || kind === 'GatewayClass')
}
