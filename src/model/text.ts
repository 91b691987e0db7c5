import type { Locator } from '../core/index.js'
import type { Collection } from '../collections/index.js'
import type { Model } from './model.js'

/** A tree of plain values, ready for JSON or YAML. */
export type ModelText = Readonly<Record<string, unknown>>

/**
 * The model as one plain tree in canonical order: per Gateway its ports → chains → hosts → rules and its clusters;
 * then the endpoints, and certificates by name alone. `gateway` leaves the other Gateways out.
 */
export function modelText(model: Model, gateway?: Locator): ModelText {
  const gateways = [
    ...new Set([...model.ports.entries(), ...model.routeTables.entries()].map(([, of]) => of.gateway)),
  ]
  const chosen = gateways.filter(each => gateway === undefined || each === gateway).sort()
  return {
    gateways: Object.fromEntries(chosen.map(each => [each, gatewayText(model, each)])),
    endpoints: Object.fromEntries(sorted(model.endpoints).map(([name, { addresses }]) => [name, addresses])),
    certificates: sorted(model.certificates).map(([name]) => name),
  }
}

function sorted<V>(collection: Collection<V>): [string, V][] {
  return [...collection.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
}

function gatewayText(model: Model, gateway: Locator): ModelText {
  const ports = sorted(model.ports).filter(([, port]) => port.gateway === gateway)
  ports.sort(([, a], [, b]) => a.port - b.port)
  const tables = sorted(model.routeTables).filter(([, table]) => table.gateway === gateway)
  const clusters = sorted(model.clusters).filter(([, cluster]) => cluster.gateway === gateway)
  return {
    ports: ports.map(([, { port, protocol, chains }]) => ({ port, protocol, chains })),
    routeTables: Object.fromEntries(tables.map(([, { name, hosts }]) => [name, hostsText(model, hosts)])),
    clusters: Object.fromEntries(
      clusters.map(([, { name, protocol, endpoints }]) => [name, { protocol, endpoints }]),
    ),
  }
}

function hostsText(model: Model, keys: readonly string[]): ModelText {
  const hosts = keys.map(key => model.hosts.get(key)).filter(host => host !== undefined)
  return Object.fromEntries(hosts.map(({ host, rules }) => [host, rules]))
}
