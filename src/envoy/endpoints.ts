import type { Endpoints } from '../model/index.js'
import { socketAddress } from './config-source.js'
import { resourceOf } from './resource.js'
import type { ClusterLoadAssignment, LocalityLbEndpoints } from './types.gen.js'
import type { Resource } from './types.js'

type EndpointAddress = Endpoints['addresses'][number]

/**
 * A backend's addresses, grouped by zone. Those that drain are a second priority beside healthy ones, so that they
 * are used only when nothing healthy is left.
 */
export function endpointsResource(endpoints: Endpoints): Resource {
  return resourceOf('endpoint', endpoints.name, loadAssignment(endpoints))
}

/** A backend that has no addresses: its requests are answered 503. */
export function noEndpoints(name: string): Resource {
  return endpointsResource({ name, addresses: [] })
}

function loadAssignment({ name, addresses }: Endpoints): ClusterLoadAssignment {
  const healthy = addresses.filter(({ state }) => state === 'healthy')
  const draining = addresses.filter(({ state }) => state === 'draining')
  return {
    cluster_name: name,
    endpoints: [...localities(healthy, 0), ...localities(draining, healthy.length > 0 ? 1 : 0)],
  }
}

function localities(addresses: readonly EndpointAddress[], priority: number): LocalityLbEndpoints[] {
  const byZone = new Map<string, EndpointAddress[]>()
  for (const address of addresses) {
    const zone = address.zone ?? ''
    const others = byZone.get(zone)
    if (others) others.push(address)
    else byZone.set(zone, [address])
  }
  return [...byZone.keys()].sort().map(zone => ({
    locality: zone === '' ? undefined : { zone },
    lb_endpoints: byZone.get(zone)?.map(({ address, port, weight }) => ({
      endpoint: { address: socketAddress(address, port) },
      load_balancing_weight: weight,
    })),
    priority,
  }))
}
