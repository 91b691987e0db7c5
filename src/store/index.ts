/** The objects: facts are taken in by version, snapshots are immutable, subscribers get merged notices. */
export type * from './types.js'
export type { StoreOptions } from './store.js'
export { createStore } from './store.js'
export { compareVersions, isVersion, newer } from './versions.js'
export type { Mirror, Objects } from './objects.js'
export { mirror } from './objects.js'
