import type { ServedGateway } from './cli/index.js'
import type { Locator } from './core/index.js'
import type { Derivation } from './derivation.js'
import type { Loop } from './loop.js'
import type { Proxies } from './provision/index.js'
import type { ClientState, XdsServer } from './xds/index.js'

export interface ServedParts {
  readonly derivation: Derivation
  readonly xds: XdsServer
  readonly loop: Loop
  /** Absent when Envoys are not ours to start. */
  readonly proxies: Proxies | undefined
  /** What the ports of Gateways are bound to, as it is reached from here. */
  readonly address: string
}

/** Where each Gateway is served, and when all of them are. */
export function servedBy(parts: ServedParts): { gateways(): ServedGateway[]; ready(): Promise<void> } {
  const { derivation, xds, loop, proxies } = parts
  const gateways = () => [...derivation.references.gateways.keys()].sort()
  // An Envoy that is taken over may have connected before we have found it.
  const isFound = (gateway: Locator) => served(gateway, parts).envoy !== undefined
  const isServed = (gateway: Locator) =>
    isFound(gateway) &&
    xds.clients().some(client => client.gateway === gateway && hasAcknowledged(client, xds))
  const isReady = () => loop.published && (!proxies || gateways().every(isServed))
  return {
    gateways: () => gateways().map(gateway => served(gateway, parts)),
    ready: () =>
      new Promise(resolve => {
        const undo: (() => void)[] = []
        const look = () => {
          if (!isReady()) return
          for (const each of undo.splice(0)) each()
          resolve()
        }
        undo.push(loop.subscribe(look), xds.subscribe(look))
        if (proxies) undo.push(proxies.subscribe(look))
        look()
      }),
  }
}

/** A proxy that has asked for every type its Gateway has, and has nothing left to acknowledge. */
function hasAcknowledged({ gateway, types }: ClientState, xds: XdsServer): boolean {
  const needed = new Set(xds.resources(gateway).map(({ type }) => type))
  return (
    types.listener !== undefined &&
    [...needed].every(type => types[type] !== undefined) &&
    Object.values(types).every(({ state }) => state !== 'waiting')
  )
}

function served(gateway: Locator, { derivation, proxies, xds, address }: ServedParts): ServedGateway {
  const ports = [...derivation.model.ports.entries()].map(([, port]) => port)
  const addresses = ports
    .filter(port => port.gateway === gateway)
    .map(({ port }) => port)
    .sort((a, b) => a - b)
    .map(port => `${address.includes(':') ? `[${address}]` : address}:${port}`)
  const envoy = proxies?.list().find(proxy => proxy.gateway === gateway)
  const running = envoy?.pid !== undefined && envoy.admin !== undefined
  const refusals = xds
    .clients()
    .filter(client => client.gateway === gateway)
    .flatMap(refusalsOf)
  return {
    gateway,
    addresses,
    refusals: [...new Set(refusals)],
    ...(running && { envoy: { pid: envoy.pid, admin: envoy.admin } }),
  }
}

function refusalsOf({ types }: ClientState): string[] {
  return Object.values(types).flatMap(({ state, refusal }) =>
    state === 'refused' && refusal ? [refusal.message] : [],
  )
}
