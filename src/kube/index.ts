/** The API server: lists, watches, reviews. The client library is loaded when a connection is made, and only here. */
export type * from './types.js'
export { connect, podTokenFile } from './client.js'
export { connectLater } from './later.js'
export { KubeError } from './errors.js'
