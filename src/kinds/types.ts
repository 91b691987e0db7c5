/**
 * The objects Gatewright reads, after defaulting, as far as it reads them. Field names and meanings are those of
 * gateway.networking.k8s.io/v1 and of the core group; ours is gatewright.io/v1alpha1.
 */
import type { KubeObject } from '../core/index.js'

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string
}

export interface GatewayClass extends KubeObject {
  readonly spec: {
    readonly controllerName: string
    readonly description?: string
    readonly parametersRef?: {
      readonly group: string
      readonly kind: string
      readonly name: string
      readonly namespace?: string
    }
  }
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
    readonly values?: readonly string[]
  }[]
}

export interface SecretReference {
  readonly group?: string
  readonly kind?: string
  readonly name: string
  readonly namespace?: string
}

export interface GatewayListener {
  readonly name: string
  readonly hostname?: string
  readonly port: number
  /** HTTP, HTTPS, TLS, TCP, UDP or a domain-prefixed one. */
  readonly protocol: string
  readonly tls?: {
    readonly mode?: 'Terminate' | 'Passthrough'
    readonly certificateRefs?: readonly SecretReference[]
    readonly options?: Readonly<Record<string, string>>
  }
  readonly allowedRoutes?: {
    readonly namespaces?: {
      readonly from?: 'All' | 'Same' | 'Selector' | 'None'
      readonly selector?: LabelSelector
    }
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[]
  }
}

/** How clients of HTTPS listeners are to prove who they are; as far as it must be known whether they are. */
export interface FrontendTls {
  readonly validation?: object
}

export interface Gateway extends KubeObject {
  readonly spec: {
    readonly gatewayClassName: string
    readonly listeners: readonly GatewayListener[]
    readonly tls?: {
      readonly frontend?: {
        readonly default?: FrontendTls
        readonly perPort?: readonly { readonly port: number; readonly tls?: FrontendTls }[]
      }
    }
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[]
    readonly infrastructure?: {
      readonly labels?: Readonly<Record<string, string>>
      readonly annotations?: Readonly<Record<string, string>>
      readonly parametersRef?: { readonly group: string; readonly kind: string; readonly name: string }
    }
  }
}

export interface ParentReference {
  readonly group?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name: string
  readonly sectionName?: string
  readonly port?: number
}

export interface BackendObjectReference {
  readonly group?: string
  readonly kind?: string
  readonly name: string
  readonly namespace?: string
  readonly port?: number
}

export interface HTTPPathMatch {
  readonly type?: 'Exact' | 'PathPrefix' | 'RegularExpression'
  readonly value?: string
}

export interface HTTPValueMatch {
  readonly type?: 'Exact' | 'RegularExpression'
  readonly name: string
  readonly value: string
}

export interface HTTPRouteMatch {
  readonly path?: HTTPPathMatch
  readonly headers?: readonly HTTPValueMatch[]
  readonly queryParams?: readonly HTTPValueMatch[]
  readonly method?: string
}

export interface HTTPHeader {
  readonly name: string
  readonly value: string
}

export interface HTTPHeaderFilter {
  readonly set?: readonly HTTPHeader[]
  readonly add?: readonly HTTPHeader[]
  readonly remove?: readonly string[]
}

export interface HTTPPathModifier {
  readonly type: 'ReplaceFullPath' | 'ReplacePrefixMatch'
  readonly replaceFullPath?: string
  readonly replacePrefixMatch?: string
}

export interface HTTPRouteFilter {
  /** RequestHeaderModifier, ResponseHeaderModifier, RequestMirror, RequestRedirect, URLRewrite, CORS, ExtensionRef, … */
  readonly type: string
  readonly requestHeaderModifier?: HTTPHeaderFilter
  readonly responseHeaderModifier?: HTTPHeaderFilter
  readonly requestMirror?: {
    readonly backendRef: BackendObjectReference
    readonly percent?: number
    readonly fraction?: { readonly numerator: number; readonly denominator?: number }
  }
  readonly requestRedirect?: {
    readonly scheme?: string
    readonly hostname?: string
    readonly path?: HTTPPathModifier
    readonly port?: number
    readonly statusCode?: number
  }
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: HTTPPathModifier }
  readonly cors?: {
    readonly allowOrigins?: readonly string[]
    readonly allowCredentials?: boolean
    readonly allowMethods?: readonly string[]
    readonly allowHeaders?: readonly string[]
    readonly exposeHeaders?: readonly string[]
    readonly maxAge?: number
  }
  readonly extensionRef?: { readonly group: string; readonly kind: string; readonly name: string }
}

export interface HTTPBackendRef extends BackendObjectReference {
  readonly weight?: number
  readonly filters?: readonly HTTPRouteFilter[]
}

export interface HTTPRouteRule {
  readonly name?: string
  readonly matches?: readonly HTTPRouteMatch[]
  readonly filters?: readonly HTTPRouteFilter[]
  readonly backendRefs?: readonly HTTPBackendRef[]
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string }
}

export interface HTTPRoute extends KubeObject {
  readonly spec: {
    readonly parentRefs?: readonly ParentReference[]
    readonly hostnames?: readonly string[]
    readonly rules?: readonly HTTPRouteRule[]
  }
}

export interface ReferenceGrant extends KubeObject {
  readonly spec: {
    readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[]
    readonly to: readonly { readonly group: string; readonly kind: string; readonly name?: string }[]
  }
}

export interface ServicePort {
  readonly name?: string
  readonly protocol?: string
  readonly port: number
  readonly targetPort?: number | string
  readonly appProtocol?: string
}

export interface Service extends KubeObject {
  readonly spec: {
    readonly type?: string
    readonly externalName?: string
    readonly clusterIP?: string
    readonly ports?: readonly ServicePort[]
  }
}

export interface EndpointSlice extends KubeObject {
  readonly addressType: 'IPv4' | 'IPv6' | 'FQDN'
  readonly endpoints?: readonly {
    readonly addresses: readonly string[]
    readonly conditions?: {
      readonly ready?: boolean
      readonly serving?: boolean
      readonly terminating?: boolean
    }
    readonly zone?: string
  }[]
  readonly ports?: readonly {
    readonly name?: string
    readonly port?: number
    readonly protocol?: string
    readonly appProtocol?: string
  }[]
}

export interface Namespace extends KubeObject {}

export interface Secret extends KubeObject {
  readonly type?: string
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
}

/** gatewright.io/v1alpha1: any host and port as a backend. */
export interface Backend extends KubeObject {
  readonly spec: {
    readonly endpoints: readonly { readonly host: string; readonly port: number; readonly weight?: number }[]
    readonly protocol?: 'http' | 'h2c' | 'ws'
  }
}
