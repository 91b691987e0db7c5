import type { Clock, Locator, Log } from '../core/index.js'
import { perObject } from './memo.js'
import type { Meters } from './meters.js'
import type { Limits, Removal } from './order.js'
import type { Effect, Proxy, ProxyEvent } from './proxy.js'
import { newProxy, proxyWakesAt, react } from './proxy.js'
import type { Snapshot } from './snapshot.js'
import type { Stream } from './stream.js'
import type { Warmth } from './types.js'
import { withNonce } from './wire.js'

type EffectOf<K extends Effect['kind']> = Extract<Effect, { readonly kind: K }>

/** What the proxies of one Gateway share. */
export interface Home {
  readonly gateway: Locator
  snapshot: Snapshot | undefined
  /** What was removed lately, newest first. */
  recent: readonly { readonly removal: Removal; readonly at: number }[]
  readonly proxies: Set<Runner>
}

export interface Setting {
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  readonly limits: Limits
  readonly maxBytes: number
  readonly warmth: Warmth
  /** A proxy of the Gateway said yes or no. */
  heard(gateway: Locator): void
}

/** Streams in step are sent the same bytes. */
const latest = perObject<Uint8Array, { nonce: string; bytes: Buffer | undefined }>(() => ({
  nonce: '',
  bytes: undefined,
}))
function framed(body: Uint8Array, nonce: string): Buffer {
  const held = latest(body)
  if (held.bytes === undefined || held.nonce !== nonce) {
    held.nonce = nonce
    held.bytes = withNonce(body, nonce)
  }
  return held.bytes
}

/** Runs one proxy: feeds the reducer and carries out what it says. */
export class Runner {
  readonly streams = new Map<number, Stream>()
  readonly #home: Home
  readonly #setting: Setting
  #proxy = newProxy
  #wake: { readonly at: number; readonly stop: () => void } | undefined

  constructor(home: Home, setting: Setting) {
    this.#home = home
    this.#setting = setting
  }

  get proxy(): Proxy {
    return this.#proxy
  }

  handle(event: ProxyEvent): void {
    const { clock, limits, maxBytes } = this.#setting
    const now = clock.now()
    const { snapshot, recent } = this.#home
    const [proxy, effects] = react(this.#proxy, event, {
      now,
      snapshot,
      recent: recent.map(({ removal }) => removal),
      limits,
      maxBytes,
      writable: id => this.streams.get(id)?.writable === true,
    })
    this.#proxy = proxy
    for (const effect of effects) this.#carryOut(effect)
    if (event.kind === 'closed') this.streams.delete(event.stream)
    this.#setAlarm(now)
  }

  #carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'send':
        this.#send(effect)
        break
      case 'heard':
        this.#note(effect)
        break
      case 'warm':
        this.#awaitWarmth(effect)
        break
      case 'hurried':
        this.#setting.meters.hurried(effect.why)
        this.#setting.log.debug(
          { gateway: this.#home.gateway, reason: effect.why },
          'listeners and routes waited no longer',
        )
    }
  }

  #send({ stream: id, type, response }: EffectOf<'send'>): void {
    const stream = this.streams.get(id)
    if (stream === undefined) return
    this.#setting.meters.sent(type, stream.protocol)
    stream.write(framed(response.body, response.nonce))
  }

  #note({ stream: id, type, verdict }: EffectOf<'heard'>): void {
    const stream = this.streams.get(id)
    if (stream === undefined) return
    const { gateway } = this.#home
    this.#setting.meters.heard(type, stream.protocol, verdict)
    if (verdict.kind === 'refused') {
      const fields = { gateway, node: stream.node.id, type, refusal: verdict.message }
      this.#setting.log.warn(fields, 'the proxy refused its configuration and keeps the last good one')
    }
    if (verdict.kind === 'accepted' || verdict.kind === 'refused') this.#setting.heard(gateway)
  }

  #awaitWarmth({ cluster, version }: EffectOf<'warm'>): void {
    this.#setting.warmth(this.#home.gateway, cluster).then(
      () => this.handle({ kind: 'warm', cluster, version }),
      // Nobody knows: the limit decides.
      () => undefined,
    )
  }

  #setAlarm(now: number): void {
    const { clock, limits } = this.#setting
    const at = this.streams.size === 0 ? undefined : proxyWakesAt(this.#proxy, limits, now)
    if (at === this.#wake?.at) return
    this.#wake?.stop()
    this.#wake = undefined
    if (at === undefined) return
    const ring = () => {
      this.#wake = undefined
      this.handle({ kind: 'moved' })
    }
    this.#wake = { at, stop: clock.after(Math.max(0, at - now), ring) }
  }
}
