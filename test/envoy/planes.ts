import { createEngine } from '../../src/collections/index.js'
import { createResources, type Placed, type ResourceOptions } from '../../src/envoy/index.js'
import { secretText } from '../../src/model/index.js'
import type {
  Certificate,
  Cluster,
  Endpoints,
  ForwardAction,
  Match,
  Port,
  RouteTable,
  Rule,
  VirtualHost,
} from '../../src/model/index.js'

export const GATEWAY = 'gateway.gateway.networking.k8s.io:shop/public'
const ROUTE = 'httproute.gateway.networking.k8s.io:shop/cart'

/** A rule for everything, with what the test is about. */
export function aRule(
  id: string,
  parts: Partial<Omit<Rule, 'match'>> & { match?: Partial<Match> } = {},
): Rule {
  const { match, ...rest } = parts
  return {
    id: `${ROUTE}#${id}`,
    route: ROUTE,
    match: { path: { type: 'PathPrefix', value: '/' }, headers: [], queryParams: [], ...match },
    action: { kind: 'fixed', status: 404 },
    ...rest,
  }
}

export const aPath = (type: Match['path']['type'], value: string): Partial<Match> => ({
  path: { type, value },
})

export function forwardTo(cluster: string, more: Partial<ForwardAction> = {}): ForwardAction {
  return { kind: 'forward', backends: [{ weight: 1, cluster }], mirrors: [], ...more }
}

export function aCluster(name: string, more: Partial<Cluster> = {}): Cluster {
  const endpoints = { kind: 'eds', name: name.slice(0, name.lastIndexOf('/')) } as const
  return { gateway: GATEWAY, name, protocol: 'http1', endpoints, ...more }
}

type Address = Endpoints['addresses'][number]

export function anAddress(address: string, port: number, more: Partial<Address> = {}): Address {
  return { address, port, state: 'healthy', ...more }
}

/** A model on an engine of its own: set what the data planes are, then ask for the resources. */
export function aModel(options: ResourceOptions = {}) {
  const engine = createEngine()
  const model = {
    ports: engine.source<Port>('ports'),
    routeTables: engine.source<RouteTable>('route tables'),
    hosts: engine.source<VirtualHost>('hosts'),
    clusters: engine.source<Cluster>('clusters'),
    endpoints: engine.source<Endpoints>('endpoints'),
    certificates: engine.source<Certificate>('certificates'),
  }
  const { placed } = createResources(engine, model, options)
  const changed: string[] = []
  const tables = new Map<string, readonly string[]>()
  engine.watch(placed, changes => changed.push(...changes.map(({ key }) => key)))

  const self = {
    engine,
    placed,
    model,
    /** An HTTP port with one host for each entry. */
    http(port: number, hosts: Readonly<Record<string, readonly Rule[]>>, gateway = GATEWAY) {
      const routeTable = `shop/public/${port}`
      const chain = { routeTable, listeners: ['http'], serverNames: [], certificates: [] }
      model.ports.set(`${gateway}|${port}`, { gateway, port, protocol: 'HTTP', chains: [chain] })
      return self.routes(routeTable, hosts, gateway)
    },
    /** An HTTPS port with one chain for each certificate. */
    https(port: number, certificates: Readonly<Record<string, readonly string[]>>, gateway = GATEWAY) {
      const chains = Object.entries(certificates).map(([name, serverNames]) => ({
        routeTable: `shop/public/${port}/${name.replace('/', '-')}`,
        listeners: [name],
        serverNames,
        certificates: [name],
      }))
      model.ports.set(`${gateway}|${port}`, { gateway, port, protocol: 'HTTPS', chains })
      for (const chain of chains) self.routes(chain.routeTable, { '*': [] }, gateway)
      return self
    },
    routes(name: string, hosts: Readonly<Record<string, readonly Rule[]>>, gateway = GATEWAY) {
      const keys = Object.keys(hosts)
        .sort()
        .map(host => `${gateway}|${name}|${host}`)
      for (const key of tables.get(`${gateway}|${name}`) ?? []) model.hosts.delete(key)
      tables.set(`${gateway}|${name}`, keys)
      model.routeTables.set(`${gateway}|${name}`, { gateway, name, hosts: keys })
      for (const [host, rules] of Object.entries(hosts)) {
        model.hosts.set(`${gateway}|${name}|${host}`, { gateway, routeTable: name, host, rules })
      }
      return self
    },
    cluster(...clusters: readonly Cluster[]) {
      for (const cluster of clusters) model.clusters.set(`${cluster.gateway}|${cluster.name}`, cluster)
      return self
    },
    endpoints(name: string, ...addresses: readonly Address[]) {
      model.endpoints.set(name, { name, addresses })
      return self
    },
    certificate(name: string, chain: string, key: string) {
      model.certificates.set(name, { name, chain, key: secretText(key) })
      return self
    },
    /** Brings the resources up to date; answers the keys of those that changed, in order. */
    settle(): string[] {
      changed.length = 0
      engine.flush()
      return [...changed].sort()
    },
    resources: () =>
      [...placed.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { resource }]) => resource),
    get(type: Placed['resource']['type'], name: string, gateway = GATEWAY) {
      const found = placed.get(`${gateway}|${type}|${name}`)
      if (!found) throw new Error(`no ${type} ${name}; there are ${[...placed.keys()].join(', ')}`)
      return found.resource
    },
  }
  return self
}
