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
  /** See {@link Reference}. */
  readonly aliases?: readonly string[]
}

/** A kind whose objects become nodes. Objects of other kinds do too, as policies, if they have `spec.targetRefs`. */
export interface NodeKind {
  readonly kindId: KindId
  readonly role: Role
  /** The parts that become nodes, and their kinds. Pure; reads the object alone. */
  readonly sections?: {
    readonly kinds: readonly KindId[]
    readonly of: (object: KubeObject, id: Locator) => readonly Section[]
  }
  /** See {@link Reference}. */
  readonly aliases?: (object: KubeObject, id: Locator) => readonly string[]
}

/**
 * Where a reference leads: to a node, by its id, or to every node that carries an alias. A section can so be found
 * by something else than its name: the listeners of a Gateway on port 443 carry `<gateway>#*:443`. An alias is any
 * text that is no node's id; if a section of an object is meant it begins with the object's locator and `#`.
 */
export interface Reference {
  readonly to: Locator
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

/**
 * Names for the items of a list, so that no two have one name: its own where it has one, else `numbered(i)`. Where
 * that is taken (or a name given twice, which validation refuses) it is `<list>[i]`, which no name can be.
 */
export function sectionNames<T extends { readonly name?: string }>(
  items: readonly T[],
  list: string,
  numbered: (item: T, position: number) => string,
): string[] {
  const own = new Set(items.map(item => item.name))
  const taken = new Set<string>()
  return items.map((item, i) => {
    const name = item.name ?? numbered(item, i)
    const free = !taken.has(name) && (item.name !== undefined || !own.has(name))
    const unique = free ? name : `${list}[${i}]`
    taken.add(unique)
    return unique
  })
}
