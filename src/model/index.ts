/** The neutral model of a data plane per Gateway, and every condition as data. */
export type * from './types.js'
export { createModel, type Model, type ModelOptions } from './model.js'
export type { GatewayAddress } from './gateway-status.js'
export { modelText, type ModelText } from './text.js'
export { secretText } from './secret-text.js'
export { durationMs } from './durations.js'
