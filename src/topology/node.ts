import type { KindId, KubeObject, Locator } from '../core/index.js'

/** What a node is for: traffic passes through a `target`, a `policy` says how, an `object` is what they need. */
export type Role = 'target' | 'policy' | 'object'

/** An object, or a part of one that can be referred to by name (a listener, a rule, a port). */
export interface Node {
  /** The object's locator; a section's is `section(owner, name)`. */
  readonly id: Locator
  /** As people write it: `Gateway`, `Listener`, `HTTPRouteRule`. */
  readonly kind: string
  /** By which links find it: `gateway.gateway.networking.k8s.io`, `serviceport`. */
  readonly kindId: KindId
  readonly role: Role
  /** Absent for cluster-scoped objects. */
  readonly namespace: string | undefined
  /** The object's name, of its sections too. */
  readonly name: string
  /** The section's name; absent for a whole object. */
  readonly section: string | undefined
  readonly object: KubeObject
  /** The section's part of the object. */
  readonly payload: unknown
  /** Where the section stands in its object: `spec.rules[0]`. */
  readonly field: string | undefined
}

/** A part of an object that becomes a node of its own, below the object's node. */
export interface Section {
  readonly kind: string
  readonly kindId: KindId
  /** Unique among the object's sections (see {@link sectionNames}). */
  readonly name: string
  readonly field: string
  readonly payload: unknown
  /** Other names, within the object: see {@link Reference}. */
  readonly aliases?: readonly string[]
}

/** A kind whose objects become nodes. Objects of other kinds do too, as policies, if they have `spec.targetRefs`. */
export interface NodeKind {
  readonly kindId: KindId
  readonly role: Role
  /** The parts that become nodes, and their kinds. Pure; reads the object alone. */
  readonly sections?: {
    readonly kinds: readonly KindId[]
    readonly of: (object: KubeObject) => readonly Section[]
  }
  /** Other names for the whole object: see {@link Reference}. */
  readonly aliases?: (object: KubeObject) => readonly string[]
}

/**
 * Where a reference leads: to an object or a section of it by name, or to all that carry an alias. So a section is
 * found by something else than its name: the listeners on port 443 carry the alias `*:443` in their Gateway. An
 * alias is any text that is no locator, or no section's name.
 */
export interface Reference {
  readonly to: Locator
  readonly section?: string | undefined
  /** The field that holds the reference: `spec.parentRefs[0]`. */
  readonly field?: string
}

interface LinkEnds {
  /** What is drawn beside the edge: `backend`, `certificate`. */
  readonly name: string
  /** The kinds of the parents. `*` is every kind, {@link anyPolicy} every policy. */
  readonly from: readonly KindId[]
  /** The kinds of the children. A reference to a node of another kind is broken. */
  readonly to: readonly KindId[]
  /** A reference that leads nowhere is no edge, instead of a broken one. */
  readonly optional?: boolean
}

/** Edges as data: a pure function of one node that names the nodes at the other end, there or not. */
export type Link = LinkEnds &
  (
    | { readonly parents: (child: Node) => Iterable<Reference | Locator> }
    | { readonly children: (parent: Node) => Iterable<Reference | Locator> }
  )

/** In `from` and `to` of a link: every node whose role is `policy`. */
export const anyPolicy: KindId = '(policy)'

/** In `from` and `to` of a link, on the side that is referred to: every kind. */
export const anyKind: KindId = '*'

/** `spec.rules[0]`, `spec.rules[1]` and so on; each text is made once, for all objects. */
export function numbered(list: string): (position: number) => string {
  const made: string[] = []
  return position => (made[position] ??= `${list}[${position}]`)
}

/**
 * Names for the items of a list, so that no two have one name: its own where it has one, else `otherwise(i)`. Where
 * that is taken (or a name given twice, which validation refuses) it is `<list>[i]`, which no name can be.
 */
export function sectionNames<T extends { readonly name?: string }>(
  items: readonly T[],
  list: string,
  otherwise: (item: T, position: number) => string,
): string[] {
  const names = items.map((item, i) => item.name ?? otherwise(item, i))
  if (names.every((name, i) => names.indexOf(name) === i)) return names
  const own = new Set(items.map(item => item.name))
  const taken = new Set<string>()
  return items.map((item, i) => {
    const name = names[i] as string
    const free = !taken.has(name) && (item.name !== undefined || !own.has(name))
    const unique = free ? name : `${list}[${i}]`
    taken.add(unique)
    return unique
  })
}
