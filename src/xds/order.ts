import type { Resource, ResourceType } from '../envoy/index.js'
import { PersistentMap } from '../collections/index.js'
import { perObject, perPair } from './memo.js'
import type { Resources, Snapshot } from './snapshot.js'
import { changesBetween, noResources } from './snapshot.js'

/**
 * Make before break, for one proxy. Clusters, endpoints and secrets (the front) are told at once; listeners and
 * routes (the back) follow when the proxy has what they may name; what was removed lingers until nothing can
 * name it any more.
 */
export interface View {
  readonly front: Snapshot
  /** `undefined`: nothing is told yet, since the proxy came back with a state that nobody here remembers. */
  readonly back: Snapshot | undefined
  /** Where the back goes next, and since when it waits. */
  readonly target: { readonly snapshot: Snapshot; readonly since: number } | undefined
  /** Newest first. */
  readonly lingering: readonly Lingering[]
  /** Clusters that were sent for a generation that the back has not reached, and are not ready. */
  readonly arriving: ReadonlyMap<string, Arriving>
  /** The proxy came back and may hold what is not in any snapshot; when that may be removed, once it is known. */
  readonly forgotten: { readonly generation: number; readonly due: number | undefined } | undefined
}

/** What one generation removed. */
export interface Removal {
  readonly generation: number
  readonly resources: Readonly<Record<LingeringType, Resources>>
}
export type LingeringType = 'cluster' | 'endpoint' | 'secret' | 'route'

export interface Lingering {
  readonly removal: Removal
  /** Known from the moment that the proxy has acknowledged the listeners and routes of that generation. */
  readonly due: number | undefined
}

export interface Arriving {
  readonly version: string
  readonly generation: number
  /** Its endpoints have to be asked for. */
  readonly edsName: string | undefined
  /** It has to be said to be warm. */
  readonly warms: boolean
}

/** What the proxy's streams say. */
export interface Progress {
  /** Every response of the type up to that generation was acknowledged, or the type was never asked for. */
  acknowledged(type: ResourceType, generation: number): boolean
  /** A refusal of the type stands that came after that generation. */
  refused(type: ResourceType, after: number): boolean
  subscribes(type: ResourceType): boolean
  asksFor(endpoint: string): boolean
}

/** In milliseconds. */
export interface Limits {
  /** How long listeners and routes wait for what they may name. */
  readonly warmMs: number
  /** How long removed resources are kept after nothing names them. */
  readonly removalMs: number
}

const lingers: readonly LingeringType[] = ['cluster', 'endpoint', 'secret', 'route']
const front: readonly ResourceType[] = ['cluster', 'endpoint', 'secret']
const back: readonly ResourceType[] = ['listener', 'route']

/** A proxy that keeps refusing its routes keeps old clusters; this many removals are remembered for it. */
const REMOVALS = 256

const removedFrom = (type: LingeringType, older: Snapshot, newer: Snapshot): Resources => {
  const { removed } = changesBetween(older.resources[type], newer.resources[type])
  return removed.length === 0 ? noResources : PersistentMap.from(removed.map(one => [one.name, one] as const))
}

export const removalBetween = perPair((older: Snapshot, newer: Snapshot): Removal => ({
  generation: newer.generation,
  resources: {
    cluster: removedFrom('cluster', older, newer),
    endpoint: removedFrom('endpoint', older, newer),
    secret: removedFrom('secret', older, newer),
    route: removedFrom('route', older, newer),
  },
}))

/** What is told at the front, without the routes: which of those the proxy was told, only its back knows. */
const ofFront = perObject((removal: Removal): Removal => {
  const { resources } = removal
  return resources.route.size === 0
    ? removal
    : { ...removal, resources: { ...resources, route: noResources } }
})

/** The routes that a step of the back leaves behind, as the proxy was told them last. */
const routesLeft = perPair((older: Snapshot, newer: Snapshot): Removal => {
  const route = removedFrom('route', older, newer)
  const resources = { cluster: noResources, endpoint: noResources, secret: noResources, route }
  return { generation: newer.generation, resources }
})

const joined = (removal: Removal, lingering: View['lingering']): View['lingering'] =>
  isEmptyRemoval(removal) ? lingering : [{ removal, due: undefined }, ...lingering].slice(0, REMOVALS)

export const isEmptyRemoval = ({ resources }: Removal) => lingers.every(type => resources[type].size === 0)

/** A fresh proxy is held back by nothing: it asks in the order that it needs. */
export function freshView(snapshot: Snapshot): View {
  return {
    front: snapshot,
    back: snapshot,
    target: undefined,
    lingering: [],
    arriving: new Map(),
    forgotten: undefined,
  }
}

/** A proxy that came back serves traffic by a state that is not known: `recent` is what it may still name. */
export function returningView(snapshot: Snapshot, recent: readonly Removal[], now: number): View {
  return {
    ...freshView(snapshot),
    back: undefined,
    target: { snapshot, since: now },
    lingering: recent.map(removal => ({ removal, due: undefined })),
    forgotten: { generation: snapshot.generation, due: undefined },
  }
}

/** The newest snapshot is told at the front at once. A back that waits already goes where it was going. */
export function advanced(view: View, snapshot: Snapshot, now: number): View {
  if (snapshot === view.front) return view
  const lingering = joined(ofFront(removalBetween(view.front, snapshot)), view.lingering)
  return { ...view, front: snapshot, target: view.target ?? { snapshot, since: now }, lingering }
}

/** `over`, and of `under` what it does not name. */
const united = perPair((over: Resources, under: Resources): Resources =>
  over.edit(draft => {
    for (const [name, resource] of under.entries()) {
      if (draft.get(name) === undefined) draft.set(name, resource)
    }
  }),
)

/** What the proxy may be told of a type; `undefined` = nothing yet. */
export function visible(view: View, type: ResourceType): Resources | undefined {
  const from = type === 'listener' || type === 'route' ? view.back : view.front
  if (from === undefined) return undefined
  if (type === 'listener') return from.resources.listener
  return view.lingering.reduce((sum, { removal }) => {
    const under = removal.resources[type]
    return under.size === 0 ? sum : united(sum, under)
  }, from.resources[type])
}

/** Clusters were sent: those that need time hold the back, as far as it is behind. */
export function sentClusters(view: View, clusters: readonly Resource[]): View {
  if (view.target === undefined) return view
  const slow = clusters.filter(({ edsName, warms }) => edsName !== undefined || warms === true)
  if (slow.length === 0) return view
  const arriving = new Map(view.arriving)
  for (const { name, version, edsName, warms } of slow) {
    // Changed again before it was ready, it still holds up what it held up.
    const generation = view.arriving.get(name)?.generation ?? view.front.generation
    arriving.set(name, { version, generation, edsName, warms: warms === true })
  }
  return { ...view, arriving }
}

/** Somebody saw the cluster take requests. */
export function warmed(view: View, cluster: string, version: string): View {
  const entry = view.arriving.get(cluster)
  if (entry?.version !== version || !entry.warms) return view
  return { ...view, arriving: new Map(view.arriving).set(cluster, { ...entry, warms: false }) }
}

/** Why the back went on although it was not ready. */
export type Impatience = 'unacknowledged' | 'refused' | 'cold'

/** Takes every step that can be taken now: at most one for the back, so that its responses go out in between. */
export function settled(
  view: View,
  progress: Progress,
  limits: Limits,
  now: number,
): [View, Impatience | undefined] {
  const ready = { ...view, arriving: stillArriving(view, progress) }
  const [next, impatience] = stepped(ready, progress, limits, now)
  return [expired(next, progress, limits, now), impatience]
}

function stillArriving(view: View, progress: Progress): View['arriving'] {
  if (view.arriving.size === 0) return view.arriving
  const endpoints = visible(view, 'endpoint')
  const rest = [...view.arriving].filter(([, { edsName, warms }]) => {
    return warms || (edsName !== undefined && endpoints?.has(edsName) === true && !progress.asksFor(edsName))
  })
  return rest.length === view.arriving.size ? view.arriving : new Map(rest)
}

function stepped(
  view: View,
  progress: Progress,
  limits: Limits,
  now: number,
): [View, Impatience | undefined] {
  const { target } = view
  if (target === undefined) return [view, undefined]
  const why = whyNotReady(view, target.snapshot, progress)
  if (why !== undefined && now < target.since + limits.warmMs) return [view, undefined]
  const reached = target.snapshot
  const behind = view.front !== reached
  const next = {
    ...view,
    back: reached,
    lingering: view.back ? joined(routesLeft(view.back, reached), view.lingering) : view.lingering,
    target: behind ? { snapshot: view.front, since: now } : undefined,
    arriving: new Map([...view.arriving].filter(([, { generation }]) => generation > reached.generation)),
  }
  return [next, why]
}

function whyNotReady(view: View, to: Snapshot, progress: Progress): Impatience | undefined {
  const after = view.back?.generation ?? -1
  if (front.some(type => progress.refused(type, after))) return 'refused'
  if (front.some(type => !progress.acknowledged(type, to.generation))) return 'unacknowledged'
  if (view.back === undefined && !progress.subscribes('cluster')) return 'unacknowledged'
  return [...view.arriving.values()].some(({ generation }) => generation <= to.generation)
    ? 'cold'
    : undefined
}

function expired(view: View, progress: Progress, limits: Limits, now: number): View {
  if (view.lingering.length === 0 && view.forgotten === undefined) return view
  const dueFrom = (generation: number, due: number | undefined) => {
    const left = isLeft(view, generation, progress)
    // A proxy that comes back may ask for listeners or routes only after it seemed to have none: then time runs anew.
    if (due === undefined || (now >= due && !left)) return left ? now + limits.removalMs : undefined
    return due
  }
  const lingering = view.lingering
    .map(one => ({ ...one, due: dueFrom(one.removal.generation, one.due) }))
    .map(one => (one.due !== undefined && now >= one.due ? withoutClusters(one) : one))
    .filter(one => !isOver(view, one, limits, now))
  return { ...view, lingering, forgotten: recalled(view, dueFrom, now) }
}

/** The proxy has acknowledged listeners and routes that no longer name what that generation removed. */
function isLeft(view: View, generation: number, progress: Progress): boolean {
  if (view.back === undefined || view.back.generation < generation) return false
  return back.every(type => progress.acknowledged(type, generation) && !progress.refused(type, -1))
}

const clusterless = perObject((removal: Removal): Removal => ({
  ...removal,
  resources: { ...removal.resources, cluster: noResources },
}))

/** Clusters go first: then the proxy unsubscribes from what only they named. */
function withoutClusters(one: Lingering): Lingering {
  return one.removal.resources.cluster.size === 0 ? one : { ...one, removal: clusterless(one.removal) }
}

const edsNames = perObject((clusters: Resources): ReadonlySet<string> => {
  const names = [...clusters.values()].map(({ edsName }) => edsName)
  return new Set(names.filter(name => name !== undefined))
})

/** Named resources stay as long again, and endpoints as long as a cluster uses them. */
function isOver(view: View, { removal, due }: Lingering, limits: Limits, now: number): boolean {
  if (due === undefined || now < due) return false
  const { endpoint, secret, route } = removal.resources
  if (endpoint.size + secret.size + route.size === 0) return true
  if (now < due + limits.removalMs) return false
  if (endpoint.size === 0) return true
  const used = edsNames(visible(view, 'cluster') ?? noResources)
  return ![...endpoint.keys()].some(name => used.has(name))
}

function recalled(
  { forgotten }: View,
  dueFrom: (generation: number, due: number | undefined) => number | undefined,
  now: number,
): View['forgotten'] {
  if (forgotten === undefined) return undefined
  const due = dueFrom(forgotten.generation, forgotten.due)
  return due !== undefined && now >= due ? undefined : { ...forgotten, due }
}

/** When time alone changes something next; `undefined` = never. */
export function wakesAt(
  { target, lingering, forgotten }: View,
  limits: Limits,
  now: number,
): number | undefined {
  const times = lingering.flatMap(({ due }) => (due === undefined ? [] : [due, due + limits.removalMs]))
  if (target) times.push(target.since + limits.warmMs)
  if (forgotten?.due !== undefined) times.push(forgotten.due)
  const ahead = times.filter(time => time > now)
  return ahead.length === 0 ? undefined : Math.min(...ahead)
}
