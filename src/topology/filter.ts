import type { Node, Role } from './node.js'
import type { Slot } from './slots.js'

/** Which nodes: those that meet everything given. */
export interface Filter {
  /** Kinds by name or id, in any case: `Gateway`, `listener`, `gateway.gateway.networking.k8s.io`. */
  readonly kind?: string | readonly string[]
  readonly namespace?: string
  /** The object's name (its sections are meant too) or a section's. */
  readonly name?: string
  readonly role?: Role | readonly Role[]
}

/** The places that hold a node which the filter lets through, in no order. */
export function chosen(slots: Iterable<Slot>, filter: Filter): Slot[] {
  const meets = filterOf(filter)
  const found: Slot[] = []
  for (const slot of slots) {
    if (slot.node && meets(slot.node)) found.push(slot)
  }
  return found
}

export function filterOf({ kind, namespace, name, role }: Filter): (node: Node) => boolean {
  const isKind = kindFilter(kind)
  const roles = role === undefined ? undefined : new Set<Role>(typeof role === 'string' ? [role] : role)
  return node =>
    (namespace === undefined || node.namespace === namespace) &&
    (name === undefined || node.name === name || node.section === name) &&
    (roles === undefined || roles.has(node.role)) &&
    isKind(node)
}

export function kindFilter(kind: string | readonly string[] | undefined): (node: Node) => boolean {
  if (kind === undefined) return () => true
  const names = (typeof kind === 'string' ? [kind] : kind).map(name => name.toLowerCase())
  return node => names.includes(node.kindId) || names.includes(node.kind.toLowerCase())
}
