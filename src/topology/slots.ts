import type { KindId, Locator } from '../core/index.js'
import { section } from '../core/index.js'
import type { Link, Node, Reference } from './node.js'
import { anyKind, anyPolicy } from './node.js'

/** A link made ready: which end declares it, and which kinds may stand at the other. */
export interface DeclaredLink {
  readonly name: string
  readonly optional: boolean
  /** The child declares it and names parents. */
  readonly upward: boolean
  readonly declare: (node: Node) => Iterable<Reference | Locator>
  readonly takes: (node: Node) => boolean
}

/** One reference that a node declares. */
export interface Aim {
  readonly link: DeclaredLink
  readonly declarer: Slot
  readonly target: Slot
  readonly field: string
  /** Position in the target's `referrers`. */
  at: number
}

/**
 * The place of a node or of an alias, whether or not something is there. References are tied to places, never to
 * nodes: so an object that comes, goes or changes costs only its own references, however many lead to it.
 */
export interface Slot {
  /** An object's locator, or the name of a part of the owner. */
  readonly name: string
  readonly owner: Slot | undefined
  node: Node | undefined
  /** The places of this object's sections. */
  parts: Slot[]
  /** What the node here declares. */
  references: Aim[]
  /** What leads here. */
  referrers: Aim[]
  /** The aliases that the node here carries. */
  aliases: Slot[]
  /** The nodes that carry this alias. */
  members: Slot[]
}

/** Most places lack most lists, and most lists are short: this one is shared, and short ones hold no spare room. */
const none: never[] = []

export function declared(link: Link): DeclaredLink {
  const upward = 'parents' in link
  const far = upward ? link.from : link.to
  const kinds = new Set<KindId>(far)
  const { name, optional = false } = link
  return {
    name,
    optional,
    upward,
    declare: upward ? link.parents : link.children,
    takes: node =>
      kinds.has(node.kindId) || kinds.has(anyKind) || (node.role === 'policy' && kinds.has(anyPolicy)),
  }
}

export class Slots {
  readonly #objects = new Map<string, Slot>()

  /** Finds a place by the id of what is or could be there. */
  get(id: Locator): Slot | undefined {
    const { to, section: part } = referenceOf(id)
    const object = this.#objects.get(to)
    return part === undefined ? object : object?.parts.find(({ name }) => name === part)
  }

  *all(): IterableIterator<Slot> {
    for (const object of this.#objects.values()) {
      yield object
      yield* object.parts
    }
  }

  /** Puts an object in its place. */
  place(node: Node): Slot {
    const slot = this.#object(node.id)
    slot.node = node
    return slot
  }

  /** Puts a section in its place in its object. */
  placeSection(owner: Slot, name: string, node: Node): Slot {
    const slot = this.#part(owner, name)
    slot.node = node
    return slot
  }

  /** Gives the node another name: in its object for a section, among all objects for an object. */
  alias(slot: Slot, name: string): void {
    const alias = slot.owner ? this.#part(slot.owner, name) : this.#object(name)
    alias.members = added(alias.members, slot)
    slot.aliases = added(slot.aliases, alias)
  }

  /** Notes where the node's links say that it leads. */
  declare(slot: Slot, node: Node, link: DeclaredLink): void {
    for (const reference of link.declare(node)) {
      const {
        to,
        section: part,
        field = '',
      } = typeof reference === 'string' ? referenceOf(reference) : reference
      const object = this.#object(to)
      const target = part === undefined ? object : this.#part(object, part)
      const aim: Aim = { link, declarer: slot, target, field, at: target.referrers.length }
      target.referrers = added(target.referrers, aim)
      slot.references = added(slot.references, aim)
    }
  }

  /** Takes the node away with what it declares; what others declare about it stays. */
  clear(slot: Slot): void {
    slot.node = undefined
    for (const aim of slot.references) this.#withdraw(aim)
    for (const alias of slot.aliases) {
      alias.members = alias.members.filter(member => member !== slot)
      this.#tidy(alias)
    }
    slot.references = none
    slot.aliases = none
    this.#tidy(slot)
  }

  #object(name: string): Slot {
    let slot = this.#objects.get(name)
    if (!slot) this.#objects.set(name, (slot = emptySlot(name, undefined)))
    return slot
  }

  /** By looking at each: the Gateway API allows 64 listeners and 16 rules. */
  #part(owner: Slot, name: string): Slot {
    for (const part of owner.parts) if (part.name === name) return part
    const part = emptySlot(name, owner)
    owner.parts = added(owner.parts, part)
    return part
  }

  /** The last referrer takes the place of the one that goes, so that this costs the same for any number of them. */
  #withdraw(aim: Aim): void {
    const { referrers } = aim.target
    const last = referrers.pop()
    if (last && last !== aim) {
      last.at = aim.at
      referrers[aim.at] = last
    }
    this.#tidy(aim.target)
  }

  #tidy(slot: Slot): void {
    const { owner, node, referrers, members, parts } = slot
    if (node || referrers.length > 0 || members.length > 0 || parts.length > 0) return
    if (!owner) {
      this.#objects.delete(slot.name)
      return
    }
    owner.parts = owner.parts.filter(part => part !== slot)
    this.#tidy(owner)
  }
}

function emptySlot(name: string, owner: Slot | undefined): Slot {
  return {
    name,
    owner,
    node: undefined,
    parts: none,
    references: none,
    referrers: none,
    aliases: none,
    members: none,
  }
}

function referenceOf(id: Locator): Reference {
  const at = id.indexOf('#')
  return at < 0 ? { to: id } : { to: id.slice(0, at), section: id.slice(at + 1) }
}

/** The id of what is, or would be, at a place. */
export function idOf({ node, owner, name }: Slot): Locator {
  return node?.id ?? (owner ? section(owner.name, name) : name)
}

/** The parts of an object that are there. */
export function sectionsOf(slot: Slot): Slot[] {
  return slot.parts.filter(({ node }) => node !== undefined)
}

function added<T>(list: T[], item: T): T[] {
  if (list.length === 0) return [item]
  if (list.length < 4) return list.concat([item])
  list.push(item)
  return list
}

/** The nodes that a reference leads to now. */
export function ends(aim: Aim): readonly Slot[] {
  const { target, link } = aim
  if (target.node) return link.takes(target.node) ? [target] : []
  if (target.members.length === 0) return []
  return target.members.filter(member => member.node !== undefined && link.takes(member.node))
}

/** The nodes below, each once, by id. */
export function childrenOf(slot: Slot): Slot[] {
  return neighbours(slot, false, sectionsOf(slot))
}

/** The nodes above, each once, by id. */
export function parentsOf(slot: Slot): Slot[] {
  return neighbours(slot, true, slot.owner?.node ? [slot.owner] : [])
}

function neighbours(slot: Slot, upward: boolean, first: readonly Slot[]): Slot[] {
  const found = [...first]
  for (const aim of slot.references) {
    if (aim.link.upward === upward) found.push(...ends(aim))
  }
  referred(slot, slot, upward, found)
  for (const alias of slot.aliases) referred(slot, alias, upward, found)
  return once(found)
}

/** Those that refer to the node from the side asked for, by its id or by one of its aliases. */
function referred(slot: Slot, by: Slot, upward: boolean, found: Slot[]): void {
  for (const { link, declarer } of by.referrers) {
    if (link.upward !== upward && slot.node && link.takes(slot.node)) found.push(declarer)
  }
}

function once(slots: Slot[]): Slot[] {
  if (slots.length < 2) return slots
  slots.sort(byKey)
  return slots.filter((slot, i) => slot !== slots[i - 1])
}

export function byKey(a: Slot, b: Slot): number {
  if (a === b) return 0
  const [left, right] = [idOf(a), idOf(b)]
  return left < right ? -1 : left > right ? 1 : 0
}
