import type { Resource } from '../envoy/index.js'
import type { Moment, Refusal, Response, Talk, Verdict } from './dialogue.js'
import { beatIsDue, firstTalk, onItsWay, withBeat } from './dialogue.js'
import { perObject } from './memo.js'
import type { Changes, Resources } from './snapshot.js'
import { changesBetween, inOrder, listsAll, noResources, versionOf } from './snapshot.js'
import type { Subscription } from './subscription.js'
import { covers, exactly, select } from './subscription.js'
import type { SotwRequest } from './wire.js'
import { sotwBody } from './wire.js'

/** Names that were refused and are not published any more, with what the client has in their place. */
type Spoiled = ReadonlyMap<string, Resource | undefined>

/** State of the world: a response carries all that was asked for (xDS protocol, "SotW"). */
export interface Sotw extends Talk {
  readonly protocol: 'sotw'
  /** `version_info` of an earlier stream, not compared yet. */
  readonly claim: string | undefined
  readonly accepted: Resources
  readonly spoiled: Spoiled
  readonly refusal: (Refusal & { readonly resources: readonly string[] }) | undefined
}

export const newSotw = (type: Sotw['type']): Sotw => ({
  ...firstTalk(type),
  protocol: 'sotw',
  claim: undefined,
  accepted: noResources,
  spoiled: new Map(),
  refusal: undefined,
})

/** Takes in a request. */
export function receiveSotw(talk: Sotw, request: SotwRequest, now: number): [Sotw, Verdict] {
  const { nonce } = request
  if (nonce !== '' && talk.nonce > 0 && nonce !== String(talk.nonce)) return [talk, { kind: 'stale' }]
  const [answered, verdict] = answer(talk, request, now)
  const subscription = subscribed(talk, request)
  if (!talk.heard || subscription !== talk.subscription) {
    return [resubscribed(answered, subscription, request), verdict]
  }
  const again = verdict.kind === 'asked' && nonce !== '' && !listsAll(talk.type)
  return [again ? askedAgain(answered) : answered, verdict]
}

/** The request answers the response in flight, or none. */
function answer(talk: Sotw, { nonce, refusal }: SotwRequest, now: number): [Sotw, Verdict] {
  const of = talk.inFlight
  if (of === undefined || nonce !== of.nonce) return [talk, { kind: 'asked' }]
  if (refusal === undefined) {
    const through = talk.through === -1 ? -1 : of.generation
    const next = { ...talk, inFlight: undefined, accepted: talk.sent, refusal: undefined, through }
    return [next, { kind: 'accepted', of, after: now - of.at }]
  }
  const { generation } = of
  const resources = atFault(changesBetween(talk.accepted, talk.sent).set, refusal)
  const next = { ...talk, inFlight: undefined, refusal: { message: refusal, at: now, generation, resources } }
  return [next, { kind: 'refused', of, message: refusal }]
}

/** The changed resources that the client names in its words; all changed ones when it names none. */
function atFault(changed: readonly Resource[], words: string): readonly string[] {
  const names = changed.map(resource => resource.name)
  const named = names.filter(name => words.includes(name))
  return named.length > 0 ? named : names
}

/**
 * No names are a wildcard for listeners and clusters as long as the stream never gave any; after names, none are
 * none. `*` is a wildcard always.
 */
function subscribed({ type, subscription }: Sotw, { names }: SotwRequest): Subscription {
  const explicit = names.filter(name => name !== '*')
  const named = subscription.named === true || names.length > 0
  const next = {
    wildcard: explicit.length < names.length || (listsAll(type) && !named),
    names: exactly(subscription.names, explicit),
    named,
  }
  const same = next.wildcard === subscription.wildcard && next.names === subscription.names
  return same && named === (subscription.named === true) ? subscription : next
}

/** What was unsubscribed is forgotten, so that subscribing again brings it again. */
function resubscribed(talk: Sotw, subscription: Subscription, { version }: SotwRequest): Sotw {
  const more = !talk.heard || grew(talk.subscription, subscription)
  return {
    ...talk,
    heard: true,
    subscription,
    sent: select(talk.sent, subscription),
    accepted: select(talk.accepted, subscription),
    claim: !talk.heard && version !== '' ? version : talk.claim,
    asked: talk.asked || (more && listsAll(talk.type)),
    through: -1,
  }
}

function grew(before: Subscription, after: Subscription): boolean {
  if (after.wildcard) return !before.wildcard
  for (const name of after.names.all.keys()) if (!covers(before, name)) return true
  return false
}

/**
 * Owes an answer though nothing differs. A request that acknowledges nothing and changes nothing is such an ask: it
 * comes from a cluster or listener that warms anew and has no resource yet.
 */
export function askedAgain(talk: Sotw): Sotw {
  return { ...talk, asked: true, through: -1 }
}

/** The response that is due, if any. */
export function respondSotw(talk: Sotw, visible: Resources, moment: Moment): [Sotw, Response | undefined] {
  if (talk.inFlight) return [talk, undefined]
  const asked = select(visible, talk.subscription)
  const spoiled = spoiledIn(talk, asked, moment)
  const selection = withoutSpoiled(asked, spoiled)
  const state = compared({ ...talk, spoiled }, selection)
  const changes = changesBetween(state.sent, selection)
  if (isDue(state, changes, selection)) return sent(state, selection, changes.set, moment)
  const quiet = { ...state, sent: selection, asked: false, through: moment.generation }
  return beatIsDue(quiet, moment.now) ? beat(quiet, moment) : [withBeat(quiet, moment.now), undefined]
}

/** What was refused and then taken back, as long as it lingers. */
function spoiledIn({ refusal, accepted, spoiled }: Sotw, asked: Resources, { published }: Moment): Spoiled {
  // Of a client that came back and has accepted nothing since, nobody knows what it has.
  if (spoiled.size === 0 && (refusal === undefined || accepted.size === 0)) return spoiled
  const lingering = changesBetween(published, asked).set.filter(({ name }) => !published.has(name))
  const bad = lingering.filter(({ name, version }) => {
    return spoiled.has(name) || (refusal !== undefined && accepted.get(name)?.version !== version)
  })
  return new Map(bad.map(({ name }) => [name, spoiled.get(name) ?? accepted.get(name)]))
}

/** In its place stands what the client accepted, or nothing: else it would spoil every full response. */
function withoutSpoiled(asked: Resources, spoiled: Spoiled): Resources {
  if (spoiled.size === 0) return asked
  return asked.edit(draft => {
    for (const [name, good] of spoiled) {
      if (good) draft.set(name, good)
      else draft.delete(name)
    }
  })
}

function compared(talk: Sotw, selection: Resources): Sotw {
  if (talk.claim === undefined) return talk
  const equal = talk.claim === versionOf(selection)
  const held = equal ? { sent: selection, accepted: selection, asked: false } : {}
  return { ...talk, ...held, claim: undefined }
}

/** Of the other types absence says nothing: a response without resources would be noise. */
function isDue({ type, asked }: Sotw, changes: Changes, selection: Resources): boolean {
  if (listsAll(type)) return asked || changes.set.length > 0 || changes.removed.length > 0
  return changes.set.length > 0 || (asked && selection.size > 0)
}

const bodyOf = perObject((resources: Resources) => {
  const all = inOrder(resources)
  return sotwBody((all[0] as Resource).type, versionOf(resources), all)
})

function sent(
  talk: Sotw,
  selection: Resources,
  changed: readonly Resource[],
  { generation, now }: Moment,
): [Sotw, Response] {
  const nonce = String(talk.nonce + 1)
  const body = selection.size > 0 ? bodyOf(selection) : sotwBody(talk.type, versionOf(selection), [])
  const of = { nonce, generation, at: now, whole: true, changed, removed: [] }
  const state = onItsWay({ ...talk, sent: selection, asked: false }, of)
  return [withBeat(state, now), { nonce, body }]
}

/** Where absence is removal the bodies go along: to leave them out would remove them. */
function beat(talk: Sotw, { now, generation }: Moment): [Sotw, Response] {
  const nonce = String(talk.nonce + 1)
  const living = inOrder(talk.sent).filter(resource => resource.ttlMs !== undefined)
  const body = listsAll(talk.type)
    ? bodyOf(talk.sent)
    : sotwBody(talk.type, versionOf(talk.sent), living, true)
  const of = { nonce, generation, at: now, whole: true, changed: [], removed: [] }
  return [withBeat(onItsWay(talk, of), now, true), { nonce, body }]
}
