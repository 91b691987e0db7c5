import type { KindId } from '../core/index.js'
import type { Link, NodeKind } from './node.js'
import { anyKind, anyPolicy } from './node.js'
import type { Slot, Slots } from './slots.js'
import { byKey, childrenOf, idOf } from './slots.js'
import type { Reason } from './types.js'

/**
 * Looks for loops only where the kinds allow one. Kinds and links form a small graph of their own: kinds from which
 * it does not lead back cannot be in a loop, whatever the objects, and are never searched. A new loop passes through
 * a node that changed, so the search starts at those.
 */
export class Loops {
  readonly #suspects: ReadonlySet<KindId>
  /** What changed since the graph was last known to be without loop. */
  readonly #changed = new Set<Slot>()

  constructor(kinds: readonly NodeKind[], links: readonly Link[]) {
    const below = kindGraph(kinds, links)
    this.#suspects = new Set([...below.keys()].filter(kind => leadsBack(kind, below)))
  }

  touch(slot: Slot): void {
    if (this.#isSuspect(slot)) this.#changed.add(slot)
  }

  forget(slot: Slot): void {
    this.#changed.delete(slot)
  }

  /** The same objects give the same words, whichever change closed the loop. */
  why(slots: Slots): Reason | undefined {
    const looped = [...this.#changed].some(slot => this.#loopThrough(slot))
    if (!looped) {
      this.#changed.clear()
      return undefined
    }
    const suspects = [...slots.all()].filter(slot => this.#isSuspect(slot)).sort(byKey)
    for (const slot of suspects) {
      const loop = this.#loopThrough(slot)
      if (loop) return { reason: 'LoopDetected', message: inWords(loop) }
    }
    throw new Error('a loop that is found from one node and not from another')
  }

  #isSuspect({ node }: Slot): boolean {
    if (!node) return false
    return this.#suspects.has(node.kindId) || (node.role === 'policy' && this.#suspects.has(anyPolicy))
  }

  /** The way from a node back to itself, by depth first search in order of id. */
  #loopThrough(start: Slot): readonly Slot[] | undefined {
    const seen = new Set<Slot>()
    const path: Slot[] = [start]
    const open: Slot[][] = [this.#below(start)]
    for (let next = open.at(-1); next; next = open.at(-1)) {
      const slot = next.shift()
      if (slot === start) return path
      if (!slot) {
        open.pop()
        path.pop()
      } else if (!seen.has(slot)) {
        seen.add(slot)
        path.push(slot)
        open.push(this.#below(slot))
      }
    }
    return undefined
  }

  #below(slot: Slot): Slot[] {
    return childrenOf(slot).filter(child => this.#isSuspect(child))
  }
}

function inWords(loop: readonly Slot[]): string {
  const names = [...loop, loop[0] as Slot].map(idOf)
  return `loop detected: ${names.join(' -> ')}; the links or the objects must not lead back to where they came from`
}

type Below = ReadonlyMap<KindId, ReadonlySet<KindId>>

function kindGraph(kinds: readonly NodeKind[], links: readonly Link[]): Below {
  const policies = kinds.filter(({ role }) => role === 'policy').map(({ kindId }) => kindId)
  const below = new Map<KindId, Set<KindId>>()
  const all = [anyPolicy, ...kinds.flatMap(({ kindId, sections }) => [kindId, ...(sections?.kinds ?? [])])]
  for (const kind of all) below.set(kind, new Set())
  const every = (ids: readonly KindId[]) =>
    ids.flatMap(id => (id === anyKind ? all : id === anyPolicy ? [id, ...policies] : [id]))
  for (const { from, to } of links) {
    for (const kind of every(from)) below.set(kind, new Set([...(below.get(kind) ?? []), ...every(to)]))
  }
  for (const { kindId, sections } of kinds) {
    for (const part of sections?.kinds ?? []) below.get(kindId)?.add(part)
  }
  return below
}

function leadsBack(kind: KindId, below: Below): boolean {
  const seen = new Set<KindId>()
  const open = [kind]
  for (let from = open.pop(); from !== undefined; from = open.pop()) {
    for (const to of below.get(from) ?? []) {
      if (to === kind) return true
      if (!seen.has(to)) open.push(to)
      seen.add(to)
    }
  }
  return false
}
