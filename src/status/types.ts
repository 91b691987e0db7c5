import type { Condition } from '../kinds/index.js'
import type { ListenerStatus, RouteParentStatus } from '../model/index.js'
import type { ClientState } from '../xds/index.js'

/** `status` exactly as Kubernetes would hold it, times included. */
export interface Status {
  readonly addresses?: readonly Address[]
  readonly conditions?: readonly Condition[]
  /** Gateway. */
  readonly listeners?: readonly ListenerStatus[]
  /** GatewayClass. */
  readonly supportedFeatures?: readonly { readonly name: string }[]
  /** Routes. */
  readonly parents?: readonly RouteParentStatus[]
}

/** An entry of a Gateway's `status.addresses`. */
export interface Address {
  readonly type: string
  readonly value: string
}

/** What only the running system knows about one Gateway; other kinds have no use for it. */
export interface Runtime {
  /** A snapshot of it has been published over xDS. */
  readonly published: boolean
  /** Its own connected proxies. */
  readonly proxies: readonly ClientState[]
  /** Where its proxies can be reached, when the model names no address. */
  readonly addresses?: readonly Address[]
}

export interface Times {
  /** The status computed before, from which unchanged conditions keep their times. */
  readonly previous?: Status | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** One condition of one object, flat: a row of `gatewright status` and of `/v1/status`. */
export interface StatusRow {
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  /** The part of the object it speaks of: `listener https`, `parent Gateway infra/public#https`. */
  readonly part?: string
  readonly type: string
  readonly status: Condition['status']
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number
  /** RFC 3339. */
  readonly lastTransitionTime?: string
}
