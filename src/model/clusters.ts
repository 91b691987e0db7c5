import { createHash } from 'node:crypto'
import { parseLocator, type Locator } from '../core/index.js'
import type { Collection, Context } from '../collections/index.js'
import type { Backend } from '../kinds/index.js'
import type { BackendTarget } from '../topology/index.js'
import type { Cluster } from './types.js'

/** Where a backend's addresses come from. */
export type EndpointSource =
  | { readonly kind: 'service'; readonly service: Locator; readonly portName: string }
  | { readonly kind: 'backend'; readonly backend: Locator }

/** A cluster as a route asks for it, for whichever Gateways the route is attached to. */
export interface ClusterUse {
  readonly cluster: Omit<Cluster, 'gateway'>
  /** Absent for clusters that resolve names themselves. */
  readonly source?: EndpointSource
}

export type ValidTarget = Exclude<BackendTarget, { kind: 'invalid' }>

/** The cluster that a valid reference leads to. A Backend is read through `context`. */
export function clusterOf(target: ValidTarget, context: Context, backends: Collection<Backend>): ClusterUse {
  return target.kind === 'service'
    ? serviceCluster(target)
    : backendCluster(target.target, context.get(backends, target.target))
}

function serviceCluster({
  target,
  port,
  portName,
  appProtocol,
}: Extract<ValidTarget, { kind: 'service' }>): ClusterUse {
  const edsName = endpointsName('service', target, String(port))
  const protocol = appProtocol === 'kubernetes.io/h2c' ? 'h2c' : 'http1'
  const endpoints = { kind: 'eds', name: edsName } as const
  return {
    cluster: { name: clusterName(edsName, protocol), protocol, endpoints },
    source: { kind: 'service', service: target, portName },
  }
}

function backendCluster(target: Locator, backend: Backend | undefined): ClusterUse {
  const edsName = endpointsName('backend', target, '-')
  const protocol = backend?.spec.protocol === 'h2c' ? 'h2c' : 'http1'
  const name = clusterName(edsName, protocol)
  const hosts = backend?.spec.endpoints ?? []
  if (hosts.every(({ host }) => isAddress(host))) {
    return {
      cluster: { name, protocol, endpoints: { kind: 'eds', name: edsName } },
      source: { kind: 'backend', backend: target },
    }
  }
  const weighted = hosts
    .map(({ host, port, weight = 1 }) => ({ host, port, weight }))
    .filter(({ weight }) => weight > 0)
  return { cluster: { name, protocol, endpoints: { kind: 'dns', hosts: weighted } } }
}

function isAddress(host: string): boolean {
  return /^\d+\.\d+\.\d+\.\d+$/.test(host) || host.includes(':')
}

/** `<kind>/<ns>/<name>/<port>`; a Backend, whose endpoints have ports of their own, has `-`. */
function endpointsName(kind: string, target: Locator, port: string): string {
  const { namespace, name } = parseLocator(target)
  return `${kind}/${namespace ?? ''}/${name}/${port}`
}

function clusterName(edsName: string, ...settings: readonly string[]): string {
  const hash = createHash('sha256').update(settings.join('\n')).digest('hex').slice(0, 8)
  return `${edsName}/${hash}`
}
