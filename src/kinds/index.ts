/**
 * Every kind that Gatewright knows: its row in the table, its defaults, and everything that can be wrong with one
 * object. Schemas are read and compiled on first use.
 */
export type * from './types.js'
export type { KnownKind } from './ids.js'
export { controllerName, groups, ids } from './ids.js'
export type { KindRow } from './table.js'
export { kindById, kindOf, kinds, servedKinds } from './table.js'
export type { Rule, Schema } from './schema.js'
export type { DefaultOptions } from './default.js'
export { defaulted } from './default.js'
export type { Validated, ValidateOptions } from './validate.js'
export { validate } from './validate.js'
export { compiledKinds } from './validator.js'
export { covers, intersect, meetingHostnames, mostSpecific, widerHostnames } from './hostnames.js'
export { pathOf, pathSegments } from './path.js'
export { whyNotRegex } from './pattern.js'
export { selects } from './selector.js'
