import type { Collection, Context, Engine } from '../collections/index.js'
import type { ListenerCertificates } from './certificates.js'
import type { Site } from './sites.js'
import type { Chain, Port } from './types.js'

/** The bound ports of every Gateway. A port without a listener that can serve is not bound. */
export function buildPorts(
  engine: Engine,
  gatewaySites: Collection<readonly Site[]>,
  listenerCertificates: Collection<ListenerCertificates>,
): Collection<Port> {
  return engine.expand('ports', gatewaySites, (sites, context) =>
    portsOf(sites, context, listenerCertificates),
  )
}

function* portsOf(
  sites: readonly Site[],
  context: Context,
  listenerCertificates: Collection<ListenerCertificates>,
): Iterable<readonly [string, Port]> {
  for (const port of new Set(sites.map(site => site.port))) {
    const onPort = sites.filter(site => site.port === port)
    const [{ gateway, protocol }] = onPort as [Site]
    const certificatesOf = ({ listener }: Site) => context.get(listenerCertificates, listener)?.names ?? []
    const chains = protocol === 'HTTP' ? [plainChain(onPort)] : secureChains(onPort, certificatesOf)
    if (chains.length > 0) yield [`${gateway}|${port}`, { gateway, port, protocol, chains }]
  }
}

function plainChain(sites: readonly Site[]): Chain {
  const [{ routeTable }] = sites as [Site]
  return { routeTable, listeners: sites.map(({ name }) => name), serverNames: [], certificates: [] }
}

function secureChains(sites: readonly Site[], certificatesOf: (site: Site) => readonly string[]): Chain[] {
  return [...sites]
    .sort(bySpecificity)
    .map(site => ({
      routeTable: site.routeTable,
      listeners: [site.name],
      serverNames: site.hostname === '*' ? [] : [site.hostname],
      certificates: certificatesOf(site),
    }))
    .filter(({ certificates }) => certificates.length > 0)
}

/** Exact names first, then longer wildcards, then the listener of every name. */
function bySpecificity(a: Site, b: Site): number {
  const wild = Number(a.hostname.startsWith('*')) - Number(b.hostname.startsWith('*'))
  return wild || b.hostname.length - a.hostname.length || (a.hostname < b.hostname ? -1 : 1)
}
