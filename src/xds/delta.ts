import type { Resource, ResourceType } from '../envoy/index.js'
import type { InFlight, Moment, Refusal, Response, Talk, Verdict } from './dialogue.js'
import { beatIsDue, firstTalk, onItsWay, withBeat } from './dialogue.js'
import { perObject } from './memo.js'
import type { Changes, Resources } from './snapshot.js'
import { changesBetween, inOrder, listsAll } from './snapshot.js'
import { covers, edited, select } from './subscription.js'
import type { DeltaRequest } from './wire.js'
import { deltaBody } from './wire.js'

/** Incremental: a response carries what changed (xDS protocol, "Incremental xDS"). */
export interface Delta extends Talk {
  readonly protocol: 'delta'
  /** `initial_resource_versions` of an earlier stream, not compared yet. */
  readonly claim: ReadonlyMap<string, string> | undefined
  /** Names that were asked for; those that do not exist are answered once, as removed. */
  readonly unanswered: readonly string[]
  /** Parts of a refused response, each to be sent by itself, until the resource at fault stands alone. */
  readonly retries: readonly (readonly string[])[]
  readonly retriesLeft: number
  readonly refusals: ReadonlyMap<string, Refusal>
}

/** Enough to single out a handful of bad resources among thousands, and an end when all are bad. */
const RETRIES = 64

export const newDelta = (type: ResourceType): Delta => ({
  ...firstTalk(type),
  protocol: 'delta',
  claim: undefined,
  unanswered: [],
  retries: [],
  retriesLeft: RETRIES,
  refusals: new Map(),
})

/** Takes in a request. Subscriptions count whatever the nonce says. */
export function receiveDelta(talk: Delta, request: DeltaRequest, now: number): [Delta, Verdict] {
  const [answered, verdict] = answer(talk, request, now)
  return [subscribed(answered, request), verdict]
}

function answer(talk: Delta, { nonce, refusal }: DeltaRequest, now: number): [Delta, Verdict] {
  const of = talk.inFlight
  if (nonce === '') return [talk, { kind: 'asked' }]
  if (of === undefined || nonce !== of.nonce) return [talk, { kind: 'stale' }]
  const names = namesIn(of)
  if (refusal === undefined) {
    const refusals = without(talk.refusals, [...names, ''])
    const through = of.whole && !owes(talk) ? of.generation : talk.through
    return [
      { ...talk, inFlight: undefined, refusals, through },
      { kind: 'accepted', of, after: now - of.at },
    ]
  }
  const verdict = { kind: 'refused', of, message: refusal } as const
  return [refused({ ...talk, inFlight: undefined }, of, { message: refusal, at: now }), verdict]
}

const namesIn = (of: InFlight) => [...of.changed.map(resource => resource.name), ...of.removed]

/** Something was asked for while the response was under way. */
const owes = (talk: Delta) => talk.through === -1

function without(refusals: Delta['refusals'], names: readonly string[]): Delta['refusals'] {
  if (refusals.size === 0) return refusals
  const rest = new Map(refusals)
  for (const name of names) rest.delete(name)
  return rest
}

/** A client may drop a whole response for one bad resource: the halves are sent again, each by itself. */
function refused(talk: Delta, of: InFlight, { message, at }: Pick<Refusal, 'message' | 'at'>): Delta {
  const names = namesIn(of)
  if (names.length > 1 && talk.retriesLeft > 0) {
    const middle = names.length >> 1
    const halves = [names.slice(0, middle), names.slice(middle)]
    return { ...talk, retries: [...halves, ...talk.retries], retriesLeft: talk.retriesLeft - 1 }
  }
  const refusals = new Map(talk.refusals)
  for (const name of names.length > 0 ? names : ['']) {
    refusals.set(name, { message, at, generation: of.generation })
  }
  return { ...talk, refusals }
}

/**
 * Subscribing again to what is subscribed already says that the client has it no more; unsubscribing a name under
 * the wildcard asks whether the wildcard covers it. Both forget that it was sent.
 */
function subscribed(talk: Delta, request: DeltaRequest): Delta {
  const { subscribe, unsubscribe } = request
  if (talk.heard && subscribe.length === 0 && unsubscribe.length === 0) return talk
  const stars = starsIn(talk, request)
  const named = subscribe.filter(name => name !== '*')
  const subscription = {
    wildcard: stars.wildcard,
    names: edited(talk.subscription.names, named, unsubscribe),
  }
  const forgotten = [...named, ...unsubscribe.filter(name => name !== '*')]
  const kept = stars.again ? select(talk.sent, { ...subscription, wildcard: false }) : talk.sent
  const claims = !talk.heard && request.initialVersions.size > 0
  return {
    ...talk,
    heard: true,
    subscription,
    sent: select(
      kept.edit(draft => forgotten.forEach(name => draft.delete(name))),
      subscription,
    ),
    unanswered: [...talk.unanswered, ...forgotten],
    refusals: without(talk.refusals, forgotten),
    claim: claims ? request.initialVersions : talk.claim,
    asked: talk.asked || (stars.starts && !claims),
    through: -1,
  }
}

/** A first request without names is a wildcard for listeners and clusters ("legacy wildcard"). */
function starsIn({ heard, type, subscription }: Delta, { subscribe, unsubscribe }: DeltaRequest) {
  const legacy = !heard && subscribe.length === 0 && listsAll(type)
  const starts = legacy || subscribe.includes('*')
  const wildcard = starts || (subscription.wildcard && !unsubscribe.includes('*'))
  return { wildcard, starts, again: starts && subscription.wildcard }
}

/** Has these names sent again, though nothing differs. */
export function forgetSent(talk: Delta, names: readonly string[]): Delta {
  const sent = talk.sent.edit(draft => names.forEach(name => draft.delete(name)))
  return sent === talk.sent ? talk : { ...talk, sent, through: -1 }
}

/** The response that is due, if any. */
export function respondDelta(talk: Delta, visible: Resources, moment: Moment): [Delta, Response | undefined] {
  if (talk.inFlight) return [talk, undefined]
  const state = compared(talk, visible)
  const selection = select(visible, state.subscription)
  const due = duePart(state, selection, moment)
  if (due) return sent(state, selection, due, moment)
  const settled = { ...state, unanswered: [], through: moment.generation, retriesLeft: RETRIES }
  const quiet = { ...settled, sent: moment.keepsForgotten ? state.sent : selection }
  return beatIsDue(quiet, moment.now) ? beat(quiet, moment) : [withBeat(quiet, moment.now), undefined]
}

const nothing = new Uint8Array()

/** What an earlier stream left with the client, in a version that is not ours (or not ours any more). */
function forgotten(type: ResourceType, name: string, version: string): Resource {
  return { type, name, version, bytes: nothing }
}
const isForgotten = ({ bytes }: Resource) => bytes === nothing

function compared(talk: Delta, visible: Resources): Delta {
  const { claim, type, subscription } = talk
  if (claim === undefined) return talk
  const selection = select(visible, subscription)
  const sent = talk.sent.edit(draft => {
    for (const [name, version] of claim) {
      if (!covers(subscription, name)) continue
      const resource = selection.get(name)
      draft.set(name, resource?.version === version ? resource : forgotten(type, name, version))
    }
  })
  return { ...talk, sent, claim: undefined }
}

/** A part of what is due: what one response carries. */
interface Part {
  readonly set: readonly Resource[]
  readonly removed: readonly string[]
  readonly whole: boolean
  readonly retries: Delta['retries']
  /** All that is due, when the part is no more and no less. */
  readonly changes?: Changes
}

function duePart(talk: Delta, selection: Resources, moment: Moment): Part | undefined {
  const [names, ...retries] = talk.retries
  if (names) return retriedPart(names, retries, selection)
  const changes = changesBetween(talk.sent, selection)
  const set = upTo(moment.maxBytes, changes.set)
  const whole = set.length === changes.set.length
  if (!whole) return { set, removed: [], whole, retries }
  const gone = changes.removed.filter(resource => !(moment.keepsForgotten && isForgotten(resource)))
  const unknown = unknownNames(talk, selection)
  if (set.length + gone.length + unknown.length === 0 && !talk.asked) return undefined
  const removed = [...gone.map(resource => resource.name), ...unknown]
  const all = unknown.length === 0 && gone.length === changes.removed.length
  return { set, removed, whole, retries, ...(all && { changes }) }
}

/** Names that were asked for and do not exist; what was sent once is among the removed anyway. */
function unknownNames({ unanswered, subscription, sent }: Delta, selection: Resources): readonly string[] {
  return [...new Set(unanswered)].filter(
    name => !selection.has(name) && !sent.has(name) && covers(subscription, name),
  )
}

function retriedPart(names: readonly string[], retries: Delta['retries'], selection: Resources): Part {
  const set = names.map(name => selection.get(name)).filter(resource => resource !== undefined)
  return { set, removed: names.filter(name => !selection.has(name)), whole: false, retries }
}

/** Resources whose bytes come to no more than `limit`, but at least one. */
function upTo(limit: number, resources: readonly Resource[]): readonly Resource[] {
  let size = 0
  const end = resources.findIndex(({ bytes }, at) => (size += bytes.length) > limit && at > 0)
  return end < 0 ? resources : resources.slice(0, end)
}

const bodyOf = perObject((changes: Changes) =>
  deltaBody(
    (changes.set[0] ?? (changes.removed[0] as Resource)).type,
    changes.set,
    changes.removed.map(resource => resource.name),
  ),
)

function sent(talk: Delta, selection: Resources, part: Part, { generation, now }: Moment): [Delta, Response] {
  const { set, removed, whole, retries, changes } = part
  const nonce = String(talk.nonce + 1)
  const shared = changes && changes.set.length + changes.removed.length > 0
  const body = shared ? bodyOf(changes) : deltaBody(talk.type, set, removed)
  const told = changes
    ? selection
    : talk.sent.edit(draft => {
        for (const resource of set) draft.set(resource.name, resource)
        for (const name of removed) draft.delete(name)
      })
  const of = { nonce, generation, at: now, whole, changed: set, removed }
  const unanswered = whole ? [] : talk.unanswered
  const state = onItsWay({ ...talk, sent: told, asked: false, retries, unanswered }, of, whole)
  return [withBeat(state, now), { nonce, body }]
}

function beat(talk: Delta, { now, generation }: Moment): [Delta, Response] {
  const nonce = String(talk.nonce + 1)
  const living = inOrder(talk.sent).filter(resource => resource.ttlMs !== undefined)
  const of = { nonce, generation, at: now, whole: true, changed: [], removed: [] }
  const body = deltaBody(talk.type, living, [], true)
  return [withBeat(onItsWay(talk, of), now, true), { nonce, body }]
}
