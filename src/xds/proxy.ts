import type { Resource, ResourceType } from '../envoy/index.js'
import type { Delta } from './delta.js'
import { forgetSent, newDelta, receiveDelta, respondDelta } from './delta.js'
import type { InFlight, Moment, Response, Verdict } from './dialogue.js'
import type { Impatience, Limits, Progress, Removal, View } from './order.js'
import {
  advanced,
  freshView,
  returningView,
  sentClusters,
  settled,
  visible,
  wakesAt,
  warmed,
} from './order.js'
import type { Resources, Snapshot } from './snapshot.js'
import { pushOrder } from './snapshot.js'
import type { Sotw } from './sotw.js'
import { askedAgain, newSotw, receiveSotw, respondSotw } from './sotw.js'
import { covers } from './subscription.js'
import type { DeltaRequest, SotwRequest } from './wire.js'

/** One proxy as the server sees it: what it may be told, and the talks it holds, on one stream or on several. */
export interface Proxy {
  /** `undefined`: its Gateway was not published yet, and nothing is answered. */
  readonly view: View | undefined
  readonly talks: readonly StreamTalk[]
}

export interface StreamTalk {
  readonly stream: number
  readonly talk: Sotw | Delta
}

export const newProxy: Proxy = { view: undefined, talks: [] }

export type ProxyEvent =
  | {
      readonly kind: 'sotw'
      readonly stream: number
      readonly type: ResourceType
      readonly request: SotwRequest
    }
  | {
      readonly kind: 'delta'
      readonly stream: number
      readonly type: ResourceType
      readonly request: DeltaRequest
    }
  | { readonly kind: 'warm'; readonly cluster: string; readonly version: string }
  | { readonly kind: 'closed'; readonly stream: number }
  /** A snapshot was published, time passed, or a stream can be written to again. */
  | { readonly kind: 'moved' }

export type Effect =
  | {
      readonly kind: 'send'
      readonly stream: number
      readonly type: ResourceType
      readonly response: Response
    }
  | {
      readonly kind: 'heard'
      readonly stream: number
      readonly type: ResourceType
      readonly verdict: Verdict
    }
  /** Find out when the cluster is warm. */
  | { readonly kind: 'warm'; readonly cluster: string; readonly version: string }
  /** Listeners and routes went on before all was ready. */
  | { readonly kind: 'hurried'; readonly why: Impatience }

export interface Surroundings {
  readonly now: number
  /** The newest of the proxy's Gateway. */
  readonly snapshot: Snapshot | undefined
  /** What that Gateway removed lately. */
  readonly recent: readonly Removal[]
  readonly limits: Limits
  readonly maxBytes: number
  /** False while the stream has more to write than the client reads. */
  writable(stream: number): boolean
}

/** What the event makes of the proxy, and what is to be done about it. */
export function react(proxy: Proxy, event: ProxyEvent, around: Surroundings): [Proxy, readonly Effect[]] {
  const effects: Effect[] = []
  const heard = taken(proxy, event, around.now, effects)
  const view = viewOf(heard, around)
  const next = view ? atRest(view, heard.talks, around, effects) : heard
  return [next, effects]
}

/** When time alone changes something next, in milliseconds since the epoch; `undefined` = never. */
export function proxyWakesAt({ view, talks }: Proxy, limits: Limits, now: number): number | undefined {
  // A beat that is overdue waits for the client, not for time.
  const beats = talks.map(({ talk }) => talk.beatAt)
  const times = [view && wakesAt(view, limits, now), ...beats].filter(time => time !== undefined)
  const ahead = times.filter(time => time > now)
  return ahead.length === 0 ? undefined : Math.min(...ahead)
}

function taken(proxy: Proxy, event: ProxyEvent, now: number, effects: Effect[]): Proxy {
  switch (event.kind) {
    case 'moved':
      return proxy
    case 'warm':
      return proxy.view ? { ...proxy, view: warmed(proxy.view, event.cluster, event.version) } : proxy
    case 'closed':
      return { ...proxy, talks: proxy.talks.filter(({ stream }) => stream !== event.stream) }
    default:
      return heardFrom(proxy, event, now, effects)
  }
}

type RequestEvent = Extract<ProxyEvent, { readonly kind: 'sotw' | 'delta' }>

function heardFrom(proxy: Proxy, event: RequestEvent, now: number, effects: Effect[]): Proxy {
  const { stream, type } = event
  const [talk, verdict] = received(proxy, event, now)
  effects.push({ kind: 'heard', stream, type, verdict })
  const others = proxy.talks.filter(other => other.stream !== stream || other.talk.type !== type)
  const next = { ...proxy, talks: [...others, { stream, talk }] }
  if (type !== 'cluster' || (verdict.kind !== 'accepted' && verdict.kind !== 'refused')) return next
  effects.push(...coldClusters(next, verdict.of))
  return { ...next, talks: next.talks.map(other => answeredAgain(other, verdict.of.stale)) }
}

function received({ talks }: Proxy, event: RequestEvent, now: number): [Sotw | Delta, Verdict] {
  const { stream, type } = event
  const held = talks.find(other => other.stream === stream && other.talk.type === type)?.talk
  if (event.kind === 'sotw') {
    if (held?.protocol === 'sotw') return receiveSotw(held, event.request, now)
    // The client keeps the version of a type, not whether it still has the resources: on a stream that was sent
    // something it may have let go of them since. Only what is asked for before that is taken at its word.
    const opening = !talks.some(other => other.stream === stream && other.talk.nonce > 0)
    return receiveSotw(newSotw(type), opening ? event.request : { ...event.request, version: '' }, now)
  }
  return receiveDelta(held?.protocol === 'delta' ? held : newDelta(type), event.request, now)
}

/** Whether a cluster is warm is worth asking only after the proxy has it. */
function coldClusters({ view }: Proxy, { changed }: InFlight): Effect[] {
  return changed
    .filter(({ name, version }) => {
      const entry = view?.arriving.get(name)
      return entry?.warms === true && entry.version === version
    })
    .map(({ name, version }) => ({ kind: 'warm', cluster: name, version }))
}

/** A cluster that changed warms anew and waits for its endpoints, though they are what they were. */
function answeredAgain(one: StreamTalk, names: readonly string[]): StreamTalk {
  const { talk } = one
  if (talk.type !== 'endpoint' || names.length === 0) return one
  if (talk.protocol === 'delta') return { ...one, talk: forgetSent(talk, names) }
  return names.some(name => covers(talk.subscription, name)) ? { ...one, talk: askedAgain(talk) } : one
}

function viewOf({ view, talks }: Proxy, { snapshot, recent, now }: Surroundings): View | undefined {
  // Whether the proxy is fresh or came back shows in its first request only.
  if (snapshot === undefined || (view === undefined && talks.length === 0)) return undefined
  if (view !== undefined) return advanced(view, snapshot, now)
  return talks.some(({ talk }) => talk.claim !== undefined)
    ? returningView(snapshot, recent, now)
    : freshView(snapshot)
}

/** Answers and takes steps until only the proxy or time can bring the next one. */
function atRest(from: View, talking: readonly StreamTalk[], around: Surroundings, effects: Effect[]): Proxy {
  let [view, talks] = answered(from, talking, around, effects)
  for (;;) {
    const [next, why] = settled(view, progress(talks, view), around.limits, around.now)
    if (why !== undefined) effects.push({ kind: 'hurried', why })
    if (!tellsMore(view, next)) return { view: next, talks }
    ;[view, talks] = answered(next, talks, around, effects)
  }
}

function tellsMore(before: View, after: View): boolean {
  if (before.back !== after.back || before.target?.snapshot !== after.target?.snapshot) return true
  if ((before.forgotten === undefined) !== (after.forgotten === undefined)) return true
  return pushOrder.some(type => visible(before, type) !== visible(after, type))
}

function answered(
  from: View,
  talking: readonly StreamTalk[],
  around: Surroundings,
  effects: Effect[],
): [View, readonly StreamTalk[]] {
  let view = from
  const talks = [...talking]
  for (const type of pushOrder) {
    const resources = visible(view, type)
    if (resources === undefined) continue
    for (const [at, one] of talks.entries()) {
      if (one.talk.type !== type || !around.writable(one.stream)) continue
      const [talk, response] = respond(one.talk, resources, momentOf(view, type, around))
      talks[at] = { ...one, talk }
      if (response === undefined) continue
      effects.push({ kind: 'send', stream: one.stream, type, response })
      if (type !== 'cluster' || talk.inFlight === undefined) continue
      const { changed } = talk.inFlight
      talks[at] = { ...one, talk: withStale(talk, staleEndpoints(changed, talks)) }
      view = sentClusters(view, changed)
    }
  }
  return [view, talks]
}

function momentOf(view: View, type: ResourceType, { now, maxBytes }: Surroundings): Moment {
  const { generation, resources } = shown(view, type)
  // A listener goes before what it names.
  const keepsForgotten = view.forgotten !== undefined && type !== 'listener'
  return { now, maxBytes, generation, published: resources[type], keepsForgotten }
}

function respond(
  talk: Sotw | Delta,
  resources: Resources,
  moment: Moment,
): [Sotw | Delta, Response | undefined] {
  return talk.protocol === 'sotw'
    ? respondSotw(talk, resources, moment)
    : respondDelta(talk, resources, moment)
}

/** EDS names of these clusters that were answered already, before the clusters changed. */
function staleEndpoints(changed: readonly Resource[], talks: readonly StreamTalk[]): readonly string[] {
  const told = talks.filter(({ talk }) => talk.type === 'endpoint' && talk.sent.size > 0)
  if (told.length === 0) return []
  const names = changed.map(({ edsName }) => edsName).filter(name => name !== undefined)
  return names.filter(name => told.some(({ talk }) => talk.sent.has(name)))
}

function withStale(talk: Sotw | Delta, stale: readonly string[]): Sotw | Delta {
  if (talk.inFlight === undefined || stale.length === 0) return talk
  return { ...talk, inFlight: { ...talk.inFlight, stale } }
}

function progress(talks: readonly StreamTalk[], view: View): Progress {
  const of = (type: ResourceType) => talks.map(({ talk }) => talk).filter(talk => talk.type === type)
  return {
    acknowledged: (type, generation) => of(type).every(({ through }) => through >= generation),
    refused: (type, after) =>
      of(type).some(talk => refusedSince(talk, after, shown(view, type).resources[type])),
    subscribes: type => of(type).length > 0,
    asksFor: name => of('endpoint').some(({ subscription }) => covers(subscription, name)),
  }
}

/** The snapshot that the type is told from. */
function shown({ front, back }: View, type: ResourceType): Snapshot {
  return type === 'listener' || type === 'route' ? (back ?? front) : front
}

/** What was refused and then taken back holds nothing up. */
function refusedSince(talk: Sotw | Delta, after: number, wanted: Resources): boolean {
  if (talk.protocol === 'sotw') {
    const { refusal } = talk
    if (refusal === undefined || refusal.generation <= after) return false
    return refusal.resources.length === 0 || refusal.resources.some(name => wanted.has(name))
  }
  const standing = [...talk.refusals].filter(([name]) => name === '' || wanted.has(name))
  return standing.some(([, { generation }]) => generation > after)
}
