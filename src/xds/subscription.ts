import { PersistentMap, diff } from '../collections/index.js'
import { perPair } from './memo.js'
import type { Resources } from './snapshot.js'

/** What a client asks for of one type. */
export interface Subscription {
  readonly wildcard: boolean
  readonly names: NameSet
  /** SotW: names were given on this stream, so that none now means none. */
  readonly named?: boolean
}

/** A set of names with a print of its content, by which equal sets find each other. */
export interface NameSet {
  readonly all: PersistentMap<true>
  readonly print: readonly [number, number]
}

const noNames: NameSet = { all: PersistentMap.empty(), print: [0, 0] }
export const noSubscription: Subscription = { wildcard: false, names: noNames }

function hash(name: string, seed: number): number {
  let value = seed
  for (let at = 0; at < name.length; at++) value = Math.imul(value ^ name.charCodeAt(at), 0x01000193)
  return value ^ (value >>> 13)
}

/** The set with `add` and without `remove` (which is taken out first); the very same when nothing changes. */
export function edited(names: NameSet, add: Iterable<string>, remove: Iterable<string> = []): NameSet {
  let [a, b] = names.print
  const toggle = (name: string) => {
    a ^= hash(name, 0x811c9dc5)
    b ^= hash(name, 0x9e3779b9)
  }
  const draft = names.all.draft()
  for (const name of remove) {
    if (draft.get(name) === undefined) continue
    draft.delete(name)
    toggle(name)
  }
  for (const name of add) {
    if (draft.get(name)) continue
    draft.set(name, true)
    toggle(name)
  }
  const all = draft.close()
  return all === names.all ? names : shared({ all, print: [a, b] })
}

/** The set of exactly these names; the very same when `before` holds them and no others. */
export function exactly(before: NameSet, names: readonly string[]): NameSet {
  const wanted = new Set(names)
  const gone = [...before.all.keys()].filter(name => !wanted.has(name))
  return edited(before, wanted, gone)
}

/**
 * Proxies of one Gateway ask for the same names: thousands of them, each. Sets of equal content become one object,
 * which takes that memory once and lets {@link select} work once for all.
 */
const pool = new Map<string, WeakRef<NameSet>>()
const POOL_SIZE = 4096

function shared(names: NameSet): NameSet {
  if (names.all.size === 0) return noNames
  const key = `${names.all.size} ${names.print[0]} ${names.print[1]}`
  const held = pool.get(key)?.deref()
  if (held && isEmpty(diff(held.all, names.all))) return held
  const [oldest] = pool.keys()
  if (pool.size >= POOL_SIZE && oldest !== undefined) pool.delete(oldest)
  pool.set(key, new WeakRef(names))
  return names
}

function isEmpty(items: Iterable<unknown>): boolean {
  for (const _ of items) return false
  return true
}

interface Selected {
  readonly from: Resources
  readonly chosen: Resources
}
const latest = new WeakMap<PersistentMap<true>, Selected>()

/** O(changes since the last call with these names), O(names) at the first. */
const restricted = perPair((from: Resources, names: PersistentMap<true>): Resources => {
  const last = latest.get(names)
  const chosen = last ? followed(last, from, names) : picked(from, names)
  latest.set(names, { from, chosen })
  return chosen
})

function picked(from: Resources, names: PersistentMap<true>): Resources {
  return PersistentMap.empty<NonNullable<ReturnType<Resources['get']>>>().edit(draft => {
    for (const name of names.keys()) {
      const resource = from.get(name)
      if (resource) draft.set(resource.name, resource)
    }
  })
}

function followed(last: Selected, from: Resources, names: PersistentMap<true>): Resources {
  return last.chosen.edit(draft => {
    for (const { key, new: resource } of diff(last.from, from)) {
      if (!names.has(key)) continue
      if (resource === undefined) draft.delete(key)
      else draft.set(key, resource)
    }
  })
}

/** The resources that the subscription covers. */
export function select(from: Resources, subscription: Subscription): Resources {
  return subscription.wildcard ? from : restricted(from, subscription.names.all)
}

export function covers(subscription: Subscription, name: string): boolean {
  return subscription.wildcard || subscription.names.all.has(name)
}
