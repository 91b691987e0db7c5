import type { KindId, KubeObject, Locator } from '../core/index.js'
import { section } from '../core/index.js'
import type { Update } from '../store/index.js'
import type { Rules } from './links.js'
import { gatewayApi } from './links.js'
import { Loops } from './loops.js'
import type { Link, Node, NodeKind, Section } from './node.js'
import { anyPolicy } from './node.js'
import { reachable, pathsBetween, pathsDown } from './paths.js'
import type { DeclaredLink, Slot } from './slots.js'
import { Slots, byKey, childrenOf, declared, parentsOf, sectionsOf } from './slots.js'
import type { Reason } from './types.js'
import type { Filter } from './filter.js'
import { chosen } from './filter.js'
import type { Live, View, ViewOptions } from './view.js'
import { viewOf } from './view.js'

export interface TopologyOptions extends Partial<Rules> {
  /** Do not look for loops. Paths are then searched in a graph that may have some. */
  readonly allowLoops?: boolean
}

/** A path, from its first node to its last. */
export type Path = readonly Node[]

/**
 * The graph of all objects. Every answer is in canonical order (by id, paths node by node), so the same objects give
 * the same bytes in whatever order they came. Ids that name no node have no parents, no children and no paths.
 */
export interface Topology {
  /** Counts the updates that were applied. */
  readonly revision: number
  /** Number of nodes. */
  readonly size: number
  /** Takes in what changed; costs what those objects hold, whatever the size of the graph. */
  apply(updates: readonly Update[]): void
  node(id: Locator): Node | undefined
  /** The nodes that the filter lets through; looks at each node. */
  nodes(filter?: Filter): Node[]
  /** The nodes without parents that the filter lets through. */
  roots(filter?: Filter): Node[]
  parents(id: Locator): Node[]
  children(id: Locator): Node[]
  /** All nodes above, without the node itself. */
  ancestors(id: Locator): Node[]
  /** All nodes below, without the node itself. */
  descendants(id: Locator): Node[]
  /** Every path that visits no node twice; `[[node]]` where both are one. */
  paths(from: Locator, to: Locator): Path[]
  /** Every path from a node to any node that the filter lets through: `pathsTo(gatewayClass, { kind: 'HTTPRouteRule' })`. */
  pathsTo(from: Locator, to: Filter): Path[]
  /** `LoopDetected` and the loop in words; links of kinds that cannot form a loop cost nothing. */
  whyCyclic(): Reason | undefined
  /** Nodes and edges to show. What was decided about edges, and health, are read now and not kept. */
  view(options?: ViewOptions, live?: Live): View
}

/** An empty topology; the kinds and links are the Gateway API's unless given. */
export function createTopology(options: TopologyOptions = {}): Topology {
  return new Graph(options)
}

class Graph implements Topology {
  revision = 0
  #size = 0
  readonly #slots = new Slots()
  readonly #kinds: ReadonlyMap<KindId, NodeKind>
  readonly #links: ReadonlyMap<KindId, readonly DeclaredLink[]>
  readonly #loops: Loops | undefined

  constructor({ kinds = gatewayApi.kinds, links = gatewayApi.links, allowLoops = false }: TopologyOptions) {
    this.#kinds = new Map(kinds.map(kind => [kind.kindId, kind]))
    this.#links = byDeclarer(links)
    this.#loops = allowLoops ? undefined : new Loops(kinds, links)
  }

  get size(): number {
    return this.#size
  }

  apply(updates: readonly Update[]): void {
    for (const update of updates) {
      const held = this.#slots.get(update.locator)
      if (held?.node) this.#remove(held)
      if (update.type !== 'delete') this.#add(update.locator, update.newObject)
    }
    this.revision += updates.length
  }

  node(id: Locator): Node | undefined {
    return this.#slots.get(id)?.node
  }

  nodes(filter: Filter = {}): Node[] {
    return nodesOf(this.#choose(filter))
  }

  roots(filter: Filter = {}): Node[] {
    return nodesOf(this.#choose(filter).filter(slot => parentsOf(slot).length === 0))
  }

  parents(id: Locator): Node[] {
    return this.#from(id, parentsOf)
  }

  children(id: Locator): Node[] {
    return this.#from(id, childrenOf)
  }

  ancestors(id: Locator): Node[] {
    return this.#from(id, slot => [...reachable(slot, parentsOf)].sort(byKey))
  }

  descendants(id: Locator): Node[] {
    return this.#from(id, slot => [...reachable(slot, childrenOf)].sort(byKey))
  }

  paths(from: Locator, to: Locator): Path[] {
    const [start, end] = [this.#slots.get(from), this.#slots.get(to)]
    return start?.node && end?.node ? pathsBetween(start, end).map(nodesOf) : []
  }

  pathsTo(from: Locator, to: Filter): Path[] {
    const start = this.#slots.get(from)
    return start?.node ? pathsDown(start, chosen(this.#slots.all(), to)).map(nodesOf) : []
  }

  whyCyclic(): Reason | undefined {
    return this.#loops?.why(this.#slots)
  }

  view(options: ViewOptions = {}, live: Live = {}): View {
    return viewOf(this.#slots, options, live)
  }

  #from(id: Locator, step: (slot: Slot) => Slot[]): Node[] {
    const slot = this.#slots.get(id)
    return slot?.node ? nodesOf(step(slot)) : []
  }

  #choose(filter: Filter): Slot[] {
    return chosen(this.#slots.all(), filter).sort(byKey)
  }

  #add(id: Locator, object: KubeObject): void {
    const kind = this.#kindOf(id, object)
    if (!kind) return
    const node = nodeOf(id, object, kind)
    const slot = this.#slots.place(node)
    this.#declare(slot, node, kind.aliases?.(object))
    for (const part of kind.sections?.of(object) ?? []) {
      const below = sectionNode(id, object, kind, part)
      this.#declare(this.#slots.placeSection(slot, part.name, below), below, part.aliases)
    }
  }

  #declare(slot: Slot, node: Node, aliases: readonly string[] = []): void {
    for (const alias of aliases) this.#slots.alias(slot, alias)
    for (const link of this.#links.get(node.kindId) ?? []) this.#slots.declare(slot, node, link)
    if (node.role === 'policy') {
      for (const link of this.#links.get(anyPolicy) ?? []) this.#slots.declare(slot, node, link)
    }
    this.#loops?.touch(slot)
    this.#size++
  }

  #remove(slot: Slot): void {
    const gone = [...sectionsOf(slot), slot]
    this.#size -= gone.length
    for (const each of gone) {
      this.#loops?.forget(each)
      this.#slots.clear(each)
    }
  }

  #kindOf(id: Locator, object: KubeObject): NodeKind | undefined {
    const kind = id.slice(0, id.indexOf(':'))
    return this.#kinds.get(kind) ?? (hasTargets(object) ? { kindId: kind, role: 'policy' } : undefined)
  }
}

function nodesOf(slots: readonly Slot[]): Node[] {
  return slots.map(slot => slot.node as Node)
}

function nodeOf(id: Locator, object: KubeObject, { kindId: kind, role }: NodeKind): Node {
  const { namespace, name } = object.metadata
  return {
    id,
    kind: object.kind,
    kindId: kind,
    role,
    namespace,
    name,
    section: undefined,
    payload: undefined,
    field: undefined,
    object,
  }
}

function sectionNode(id: Locator, object: KubeObject, { role }: NodeKind, part: Section): Node {
  const { namespace, name } = object.metadata
  return {
    id: section(id, part.name),
    kind: part.kind,
    kindId: part.kindId,
    role,
    namespace,
    name,
    section: part.name,
    payload: part.payload,
    field: part.field,
    object,
  }
}

/** A policy by its shape alone, whoever defined its kind (GEP-713). */
function hasTargets(object: KubeObject): boolean {
  const { spec } = object as KubeObject & {
    readonly spec?: { targetRefs?: unknown; targetRef?: unknown } | null
  }
  return Array.isArray(spec?.targetRefs) || (spec?.targetRef ?? undefined) !== undefined
}

function byDeclarer(links: readonly Link[]): ReadonlyMap<KindId, readonly DeclaredLink[]> {
  const found = new Map<KindId, DeclaredLink[]>()
  for (const link of links) {
    const ready = declared(link)
    for (const kind of 'parents' in link ? link.to : link.from) {
      found.set(kind, [...(found.get(kind) ?? []), ready])
    }
  }
  return found
}
