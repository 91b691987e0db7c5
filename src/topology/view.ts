import type { Locator } from '../core/index.js'
import type { Filter } from './filter.js'
import { chosen, filterOf, kindFilter } from './filter.js'
import type { Node, Role } from './node.js'
import type { Aim, Slot, Slots } from './slots.js'
import { byKey, childrenOf, ends, idOf, parentsOf, sectionsOf } from './slots.js'
import type { Reason } from './types.js'
import type { Decisions } from './verdicts.js'
import { ownerOf, verdict, whyMissing } from './verdicts.js'

export type Health = 'ok' | 'warning' | 'error'

/** What is read when a view is made, and not kept: the graph holds what objects say, not what came of it. */
export interface Live {
  readonly decisions?: Decisions
  readonly health?: (id: Locator) => Health | undefined
}

export interface ViewOptions extends Filter {
  /** Only this node and what is below it, with the policies that target any of these. */
  readonly root?: Locator
  /** With `root`: how many steps down; sections count as a step. */
  readonly depth?: number
  /** Kinds of sections to draw as one with their object: `['Listener', 'ServicePort']`. */
  readonly collapse?: readonly string[]
}

export interface ViewNode {
  readonly id: Locator
  /** `HTTPRoute`; of a node that is not there the kind id, which is all that a reference tells. */
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly section?: string
  readonly role: Role
  /** Something refers to it and it is not there. */
  readonly missing?: true
  readonly health?: Health
}

export interface ViewEdge {
  readonly from: Locator
  readonly to: Locator
  /** The link's name; `section` is an object and its part. */
  readonly link: string
  /** `broken`: leads nowhere, or may not be used. `refused`: what it leads to does not want it. */
  readonly state: 'ok' | 'broken' | 'refused'
  /** Why it is not ok. */
  readonly reason?: Reason
  /** The fields that say so, in the object that refers; none for sections. */
  readonly fields: readonly string[]
}

/** Part of a topology, to show: nodes by id, edges by their ends and link; both ends of every edge are nodes. */
export interface View {
  readonly nodes: readonly ViewNode[]
  readonly edges: readonly ViewEdge[]
}

export function viewOf(slots: Slots, options: ViewOptions, live: Live): View {
  const shown = within(slots, options)
  const drawing = new Drawing(shown, kindFilter(options.collapse ?? []), live)
  for (const slot of shown) drawing.draw(slot)
  return drawing.view()
}

/** The places to show, by id. */
function within(slots: Slots, options: ViewOptions): ReadonlySet<Slot> {
  if (options.root === undefined) return new Set(chosen(slots.all(), options).sort(byKey))
  const meets = filterOf(options)
  const start = slots.get(options.root)
  if (!start?.node) return new Set()
  const below = levels(start, options.depth ?? Infinity)
  const policies = below.flatMap(slot => parentsOf(slot).filter(({ node }) => node?.role === 'policy'))
  const found = new Set([...below, ...policies])
  return new Set([...found].filter(({ node }) => node && meets(node)).sort(byKey))
}

function levels(start: Slot, depth: number): Slot[] {
  const seen = new Set([start])
  let level = [start]
  for (let step = 0; step < depth && level.length > 0; step++) {
    level = level.flatMap(childrenOf).filter(slot => !seen.has(slot))
    for (const slot of level) seen.add(slot)
  }
  return [...seen]
}

/** Gathers nodes and edges; edges between the same ends by the same link are one. */
class Drawing {
  readonly #nodes = new Map<Locator, ViewNode>()
  readonly #edges = new Map<string, ViewEdge>()
  readonly #shown: ReadonlySet<Slot>
  readonly #collapsed: (node: Node) => boolean
  readonly #live: Live

  constructor(shown: ReadonlySet<Slot>, collapsed: (node: Node) => boolean, live: Live) {
    this.#shown = shown
    this.#collapsed = collapsed
    this.#live = live
  }

  draw(slot: Slot): void {
    this.#node(slot)
    for (const part of sectionsOf(slot)) {
      if (this.#shown.has(part)) {
        this.#edge({ from: idOf(slot), to: this.#place(part), link: 'section', state: 'ok', fields: [] })
      }
    }
    for (const aim of slot.references) this.#follow(aim)
  }

  view(): View {
    return {
      nodes: [...this.#nodes.values()].sort((a, b) => compare(a.id, b.id)),
      edges: [...this.#edges.values()].sort(
        (a, b) => compare(a.from, b.from) || compare(a.to, b.to) || compare(a.link, b.link),
      ),
    }
  }

  #follow(aim: Aim): void {
    const found = ends(aim)
    if (found.length === 0) {
      if (!aim.link.optional) this.#nowhere(aim)
      return
    }
    for (const end of found) {
      if (this.#shown.has(end)) this.#refer(aim, idOf(end), this.#place(end))
    }
  }

  /** A reference that leads nowhere is drawn to what would have to be there. */
  #nowhere(aim: Aim): void {
    const { target, link } = aim
    const meant = idOf(target)
    if (target.node) {
      this.#node(target)
      const message = `${meant} is of a kind that cannot be the other end of \`${link.name}\``
      this.#refer(aim, meant, this.#place(target), { reason: 'InvalidKind', message })
      return
    }
    const owner = target.owner?.node !== undefined
    const id = owner ? meant : ownerOf(meant)
    if (!this.#nodes.has(id)) this.#nodes.set(id, missingNode(id))
    this.#refer(aim, meant, id, whyMissing(meant, owner))
  }

  /** `end` is what the reference leads to, `drawn` what stands for it in the view. */
  #refer({ link, declarer, field }: Aim, end: Locator, drawn: Locator, missing?: Reason): void {
    const ends = (near: Locator, far: Locator) =>
      link.upward ? { from: far, to: near } : { from: near, to: far }
    const decided =
      this.#live.decisions &&
      verdict({ link: link.name, field, ...ends(idOf(declarer), end) }, this.#live.decisions)
    const state = missing ? 'broken' : (decided?.state ?? 'ok')
    const reason = decided?.reason ?? missing
    this.#edge({
      ...ends(this.#place(declarer), drawn),
      link: link.name,
      state,
      ...(reason && { reason }),
      fields: field === '' ? [] : [field],
    })
  }

  #edge(edge: ViewEdge): void {
    if (edge.from === edge.to && edge.link === 'section') return
    const key = `${edge.from} ${edge.link} ${edge.to}`
    const held = this.#edges.get(key)
    if (!held) {
      this.#edges.set(key, edge)
      return
    }
    const fields = [...new Set([...held.fields, ...edge.fields])]
    const best = held.state !== 'ok' && edge.state === 'ok' ? edge : held
    this.#edges.set(key, { ...best, fields })
  }

  #node(slot: Slot): void {
    const { node } = slot
    if (!node || this.#place(slot) !== node.id) return
    const health = this.#live.health?.(node.id)
    this.#nodes.set(node.id, { ...presentNode(node), ...(health && { health }) })
  }

  /** The id that stands for the place: the object's, if its sections are not drawn. */
  #place(slot: Slot): Locator {
    const { owner, node } = slot
    return owner && node && this.#collapsed(node) ? owner.name : idOf(slot)
  }
}

function presentNode({ id, kind, namespace, name, section, role }: Node): ViewNode {
  return {
    id,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    ...(section !== undefined && { section }),
    role,
  }
}

/** What a reference says of a node that is not there. Takes any text: names come from users. */
function missingNode(id: string): ViewNode {
  const [, kind = '', namespace, name = id, section] =
    /^([^:]*):(?:([^/]*)\/)?([^#]*)(?:#(.*))?$/.exec(id) ?? []
  return {
    id,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    ...(section !== undefined && { section }),
    role: 'object',
    missing: true,
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
