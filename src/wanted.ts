import type { Collection, Engine } from './collections/index.js'
import type { Locator } from './core/index.js'
import type { Wanted } from './sources/index.js'

/** The Secrets and ConfigMaps that the model refers to, as the sources ask for them: as of the last whole derivation. */
export function wantedOf(engine: Engine, collection: Collection<Locator>): Wanted {
  const keys = new Set<Locator>()
  const listeners = new Set<Parameters<Wanted['subscribe']>[0]>()
  engine.watch(collection, changes => {
    const came = changes.filter(({ old }) => old === undefined).map(change => change.key)
    const went = changes.filter(change => change.new === undefined).map(change => change.key)
    for (const key of came) keys.add(key)
    for (const key of went) keys.delete(key)
    if (came.length + went.length === 0) return
    for (const listener of listeners) listener({ came, went })
  })
  return {
    has: key => keys.has(key),
    keys: () => keys,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** For whoever derives nothing: no Secret and no ConfigMap is read. */
export const nothingWanted: Wanted = { has: () => false, keys: () => [], subscribe: () => () => undefined }
