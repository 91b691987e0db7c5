import type { Slot } from './slots.js'
import { byKey, childrenOf, parentsOf } from './slots.js'

type Step = (slot: Slot) => readonly Slot[]
type SlotPath = readonly Slot[]

/** All that the steps lead to from a place, without the place itself unless a loop leads back. */
export function reachable(start: Slot, step: Step): Set<Slot> {
  const found = new Set<Slot>()
  const open = [start]
  for (let slot = open.pop(); slot; slot = open.pop()) {
    for (const next of step(slot)) {
      if (found.has(next)) continue
      found.add(next)
      open.push(next)
    }
  }
  return found
}

/**
 * Every simple path, in order. Looks from both ends in turn until one side has seen all it can, then walks from the
 * other end inside that side: no step is a dead end, so the cost is that of the smaller side and of the answer.
 */
export function pathsBetween(from: Slot, to: Slot): SlotPath[] {
  if (from === to) return [[from]]
  const { side, seen } = smallerSide(from, to)
  if (side === 'below') {
    if (!seen.has(to)) return []
    return walk(to, from, slot => parentsOf(slot).filter(next => seen.has(next)))
      .map(path => [...path].reverse())
      .sort(byNodes)
  }
  if (!seen.has(from)) return []
  return walk(from, to, slot => childrenOf(slot).filter(next => seen.has(next)))
}

/** Everything below `from`, or everything above `to`: whichever is complete first. Each contains its start. */
function smallerSide(from: Slot, to: Slot): { side: 'below' | 'above'; seen: ReadonlySet<Slot> } {
  const below = explore(from, childrenOf)
  const above = explore(to, parentsOf)
  for (;;) {
    if (!above.step()) return { side: 'above', seen: above.seen }
    if (!below.step()) return { side: 'below', seen: below.seen }
  }
}

/** A search that goes one place further at each step, until it has seen all. */
function explore(start: Slot, next: Step): { seen: Set<Slot>; step: () => boolean } {
  const seen = new Set([start])
  const open = [start]
  const step = () => {
    const slot = open.pop()
    if (!slot) return false
    for (const each of next(slot)) {
      if (!seen.has(each)) open.push(each)
      seen.add(each)
    }
    return true
  }
  return { seen, step }
}

/** Simple paths from `start` to `end` by depth first search; in order if `step` gives its places in order. */
function walk(start: Slot, end: Slot, step: Step): SlotPath[] {
  const found: SlotPath[] = []
  const path: Slot[] = []
  const on = new Set<Slot>()
  const visit = (slot: Slot) => {
    path.push(slot)
    on.add(slot)
    if (slot === end) found.push([...path])
    else for (const next of step(slot)) if (!on.has(next)) visit(next)
    on.delete(slot)
    path.pop()
  }
  visit(start)
  return found
}

/**
 * Every simple path from `from` to each of the ends. Walks up from the ends and keeps what leads from `from` to each
 * place on the way, so that ends which share their way up share its cost.
 */
export function pathsDown(from: Slot, ends: readonly Slot[]): SlotPath[] {
  const known = new Map<Slot, readonly SlotPath[]>([[from, [[from]]]])
  const open = new Set<Slot>()
  const looped = { is: false }
  const pathsTo = (slot: Slot): readonly SlotPath[] => {
    const held = known.get(slot)
    if (held) return held
    if (open.has(slot)) looped.is = true
    if (looped.is) return []
    open.add(slot)
    const found = parentsOf(slot).flatMap(parent => pathsTo(parent).map(path => [...path, slot]))
    open.delete(slot)
    known.set(slot, found)
    return found
  }
  const found = ends.flatMap(end => pathsTo(end))
  return (looped.is ? ends.flatMap(end => pathsBetween(from, end)) : found).sort(byNodes)
}

function byNodes(a: SlotPath, b: SlotPath): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const order = byKey(a[i] as Slot, b[i] as Slot)
    if (order !== 0) return order
  }
  return a.length - b.length
}
