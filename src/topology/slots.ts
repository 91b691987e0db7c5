import type { KindId, Locator } from '../core/index.js'
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
 * The place of an id or of an alias, whether or not something is there. References are tied to places, never to
 * nodes: so an object that comes, goes or changes costs only its own references, however many lead to it.
 */
export interface Slot {
  readonly key: string
  node: Node | undefined
  owner: Slot | undefined
  sections: Slot[]
  /** What the node here declares. */
  references: Aim[]
  /** What leads here. */
  readonly referrers: Aim[]
  /** The aliases that the node here carries. */
  aliases: Slot[]
  /** The nodes that carry this alias. */
  readonly members: Slot[]
}

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
  readonly #slots = new Map<string, Slot>()

  get(key: string): Slot | undefined {
    return this.#slots.get(key)
  }

  all(): IterableIterator<Slot> {
    return this.#slots.values()
  }

  /** Puts a node in its place and declares what its links say. */
  place(node: Node, aliases: readonly string[], links: readonly DeclaredLink[]): Slot {
    const slot = this.#take(node.id)
    slot.node = node
    for (const alias of aliases) this.#join(slot, alias)
    for (const link of links) {
      for (const reference of link.declare(node)) this.#aim(slot, link, reference)
    }
    return slot
  }

  /** Takes the node away with what it declares; what others declare about it stays. */
  clear(slot: Slot): void {
    for (const aim of slot.references) this.#withdraw(aim)
    for (const alias of slot.aliases) this.#leave(slot, alias)
    slot.node = undefined
    slot.owner = undefined
    slot.references = []
    slot.aliases = []
    slot.sections = []
    this.#tidy(slot)
  }

  #take(key: string): Slot {
    const held = this.#slots.get(key)
    if (held) return held
    const slot: Slot = {
      key,
      node: undefined,
      owner: undefined,
      sections: [],
      references: [],
      referrers: [],
      aliases: [],
      members: [],
    }
    this.#slots.set(key, slot)
    return slot
  }

  #join(slot: Slot, key: string): void {
    const alias = this.#take(key)
    alias.members.push(slot)
    slot.aliases.push(alias)
  }

  #leave(slot: Slot, alias: Slot): void {
    alias.members.splice(alias.members.indexOf(slot), 1)
    this.#tidy(alias)
  }

  #aim(declarer: Slot, link: DeclaredLink, reference: Reference | Locator): void {
    const to = typeof reference === 'string' ? reference : reference.to
    const field = typeof reference === 'string' ? '' : (reference.field ?? '')
    const target = this.#take(to)
    const aim: Aim = { link, declarer, target, field, at: target.referrers.length }
    target.referrers.push(aim)
    declarer.references.push(aim)
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
    const empty = slot.node === undefined && slot.referrers.length === 0 && slot.members.length === 0
    if (empty) this.#slots.delete(slot.key)
  }
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
  return neighbours(slot, false, slot.sections)
}

/** The nodes above, each once, by id. */
export function parentsOf(slot: Slot): Slot[] {
  return neighbours(slot, true, slot.owner ? [slot.owner] : [])
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
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}
