/** How state comes in: a folder of manifests, relayed watch events, full lists, and admission reviews as hints. */
export type { Check } from './check.js'
export type { Directory, DirectoryOptions } from './directory.js'
export { watchDirectory } from './directory.js'
export type { ReadManifests, ReadOptions } from './manifests.js'
export { readManifests } from './manifests.js'
