/** A small world of objects over a real engine, and builders for the objects. */
import { createEngine, type Collection, type Engine, type Source } from '../../src/collections/index.js'
import { kindIdOf, locatorOf, type KubeObject, type Locator } from '../../src/core/index.js'
import {
  controllerName,
  ids,
  type Backend,
  type EndpointSlice,
  type Gateway,
  type GatewayClass,
  type GatewayListener,
  type HTTPRoute,
  type HTTPRouteRule,
  type ReferenceGrant,
  type Secret,
  type Service,
} from '../../src/kinds/index.js'
import { createModel, modelText, type Model, type ModelOptions } from '../../src/model/index.js'
import type { Objects } from '../../src/store/index.js'
import { resolveReferences, type References } from '../../src/topology/index.js'

const names = {
  gatewayClasses: ids.GatewayClass,
  gateways: ids.Gateway,
  httpRoutes: ids.HTTPRoute,
  referenceGrants: ids.ReferenceGrant,
  services: ids.Service,
  endpointSlices: ids.EndpointSlice,
  namespaces: ids.Namespace,
  secrets: ids.Secret,
  configMaps: ids.ConfigMap,
  backends: ids.Backend,
} as const

export interface World {
  readonly engine: Engine
  readonly objects: Objects
  readonly references: References
  readonly model: Model
  /** Sets objects and brings the model up to date. */
  put(...objects: readonly KubeObject[]): World
  remove(...locators: readonly Locator[]): World
}

const loopback = [{ type: 'IPAddress', value: '127.0.0.1' }]

export function aWorld(
  objects: readonly KubeObject[] = [],
  options: ModelOptions = { addresses: loopback },
  engine: Engine = createEngine(),
): World {
  const sources = new Map<string, Source<KubeObject>>()
  const entries = Object.entries(names).map(([name, id]) => {
    const source = engine.source<KubeObject>(name)
    sources.set(id, source)
    return [name, source] as const
  })
  const all = Object.fromEntries(entries) as unknown as Objects
  const references = resolveReferences(engine, all)
  const model = createModel(engine, all, references, options)
  const world: World = {
    engine,
    objects: all,
    references,
    model,
    put(...added) {
      for (const object of added) sources.get(kindIdOf(object))!.set(locatorOf(object), object)
      engine.flush()
      return world
    },
    remove(...locators) {
      for (const key of locators) sources.get(key.slice(0, key.indexOf(':')))!.delete(key)
      engine.flush()
      return world
    },
  }
  return world.put(...objects)
}

/** The values of a collection, as they come. */
export const valuesOf = <V>(collection: Collection<V>): V[] =>
  [...collection.entries()].map(([, value]) => value)

/** Everything the model says, as plain data. */
export function everything({ model }: Pick<World, 'model'>) {
  const sorted = <V>(entries: Iterable<[string, V]>) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    text: modelText(model),
    hosts: sorted(model.hosts.entries()),
    statuses: sorted(model.statuses.entries()),
    wanted: sorted(model.wanted.entries()),
    chains: sorted(model.certificates.entries()).map(([, { name, chain, key }]) => [
      name,
      chain,
      key.reveal(),
    ]),
  }
}

type Labels = Readonly<Record<string, string>>
const gatewayApi = 'gateway.networking.k8s.io/v1'

export const aClass = (name = 'gatewright', controller = controllerName): GatewayClass => ({
  apiVersion: gatewayApi,
  kind: 'GatewayClass',
  metadata: { name },
  spec: { controllerName: controller },
})

export const aListener = (
  name: string,
  port: number,
  more: Partial<GatewayListener> = {},
): GatewayListener => ({
  name,
  port,
  protocol: 'HTTP',
  ...more,
})

export const aSecureListener = (
  name: string,
  secret: string,
  more: Partial<GatewayListener> = {},
): GatewayListener =>
  aListener(name, 443, {
    protocol: 'HTTPS',
    tls: { mode: 'Terminate', certificateRefs: [{ name: secret }] },
    ...more,
  })

export const aGateway = (
  name: string,
  listeners: readonly GatewayListener[],
  more: Partial<Gateway['spec']> = {},
): Gateway => ({
  apiVersion: gatewayApi,
  kind: 'Gateway',
  metadata: { name, namespace: 'shop', generation: 1 },
  spec: { gatewayClassName: 'gatewright', listeners, ...more },
})

export interface RouteOptions {
  readonly namespace?: string
  readonly hostnames?: readonly string[]
  readonly parentRefs?: HTTPRoute['spec']['parentRefs']
  readonly createdAt?: string
}

export const aRoute = (
  name: string,
  rules: readonly HTTPRouteRule[],
  options: RouteOptions = {},
): HTTPRoute => ({
  apiVersion: gatewayApi,
  kind: 'HTTPRoute',
  metadata: {
    name,
    namespace: options.namespace ?? 'shop',
    generation: 1,
    ...(options.createdAt !== undefined && { creationTimestamp: options.createdAt }),
  },
  spec: {
    parentRefs: options.parentRefs ?? [{ name: 'public', namespace: 'shop' }],
    ...(options.hostnames && { hostnames: options.hostnames }),
    rules,
  },
})

/** A rule that sends the paths under a prefix to a Service on port 8080. */
export const aRule = (prefix: string, service: string, more: Partial<HTTPRouteRule> = {}): HTTPRouteRule => ({
  matches: [{ path: { type: 'PathPrefix', value: prefix } }],
  backendRefs: [{ name: service, port: 8080 }],
  ...more,
})

export const aService = (name: string, more: Partial<Service['spec']> = {}, namespace = 'shop'): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { ports: [{ name: 'http', port: 8080, protocol: 'TCP' }], ...more },
})

export const aSlice = (
  name: string,
  service: string,
  endpoints: NonNullable<EndpointSlice['endpoints']>,
  more: Partial<EndpointSlice> = {},
): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, namespace: 'shop', labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 9090, protocol: 'TCP' }],
  endpoints,
  ...more,
})

export const aBackend = (name: string, spec: Backend['spec']): Backend => ({
  apiVersion: 'gatewright.io/v1alpha1',
  kind: 'Backend',
  metadata: { name, namespace: 'shop' },
  spec,
})

export const aGrant = (name: string, namespace: string, spec: ReferenceGrant['spec']): ReferenceGrant => ({
  apiVersion: 'gateway.networking.k8s.io/v1beta1',
  kind: 'ReferenceGrant',
  metadata: { name, namespace },
  spec,
})

export const aNamespace = (name: string, labels: Labels = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
})

export const aSecret = (
  name: string,
  pair: { readonly crt: string; readonly key: string },
  namespace = 'shop',
): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  type: 'kubernetes.io/tls',
  data: {
    'tls.crt': Buffer.from(pair.crt).toString('base64'),
    'tls.key': Buffer.from(pair.key).toString('base64'),
  },
})
