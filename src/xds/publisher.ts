import type { Collection, Engine } from '../collections/index.js'
import type { Locator } from '../core/index.js'
import type { Placed } from '../envoy/index.js'
import type { Publication, XdsServer } from './types.js'

/** Collects what the derivation changes until it is told to publish. */
export interface Publisher {
  /** Publishes what has changed since the last time, as one state; before the first time nothing is served. */
  publish(): void
  /** Stops collecting. */
  close(): void
}

/**
 * Carries resources to an xDS server: each Gateway of `gateways` is published, also when it has nothing to serve, and
 * forgotten when it goes.
 */
export function createPublisher(
  engine: Engine,
  { placed, gateways }: { placed: Collection<Placed>; gateways: Collection<unknown> },
  xds: Pick<XdsServer, 'publish' | 'forget'>,
): Publisher {
  const waiting = new Map<Locator, Map<string, Publication['changes'][number]>>()
  const changesOf = (gateway: Locator) => {
    const held = waiting.get(gateway) ?? new Map<string, Publication['changes'][number]>()
    waiting.set(gateway, held)
    return held
  }
  const note = (key: string, old: Placed | undefined, now: Placed | undefined) => {
    const { gateway, resource } = (now ?? old) as Placed
    changesOf(gateway).set(key, { type: resource.type, name: resource.name, resource: now?.resource })
  }
  for (const [gateway] of gateways.entries()) changesOf(gateway)
  for (const [key, value] of placed.entries()) note(key, undefined, value)
  const undo = [
    engine.watch(gateways, changes => changes.forEach(({ key }) => changesOf(key))),
    engine.watch(placed, changes => changes.forEach(change => note(change.key, change.old, change.new))),
  ]
  return {
    publish() {
      const publications = [...waiting].map(([gateway, changes]) => ({
        gateway,
        changes: [...changes.values()],
      }))
      waiting.clear()
      xds.publish(publications.filter(({ gateway }) => gateways.has(gateway)))
      for (const { gateway } of publications) if (!gateways.has(gateway)) xds.forget(gateway)
    },
    close: () => undo.forEach(each => each()),
  }
}
