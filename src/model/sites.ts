import { section, type Locator } from '../core/index.js'
import type { Collection, Engine } from '../collections/index.js'
import type { Listener, References } from '../topology/index.js'
import { whyGatewayRefused } from './gateway-refusal.js'

/** Where the routes of an accepted listener are served. */
export interface Site {
  readonly gateway: Locator
  readonly listener: Locator
  readonly name: string
  readonly port: number
  readonly protocol: 'HTTP' | 'HTTPS'
  /** `*` for a listener without one. */
  readonly hostname: string
  readonly routeTable: string
  /** The hostnames of all accepted listeners of the port, this one's among them. */
  readonly portHostnames: readonly string[]
}

/** The accepted listeners of each accepted Gateway, in order of port, then name; keyed by Gateway. */
export function placeListeners(engine: Engine, references: References): Collection<readonly Site[]> {
  return engine.derive('gateway sites', references.gatewayListeners, (listeners, context, key) => {
    const gateway = context.get(references.gateways, key)
    return gateway && !whyGatewayRefused(gateway, context, references) ? sitesOf(key, listeners) : undefined
  })
}

function sitesOf(gateway: Locator, listeners: readonly Listener[]): Site[] {
  const accepted = listeners.filter(({ refused }) => !refused)
  return accepted
    .map((listener): Site => {
      const { name, port, protocol } = listener
      const neighbours = accepted.filter(other => other.port === port)
      const portTable = `${gateway.slice(gateway.indexOf(':') + 1)}/${port}`
      return {
        gateway,
        listener: section(gateway, name),
        name,
        port,
        protocol: protocol === 'HTTPS' ? 'HTTPS' : 'HTTP',
        hostname: listener.hostname ?? '*',
        routeTable: protocol === 'HTTPS' ? `${portTable}/${name}` : portTable,
        portHostnames: neighbours.map(({ hostname }) => hostname ?? '*').sort(),
      }
    })
    .sort((a, b) => a.port - b.port || (a.name < b.name ? -1 : 1))
}
