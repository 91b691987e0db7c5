/**
 * The neutral model of a data plane: what each Gateway must do, with every reference resolved and every
 * decision of the Gateway API taken. Pure data; Envoy's words begin in the next room.
 */
import type { Locator } from '../core/index.js'
import type { Condition } from '../kinds/index.js'

/** One bound port of one Gateway. Keyed `<gateway>|<port>`. */
export interface Port {
  readonly gateway: Locator
  readonly port: number
  readonly protocol: 'HTTP' | 'HTTPS'
  /** HTTP: exactly one, without server names. HTTPS: one per listener that can serve, most specific name first. */
  readonly chains: readonly Chain[]
}

/** The connections of a port that share certificates and a route table. */
export interface Chain {
  /** Name of its {@link RouteTable}: `<ns>/<gateway>/<port>` or, for HTTPS, `<ns>/<gateway>/<port>/<listener>`. */
  readonly routeTable: string
  /** Listeners served, in order of name. */
  readonly listeners: readonly string[]
  /** SNI names; empty = any. Wildcards as `*.example.com`. */
  readonly serverNames: readonly string[]
  /** {@link Certificate} names (`<ns>/<secret>`), in the listener's order. Empty on HTTP. */
  readonly certificates: readonly string[]
}

/** The virtual hosts of a chain. Keyed `<gateway>|<name>`. */
export interface RouteTable {
  readonly gateway: Locator
  readonly name: string
  /** Keys of its {@link VirtualHost}s, in order of host. */
  readonly hosts: readonly string[]
}

/** One host's rules. Keyed `<gateway>|<routeTable>|<host>`. */
export interface VirtualHost {
  readonly gateway: Locator
  readonly routeTable: string
  /** `*`, `*.example.com` or `a.example.com`, lower case. */
  readonly host: string
  /** In the specification's order of precedence; may be empty (the host belongs to a listener and answers 404). */
  readonly rules: readonly Rule[]
}

/** One match of one rule of a route, with what is done with the request. */
export interface Rule {
  /** `<route locator>#<rule section>/<match number>`; unique within its host. */
  readonly id: string
  readonly route: Locator
  readonly match: Match
  readonly requestHeaders?: HeaderChange
  readonly responseHeaders?: HeaderChange
  readonly cors?: Cors
  readonly action: ForwardAction | RedirectAction | FixedAction
}

export interface Match {
  readonly path: { readonly type: 'Exact' | 'PathPrefix' | 'RegularExpression'; readonly value: string }
  readonly method?: string
  /** Names lower case; the first of equal names counts. */
  readonly headers: readonly ValueMatch[]
  readonly queryParams: readonly ValueMatch[]
}

export interface ValueMatch {
  readonly name: string
  readonly type: 'Exact' | 'RegularExpression'
  readonly value: string
}

export interface HeaderChange {
  readonly set: readonly { readonly name: string; readonly value: string }[]
  readonly add: readonly { readonly name: string; readonly value: string }[]
  readonly remove: readonly string[]
}

export interface Cors {
  readonly allowOrigins: readonly string[]
  readonly allowCredentials: boolean
  readonly allowMethods: readonly string[]
  readonly allowHeaders: readonly string[]
  readonly exposeHeaders: readonly string[]
  readonly maxAgeSeconds: number
}

export type PathChange =
  | { readonly type: 'ReplaceFullPath'; readonly value: string }
  /** Replaces the matched PathPrefix. */
  | { readonly type: 'ReplacePrefixMatch'; readonly value: string }

/** Sends the request on. */
export interface ForwardAction {
  readonly kind: 'forward'
  /** Positive weights only, at least one; zero weights and rules without a backend end in a {@link FixedAction}. */
  readonly backends: readonly WeightedBackend[]
  readonly rewrite?: { readonly hostname?: string; readonly path?: PathChange }
  readonly mirrors: readonly {
    readonly cluster: string
    /** A share of `numerator` in `denominator`. */
    readonly numerator: number
    readonly denominator: number
  }[]
  /** Whole-request time-out in ms; absent = none; 0 = none, and silence is no reason to cut the stream either. */
  readonly requestTimeoutMs?: number
  /** Per-try time-out in ms; 0 = none. */
  readonly backendTimeoutMs?: number
  /** The upgrade `websocket` is always allowed, as the specification's appProtocol ws only states an intent. */
}

export interface WeightedBackend {
  readonly weight: number
  /** A {@link Cluster} name; absent = an invalid reference, whose share answers 500. */
  readonly cluster?: string
  readonly requestHeaders?: HeaderChange
  readonly responseHeaders?: HeaderChange
  readonly rewrite?: { readonly hostname?: string }
}

export interface RedirectAction {
  readonly kind: 'redirect'
  readonly scheme?: string
  readonly hostname?: string
  /** Absent = the request's own; already reduced (no port for a scheme's well-known one). */
  readonly port?: number
  readonly path?: PathChange
  readonly statusCode: 301 | 302 | 303 | 307 | 308
}

/** Answers by itself. */
export interface FixedAction {
  readonly kind: 'fixed'
  readonly status: number
}

/** One backend and one set of connection settings, for one Gateway. Keyed `<gateway>|<name>`. */
export interface Cluster {
  readonly gateway: Locator
  /** `<kind>/<ns>/<name>/<port>/<hash of the connection settings>`, for example `service/shop/cart/8080/5d41402a`. */
  readonly name: string
  readonly protocol: 'http1' | 'h2c'
  readonly endpoints:
    | { readonly kind: 'eds'; readonly name: string }
    | {
        readonly kind: 'dns'
        readonly hosts: readonly { readonly host: string; readonly port: number; readonly weight: number }[]
      }
}

/** The addresses behind a backend and port. Keyed by `name`, shared by all clusters and Gateways. */
export interface Endpoints {
  /** `<kind>/<ns>/<name>/<port>`. */
  readonly name: string
  /** In order of address, then port. */
  readonly addresses: readonly {
    readonly address: string
    readonly port: number
    readonly weight?: number
    readonly zone?: string
    /** draining: terminating but still serving; used only when nothing healthy is left. */
    readonly state: 'healthy' | 'draining'
  }[]
}

/** A key pair that can be served. Keyed by `name`. */
export interface Certificate {
  /** `<ns>/<secret>`. */
  readonly name: string
  /** PEM. */
  readonly chain: string
  readonly key: SecretText
}

/** A text that prints as `[redacted]` everywhere; only the envoy room may unwrap it. */
export interface SecretText {
  reveal(): string
  toJSON(): '[redacted]'
  toString(): '[redacted]'
}

/** `status` of an object exactly as Kubernetes would hold it, without times. Keyed by locator. */
export type ObjectStatus =
  | {
      readonly kind: 'GatewayClass'
      readonly conditions: readonly Condition[]
      readonly supportedFeatures: readonly { readonly name: string }[]
    }
  | {
      readonly kind: 'Gateway'
      readonly addresses: readonly { readonly type: string; readonly value: string }[]
      readonly conditions: readonly Condition[]
      readonly listeners: readonly ListenerStatus[]
    }
  | { readonly kind: 'HTTPRoute'; readonly parents: readonly RouteParentStatus[] }
  | { readonly kind: 'Backend'; readonly conditions: readonly Condition[] }

export interface ListenerStatus {
  readonly name: string
  readonly supportedKinds: readonly { readonly group: string; readonly kind: string }[]
  readonly attachedRoutes: number
  readonly conditions: readonly Condition[]
}

export interface RouteParentStatus {
  readonly parentRef: object
  readonly controllerName: string
  readonly conditions: readonly Condition[]
}
