/** The controller name a GatewayClass gives to be served by Gatewright. */
export const controllerName = 'gatewright.io/gateway-controller'

/** The API groups of the kinds in the table; `core` is the empty group. */
export const groups = {
  core: '',
  discovery: 'discovery.k8s.io',
  gatewayApi: 'gateway.networking.k8s.io',
  gatewayApiExperimental: 'gateway.networking.x-k8s.io',
  gatewright: 'gatewright.io',
} as const

/** The KindId of each kind of the table; all versions of a kind share it. */
export const ids = {
  GatewayClass: 'gatewayclass.gateway.networking.k8s.io',
  Gateway: 'gateway.gateway.networking.k8s.io',
  HTTPRoute: 'httproute.gateway.networking.k8s.io',
  GRPCRoute: 'grpcroute.gateway.networking.k8s.io',
  TLSRoute: 'tlsroute.gateway.networking.k8s.io',
  TCPRoute: 'tcproute.gateway.networking.k8s.io',
  UDPRoute: 'udproute.gateway.networking.k8s.io',
  ReferenceGrant: 'referencegrant.gateway.networking.k8s.io',
  ListenerSet: 'listenerset.gateway.networking.k8s.io',
  BackendTLSPolicy: 'backendtlspolicy.gateway.networking.k8s.io',
  Service: 'service',
  EndpointSlice: 'endpointslice.discovery.k8s.io',
  Namespace: 'namespace',
  Secret: 'secret',
  ConfigMap: 'configmap',
  Backend: 'backend.gatewright.io',
} as const

export type KnownKind = keyof typeof ids
