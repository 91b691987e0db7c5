import type { Resource, ResourceType } from '../envoy/index.js'
import type { Resources } from './snapshot.js'
import { noResources, shortestTtl } from './snapshot.js'
import type { Subscription } from './subscription.js'
import { noSubscription } from './subscription.js'

/** What a client said when it refused, in its own words (secrets already removed). */
export interface Refusal {
  readonly message: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The generation that was refused. */
  readonly generation: number
}

/** The one response that the client has not answered yet. */
export interface InFlight {
  readonly nonce: string
  readonly generation: number
  readonly at: number
  /** True when nothing of that generation remains to be sent. */
  readonly whole: boolean
  /** New or changed resources that it carries. */
  readonly changed: readonly Resource[]
  /** Names that it removes, or says to be unknown. */
  readonly removed: readonly string[]
  /** EDS names that were answered before and have to be again, once this response has been. */
  readonly stale: readonly string[]
}

/** One stream's talk about one resource type: what SotW and Delta have in common. */
export interface Talk {
  readonly type: ResourceType
  /** True from the first request on. */
  readonly heard: boolean
  readonly subscription: Subscription
  /** Responses sent so far; the last one's nonce. */
  readonly nonce: number
  /** What the client has been told, within its subscription: told is not accepted. */
  readonly sent: Resources
  /** An answer is owed even when nothing differs. */
  readonly asked: boolean
  readonly inFlight: InFlight | undefined
  /** All of this generation and of those before it has been acknowledged; -1 while something is owed. */
  readonly through: number
  /** When resources with a TTL are to be refreshed next, in milliseconds since the epoch. */
  readonly beatAt: number | undefined
}

export const firstTalk = (type: ResourceType): Talk => ({
  type,
  heard: false,
  subscription: noSubscription,
  nonce: 0,
  sent: noResources,
  asked: false,
  inFlight: undefined,
  through: -1,
  beatAt: undefined,
})

/** What a request turned out to be. */
export type Verdict =
  /** Answers an older response: a newer one is on its way. */
  | { readonly kind: 'stale' }
  /** Asks for something. */
  | { readonly kind: 'asked' }
  /** ACK, so many milliseconds after the response. */
  | { readonly kind: 'accepted'; readonly of: InFlight; readonly after: number }
  /** NACK. */
  | { readonly kind: 'refused'; readonly of: InFlight; readonly message: string }

/** What a talk is to be told now. */
export interface Moment {
  /** What the Gateway has of the type; what is visible besides was removed and lingers. */
  readonly published: Resources
  readonly generation: number
  readonly now: number
  /** Delta: a response is split so that its resources take no more bytes than this, unless it is a single one. */
  readonly maxBytes: number
  /** Delta: what an earlier stream left with the client, and nobody knows any more, is not removed yet. */
  readonly keepsForgotten: boolean
}

/** The talk with one more response on its way. What was owed is in it, but not acknowledged yet. */
export function onItsWay<T extends Talk>(talk: T, of: Omit<InFlight, 'stale'>, whole = true): T {
  const through = whole ? Math.max(talk.through, 0) : talk.through
  return { ...talk, nonce: talk.nonce + 1, inFlight: { ...of, stale: [] }, through }
}

/** Sees to it that resources with a TTL are refreshed at half their time. */
export function withBeat<T extends Talk>(talk: T, now: number, again = false): T {
  const ttl = shortestTtl(talk.sent)
  if (ttl === 0) return talk.beatAt === undefined ? talk : { ...talk, beatAt: undefined }
  return talk.beatAt === undefined || again ? { ...talk, beatAt: now + ttl / 2 } : talk
}

export function beatIsDue({ beatAt, sent }: Talk, now: number): boolean {
  return beatAt !== undefined && now >= beatAt && shortestTtl(sent) > 0
}

export interface Response {
  readonly nonce: string
  /** The message but for its nonce, shared by all streams that are sent the same. */
  readonly body: Uint8Array
}
