/** The HTTP API: queries, webhooks, health and metrics, as openapi.yaml states them. */
export type * from './context.js'
export type { Server, ServerOptions } from './app.js'
export { createServer } from './app.js'
export type { Authoriser, Call, Denial } from './authorise.js'
export { bearerToken } from './authorise.js'
export type { FieldError, ProblemBody, ProblemType } from './problem.js'
export { problemTypes } from './problem.js'
