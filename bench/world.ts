/**
 * The world that the benches share: 1 class, 10 gateways of 10 listeners each, N routes of 2 rules (each names its
 * listener), N services of 1 port, and on request N endpoint slices, N/10 policies, a host per route, or all of them
 * on one listener.
 * All objects are as defaulting leaves them, in one namespace.
 */
import type { KubeObject } from '../src/core/index.js'
import type {
  EndpointSlice,
  Gateway,
  GatewayClass,
  GatewayListener,
  HTTPRoute,
  HTTPRouteRule,
  Service,
} from '../src/kinds/index.js'
import type { StoreEvent } from '../src/store/index.js'

export interface WorldOptions {
  readonly namespace?: string
  /** One host per route, `r<i>.example.com`. Default: routes take any host. */
  readonly hostnames?: boolean
  /** One EndpointSlice per Service. */
  readonly endpointSlices?: boolean
  /** A policy on every tenth route. */
  readonly policies?: boolean
  /** One Gateway with one listener takes all routes. */
  readonly oneListener?: boolean
}

/** The hard case: every route shares one listener, so that all hosts are in one route table. */
export const crowded: WorldOptions = { hostnames: true, endpointSlices: true, oneListener: true }

const gatewayApi = 'gateway.networking.k8s.io'
const gateways = 10
const listeners = 10
/** What the world was made at: the same for all, so that ties go to the names. */
const creationTimestamp = '2025-01-01T00:00:00Z'

/** The objects of a world of `n` routes, in an order that puts what is referred to first. */
export function world(n: number, options: WorldOptions = {}): KubeObject[] {
  const numbers = Array.from({ length: n }, (_, i) => i)
  return [
    gatewayClass(),
    ...Array.from({ length: options.oneListener ? 1 : gateways }, (_, i) => gateway(i, options)),
    ...numbers.map(i => service(i, options)),
    ...(options.endpointSlices ? numbers.map(i => endpointSlice(i, options)) : []),
    ...numbers.map(i => route(i, options)),
    ...(options.policies ? numbers.filter(i => i % 10 === 0).map(i => policy(i, options)) : []),
  ]
}

export function gatewayClass(): GatewayClass {
  return {
    apiVersion: `${gatewayApi}/v1`,
    kind: 'GatewayClass',
    metadata: { name: 'bench', generation: 1, creationTimestamp },
    spec: { controllerName: 'gatewright.io/gateway-controller' },
  }
}

/** Gateway `gw-<i>` with listeners `l-0` to `l-9` (or the first of them), HTTP, on ports 8000 to 8009. */
export function gateway(i: number, options: WorldOptions = {}): Gateway {
  return {
    apiVersion: `${gatewayApi}/v1`,
    kind: 'Gateway',
    metadata: metadata(`gw-${i}`, options),
    spec: {
      gatewayClassName: 'bench',
      listeners: Array.from({ length: options.oneListener ? 1 : listeners }, (_, j) => listener(j)),
    },
  }
}

function listener(j: number): GatewayListener {
  return {
    name: `l-${j}`,
    port: 8000 + j,
    protocol: 'HTTP',
    allowedRoutes: { namespaces: { from: 'Same' } },
  }
}

/** HTTPRoute `route-<i>`; `path` is the prefix of its first rule, so that an edit can change it. */
export function route(i: number, options: WorldOptions = {}, path = '/api'): HTTPRoute {
  const parent = `gw-${options.oneListener ? 0 : i % gateways}`
  const sectionName = `l-${options.oneListener ? 0 : Math.floor(i / gateways) % listeners}`
  return {
    apiVersion: `${gatewayApi}/v1`,
    kind: 'HTTPRoute',
    metadata: metadata(`route-${i}`, options),
    spec: {
      parentRefs: [{ group: gatewayApi, kind: 'Gateway', name: parent, sectionName }],
      ...(options.hostnames && { hostnames: [`r${i}.example.com`] }),
      rules: [rule(path, i), rule('/', i)],
    },
  }
}

function rule(path: string, i: number): HTTPRouteRule {
  return {
    matches: [{ path: { type: 'PathPrefix', value: path } }],
    backendRefs: [{ group: '', kind: 'Service', name: `svc-${i}`, port: 80, weight: 1 }],
  }
}

export function service(i: number, options: WorldOptions = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(`svc-${i}`, options),
    spec: { type: 'ClusterIP', ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }] },
  }
}

/** One ready endpoint; `turn` changes its address, so that an edit can move it. */
export function endpointSlice(i: number, options: WorldOptions = {}, turn = 0): EndpointSlice {
  const name = `svc-${i}`
  const address = `10.${turn % 256}.${Math.floor(i / 256) % 256}.${i % 256}`
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata(`${name}-1`, options), labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [
      { addresses: [address], conditions: { ready: true, serving: true, terminating: false }, zone: 'a' },
    ],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  }
}

/** A policy of a kind that nothing knows: it attaches by its `targetRefs` alone. */
export function policy(i: number, options: WorldOptions = {}): KubeObject {
  const targetRefs = [{ group: gatewayApi, kind: 'HTTPRoute', name: `route-${i}` }]
  const object = {
    apiVersion: 'bench.gatewright.io/v1',
    kind: 'BenchPolicy',
    metadata: metadata(`policy-${i}`, options),
    spec: { targetRefs },
  }
  return object
}

function metadata(name: string, options: WorldOptions): KubeObject['metadata'] {
  return { name, namespace: options.namespace ?? 'bench', generation: 1, creationTimestamp }
}

/** The objects as facts without versions, as a directory tells them. */
export function upserts(objects: readonly KubeObject[]): StoreEvent[] {
  return objects.map(object => ({ type: 'upsert', object }))
}
