import type { Clock, KindId, Log, Metrics } from '../../core/index.js'
import type { KubeClient } from '../../kube/index.js'
import type { Hint } from '../hint.js'
import type { Resolve } from './addresses.js'

/** How a sender shows who it is. Files are read again when they change. */
export interface Credentials {
  /** Bearer token: the first line, as in the next file. */
  readonly tokenFile?: string
  /** HMAC key, see {@link signed}. */
  readonly hmacFile?: string
  /** Client certificate, mTLS. */
  readonly certFile?: string
  readonly keyFile?: string
  /** Who may have signed the server's certificate. Default: the authorities of this machine. */
  readonly caFile?: string
  /** Name that the server's certificate must carry, where it is not the host that is called (a headless Service's addresses). */
  readonly serverName?: string
}

export interface RelayOptions {
  readonly client: KubeClient
  readonly kinds: readonly KindId[]
  /** URLs of receivers (`https://host:port`); a host of several addresses (a headless Service) is one receiver for each, looked up again as they change. */
  readonly targets: readonly string[]
  readonly credentials: Credentials
  /** Bytes that may wait for one target before it is sent a SYNC instead. Default 64 MiB. */
  readonly bufferBytes?: number
  /** Addresses of a host name. Default: the machine's look-up. */
  readonly resolve?: Resolve
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
}

/**
 * list+watch of every kind → batches → POST /webhooks/watch of every target, at least once. Secrets and ConfigMaps are watched
 * as metadata and told of as HINTs.
 */
export interface Relay {
  /** False until every kind is watched (or absent). */
  ready(): boolean
  /** What is wrong now: kinds that cannot be watched, targets that do not answer. */
  degraded(): readonly { readonly source: string; readonly message: string }[]
  close(): Promise<void>
}

export interface ForwarderOptions {
  /**
   * `host:port` of every serving replica; a name of several addresses is all of them. Itself may be among them. TLS is
   * spoken where the credentials name an authority, a certificate or a server name; an `http(s)://` URL says it itself.
   */
  readonly peers: readonly string[]
  readonly credentials: Credentials
  /** Addresses of a host name. Default: the machine's look-up. */
  readonly resolve?: Resolve
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
}

/** Passes hints on to every serving replica, briefly retried, no truth if lost. */
export interface Forwarder {
  /** De-duplicated and rate-limited; never throws. */
  send(hint: Hint): void
  close(): void
}
