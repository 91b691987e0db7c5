import type { KindId, KubeObject } from '../core/index.js'
import { kindId } from '../core/index.js'
import type { Gateway, ReferenceGrant } from '../kinds/index.js'
import { groups } from '../kinds/index.js'
import type { Node, Reference } from './node.js'
import type { Found, Route, Rule } from './routes.js'
import { mirrorRefs } from './routes.js'

/** What a grant permits, each as an alias: from which kind and namespace, to which kind and perhaps name. */
export function permits(object: KubeObject): readonly string[] {
  const { namespace = '' } = object.metadata
  const { from, to } = (object as ReferenceGrant).spec
  const aliases = from.flatMap(source =>
    to.map(target =>
      permission(
        { kind: kindId(source.group, source.kind), namespace: source.namespace },
        { kind: kindId(target.group, target.kind), namespace, name: target.name ?? '*' },
      ),
    ),
  )
  return [...new Set(aliases)]
}

interface Place {
  readonly kind: KindId
  readonly namespace: string
}

function permission(from: Place, to: Place & { readonly name: string }): string {
  return `grant ${from.kind}:${from.namespace} -> ${to.kind}:${to.namespace}/${to.name}`
}

/** The grants for the backends and mirrors of a route's rule that are in other namespaces. */
export function grantsForBackends(route: Node): Reference[] {
  const rules = (route.object as Route).spec.rules ?? []
  if (rules.every(staysHome)) return []
  return rules.flatMap((rule, i) => {
    const field = `spec.rules[${i}]`
    const backends = (rule.backendRefs ?? []).map((ref, j) => ({ ref, at: `${field}.backendRefs[${j}]` }))
    return [...backends, ...mirrorRefs(rule, field)].flatMap(found => grantsFor(route, 'Service', found))
  })
}

/** A first look, since nearly all rules do: no filters, and backends that name no namespace. */
function staysHome({ filters, backendRefs = [] }: Rule): boolean {
  return !filters && backendRefs.every(ref => ref.namespace === undefined && !ref.filters)
}

/** The grants for the certificates of a Gateway's listeners that are in other namespaces. */
export function grantsForCertificates(gateway: Node): Reference[] {
  const listeners = (gateway.object as Gateway).spec.listeners
  return listeners.flatMap(({ tls }, i) =>
    (tls?.certificateRefs ?? []).flatMap((ref, j) =>
      grantsFor(gateway, 'Secret', { ref, at: `spec.listeners[${i}].tls.certificateRefs[${j}]` }),
    ),
  )
}

function grantsFor(node: Node, defaultKind: string, { ref, at }: Found): Reference[] {
  const { kindId: kind, namespace = '' } = node
  if (ref.namespace === undefined || ref.namespace === namespace) return []
  const to = { kind: kindId(ref.group ?? groups.core, ref.kind ?? defaultKind), namespace: ref.namespace }
  return ['*', ref.name].map(name => ({
    to: permission({ kind, namespace }, { ...to, name }),
    field: at,
  }))
}
