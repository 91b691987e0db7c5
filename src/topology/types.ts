import type { KindId, Locator } from '../core/index.js'
import type { BackendObjectReference, LabelSelector, ParentReference } from '../kinds/index.js'

/** Why something did not come about: `reason` is the specification's word where it has one. */
export interface Reason {
  readonly reason: string
  readonly message: string
}

/** A listener of a Gateway of ours. Keyed by `section(gateway, name)`. */
export interface Listener {
  readonly gateway: Locator
  readonly name: string
  readonly port: number
  readonly protocol: string
  /** Lower case; absent = every host. */
  readonly hostname?: string
  readonly namespaces: {
    readonly from: 'All' | 'Same' | 'Selector' | 'None'
    readonly selector?: LabelSelector
  }
  /** Route kinds it takes: what was asked for, cut to what its protocol can carry. */
  readonly kinds: readonly KindId[]
  /** Asked-for kinds that its protocol cannot carry (ResolvedRefs=False, InvalidRouteKinds). */
  readonly invalidKinds: readonly string[]
  /** Accepted=False because of another listener or of an unsupported protocol. Routes do not attach. */
  readonly refused?: Reason & { readonly conflicted: boolean }
}

/** What one parentRef of a route came to. */
export interface Attachment {
  /** Position in `spec.parentRefs`. */
  readonly position: number
  readonly parentRef: ParentReference
  readonly gateway: Locator
  /** The listeners it attached to, by locator order, with the hostnames that meet (`*` = any). */
  readonly listeners: readonly { readonly listener: Locator; readonly hostnames: readonly string[] }[]
  /** Accepted=False where it attached to none: NoMatchingParent, NotAllowedByListeners, NoMatchingListenerHostname. */
  readonly refused?: Reason
  /** For each listener that was looked at and not attached to, the reason. */
  readonly missed: readonly { readonly listener: Locator; readonly reason: Reason }[]
}

/** All parentRefs of one route that name a Gateway of ours. Keyed by the route's locator. */
export interface RouteAttachments {
  readonly route: Locator
  readonly parents: readonly Attachment[]
}

/** What a backendRef (of a rule or of a mirror) leads to. */
export type BackendTarget =
  | {
      readonly kind: 'service'
      readonly target: Locator
      readonly port: number
      /** The Service port's name, by which EndpointSlices are matched (`''` when it has none). */
      readonly portName: string
      readonly appProtocol?: string
    }
  | { readonly kind: 'backend'; readonly target: Locator }
  | {
      readonly kind: 'invalid'
      /** Where it points, resolvable or not. */
      readonly target: Locator
      /** BackendNotFound, RefNotPermitted, InvalidKind, UnsupportedProtocol, UnsupportedValue. */
      readonly reason: string
      readonly message: string
    }

/** One reference of a route to a backend. */
export interface BackendReference {
  /** `spec.rules[0].backendRefs[1]`, `spec.rules[0].filters[2].requestMirror.backendRef`, … */
  readonly path: string
  readonly rule: number
  readonly ref: BackendObjectReference
  readonly target: BackendTarget
}

/** All backend references of one route, in order of path. Keyed by the route's locator. */
export interface RouteBackends {
  readonly route: Locator
  readonly references: readonly BackendReference[]
}
