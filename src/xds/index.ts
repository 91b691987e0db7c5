/** xDS: what the model became is told to the proxies, in order, and what they answer is told to us. */
export type * from './types.js'
export type { Caller, Identify, Refused } from './identity.js'
export { byNodeCluster } from './identity.js'
export type { XdsOptions } from './server.js'
export { createXds } from './server.js'
export type { Publisher } from './publisher.js'
export { createPublisher } from './publisher.js'
