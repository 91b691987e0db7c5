import { createDerivation, type Derivation } from './derivation.js'
import type { Loaded, TopologyFilter, TopologyFormat, Translation, XdsResource } from './cli/index.js'
import { locatorOf, type KubeObject, type Locator } from './core/index.js'
import { decode, typeUrls, type Resource } from './envoy/index.js'
import { modelText } from './model/index.js'
import { readManifests } from './sources/index.js'
import { foretold, statusList } from './status/index.js'
import { createStore } from './store/index.js'
import { toDot, toJSON, toMermaid, type Topology } from './topology/index.js'

/** Where a Gateway is reached that runs on this machine. */
const loopback = { type: 'IPAddress', value: '127.0.0.1' }

/** Reads and validates manifests; see Pipeline.load. */
export function load(paths: readonly string[], text?: string): Promise<Loaded> {
  return readManifests(paths, text === undefined ? {} : { stdin: text })
}

/** What the objects come to, with nothing running: the same derivation as the running system's. */
export function translate(objects: readonly KubeObject[]): Translation {
  const store = createStore()
  const derivation = createDerivation({ addresses: [loopback] })
  store.apply(objects.map(object => ({ type: 'upsert' as const, object })))
  store.subscribe(({ updates }) => derivation.take(updates))()
  const placed = byGateway(derivation)
  return {
    gateways: [...derivation.references.gateways.keys()].sort(),
    model: gateway => modelText(derivation.model, gateway),
    xds: gateway => (placed.get(gateway) ?? []).map(describe),
    statuses: () => statusesOf(objects, derivation),
    topology: (filter, format) => topologyText(derivation, filter, format),
  }
}

function byGateway({ placed }: Derivation): ReadonlyMap<Locator, readonly Resource[]> {
  const entries = [...placed.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
  const found = new Map<Locator, Resource[]>()
  for (const [, { gateway, resource }] of entries) {
    const held = found.get(gateway) ?? []
    held.push(resource)
    found.set(gateway, held)
  }
  return found
}

function describe(resource: Resource): XdsResource {
  const { type, name, version, bytes } = resource
  return { type, name, version, resource: decode(typeUrls[type], bytes) as object }
}

function statusesOf(objects: readonly KubeObject[], { model }: Derivation): readonly KubeObject[] {
  const ordered = [...objects].sort((a, b) => (locatorOf(a) < locatorOf(b) ? -1 : 1))
  return statusList(ordered, locator => {
    const status = model.statuses.get(locator)
    return status && foretold(status)
  }).items
}

/** A topology with what was decided about its edges, as text. */
export function topologyText(
  { topology, decisions }: { readonly topology: Topology; readonly decisions: Derivation['decisions'] },
  filter: TopologyFilter,
  format: TopologyFormat,
): string {
  const view = topology.view(filter, { decisions })
  if (format === 'dot') return toDot(view)
  return format === 'mermaid' ? toMermaid(view) : toJSON(view)
}
