import { locator, type Locator } from '../core/index.js'
import type { Collection, Context, Engine, Index } from '../collections/index.js'
import { ids, type Backend, type EndpointSlice } from '../kinds/index.js'
import type { Objects } from '../store/index.js'
import type { EndpointSource } from './clusters.js'
import type { PlacedCluster } from './placement.js'
import type { Endpoints } from './types.js'

type Address = Endpoints['addresses'][number]

/** The addresses of every backend in use; nothing is worked out for Services that no route refers to. */
export function buildEndpoints(
  engine: Engine,
  objects: Pick<Objects, 'endpointSlices' | 'backends'>,
  placed: Collection<PlacedCluster>,
): Collection<Endpoints> {
  const byService = engine.index('slices by service', objects.endpointSlices, slice => serviceOf(slice))
  const byName = engine.index('clusters by endpoints', placed, ({ cluster }) =>
    cluster.endpoints.kind === 'eds' ? [cluster.endpoints.name] : [],
  )
  const sources = engine.group('endpoint sources', byName, (_, [first]) => first?.source)
  return engine.derive('endpoints', sources, (source, context, name) => ({
    name,
    addresses: canonical(addressesOf(source, context, byService, objects.backends)),
  }))
}

function serviceOf({ metadata }: EndpointSlice): Locator[] {
  const service = metadata.labels?.['kubernetes.io/service-name']
  return service === undefined ? [] : [locator(ids.Service, metadata.namespace, service)]
}

function addressesOf(
  source: EndpointSource,
  context: Context,
  slices: Index<EndpointSlice>,
  backends: Collection<Backend>,
): Address[] {
  if (source.kind === 'service') {
    return context.lookup(slices, source.service).flatMap(slice => sliceAddresses(slice, source.portName))
  }
  const endpoints = context.get(backends, source.backend)?.spec.endpoints ?? []
  return endpoints
    .filter(({ weight }) => weight !== 0)
    .map(({ host, port, weight }) => ({
      address: host,
      port,
      ...(weight !== undefined && { weight }),
      state: 'healthy',
    }))
}

/** EDS takes addresses only, so slices of type FQDN have none. */
function sliceAddresses(slice: EndpointSlice, portName: string): Address[] {
  if (slice.addressType === 'FQDN') return []
  const ports = (slice.ports ?? []).filter(
    ({ name, port, protocol }) =>
      (name ?? '') === portName && port !== undefined && (protocol ?? 'TCP') === 'TCP',
  )
  return (slice.endpoints ?? []).flatMap(endpoint => {
    const state = stateOf(endpoint.conditions)
    const [address] = endpoint.addresses
    if (!state || address === undefined) return []
    const zone = endpoint.zone === undefined || endpoint.zone === '' ? {} : { zone: endpoint.zone }
    return ports.map(({ port }) => ({ address, port: port as number, ...zone, state }))
  })
}

type Conditions = NonNullable<EndpointSlice['endpoints']>[number]['conditions']

/** Absent `ready` counts as true, absent `serving` as `ready` (discovery/v1 EndpointConditions). */
function stateOf({ ready = true, serving = ready, terminating = false }: Conditions = {}):
  Address['state'] | undefined {
  if (ready && !terminating) return 'healthy'
  return serving && terminating ? 'draining' : undefined
}

/** Each address and port once, the healthy one before the draining one, in order. */
function canonical(addresses: readonly Address[]): Address[] {
  const sorted = [...addresses].sort(byAddress)
  return sorted.filter(
    (each, i) => each.address !== sorted[i - 1]?.address || each.port !== sorted[i - 1]?.port,
  )
}

function byAddress(a: Address, b: Address): number {
  if (a.address !== b.address) return a.address < b.address ? -1 : 1
  return a.port - b.port || Number(a.state === 'draining') - Number(b.state === 'draining')
}
