/** The incremental engine: collections derived from collections, that compute again only what a change can touch. */
export type * from './types.js'
export { createEngine } from './engine.js'
export { equal } from './equal.js'
export type { Difference } from './persistent-map.js'
export { MapDraft, PersistentMap, diff } from './persistent-map.js'
