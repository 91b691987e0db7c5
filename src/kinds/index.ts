export type * from './types.js'
export type { KnownKind } from './ids.js'
export { controllerName, groups, ids } from './ids.js'
