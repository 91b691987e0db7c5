/** Manifests of the cluster tests, as small as they can be. */
import type { KeyPair } from '../../support/certificates.js'

const gatewayApi = 'gateway.networking.k8s.io/v1'

export interface Named {
  readonly name: string
  readonly namespace: string
}

export const aNamespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

export const aGatewayClass = () => ({
  apiVersion: gatewayApi,
  kind: 'GatewayClass',
  metadata: { name: 'gatewright' },
  spec: { controllerName: 'gatewright.io/gateway-controller' },
})

/** One listener; HTTPS where a Secret is named. */
export function aGateway(metadata: Named, port: number, secret?: string) {
  const tls = secret !== undefined && { tls: { certificateRefs: [{ name: secret }] } }
  const listener = { name: 'web', port, protocol: tls ? 'HTTPS' : 'HTTP', ...tls }
  return {
    ...{ apiVersion: gatewayApi, kind: 'Gateway', metadata },
    spec: { gatewayClassName: 'gatewright', listeners: [listener] },
  }
}

export interface RouteOptions {
  readonly gateway: string
  readonly service: string
  readonly hostname: string
  readonly path?: string
}

export const aRoute = (metadata: Named, { gateway, service, hostname, path = '/' }: RouteOptions) => ({
  ...{ apiVersion: gatewayApi, kind: 'HTTPRoute', metadata },
  spec: {
    parentRefs: [{ name: gateway }],
    hostnames: [hostname],
    rules: [{ matches: [{ path: { value: path } }], backendRefs: [{ name: service, port: 80 }] }],
  },
})

/** Without a selector: its endpoints are written by hand. */
export const aService = (metadata: Named, { port = 80, headless = false } = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Service', metadata },
  spec: { ports: [{ port, name: 'http' }], ...(headless && { clusterIP: 'None' }) },
})

/** The endpoints of the Service of the same name. */
export const someEndpoints = (metadata: Named, port: number, ...addresses: readonly string[]) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
  addressType: 'IPv4',
  endpoints: addresses.map(address => ({ addresses: [address], conditions: { ready: true } })),
  ports: [{ name: 'http', port }],
})

const base64 = (text: string) => Buffer.from(text).toString('base64')

export const aTlsSecret = (metadata: Named, { chain, key }: KeyPair) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls' },
  data: { 'tls.crt': base64(chain), 'tls.key': base64(key) },
})
