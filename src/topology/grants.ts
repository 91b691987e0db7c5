import { kindId, type KindId } from '../core/index.js'
import type { Collection, Context, Engine, Index } from '../collections/index.js'
import type { ReferenceGrant } from '../kinds/index.js'
import type { Reason } from './types.js'

/** Who asks for a reference across namespaces. */
export interface ReferenceFrom {
  readonly kind: KindId
  readonly namespace: string
}

/** What is referred to. */
export interface ReferenceTo {
  readonly kind: KindId
  readonly namespace: string
  readonly name: string
}

/** The ReferenceGrants by what they allow: one value per pair of `from` and `to`. */
export type Grants = Index<ReferenceGrant>

export function indexGrants(engine: Engine, grants: Collection<ReferenceGrant>): Grants {
  return engine.index('grants', grants, grant => pairsOf(grant))
}

function* pairsOf(grant: ReferenceGrant): Iterable<string> {
  const namespace = grant.metadata.namespace ?? ''
  for (const from of grant.spec.from) {
    const asker = { kind: kindId(from.group, from.kind), namespace: from.namespace }
    for (const to of grant.spec.to) {
      yield pair(asker, kindId(to.group, to.kind), namespace, to.name === '' ? undefined : to.name)
    }
  }
}

/** `*` stands for a grant of a whole kind; no object can have that name. */
function pair(from: ReferenceFrom, kind: KindId, namespace: string, name = '*'): string {
  return `${from.kind}:${from.namespace}>${kind}:${namespace}/${name}`
}

/** RefNotPermitted unless both are in one namespace or a ReferenceGrant beside `to` allows it (ReferenceGrantSpec). */
export function whyNotGranted(
  context: Context,
  grants: Grants,
  from: ReferenceFrom,
  to: ReferenceTo,
): Reason | undefined {
  if (from.namespace === to.namespace) return undefined
  const byName = context.count(grants, pair(from, to.kind, to.namespace, to.name))
  if (byName + context.count(grants, pair(from, to.kind, to.namespace)) > 0) return undefined
  return {
    reason: 'RefNotPermitted',
    message: `no ReferenceGrant in namespace ${to.namespace} allows ${from.kind} of ${from.namespace} to refer to ${to.kind} ${to.name}`,
  }
}
