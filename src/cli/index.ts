/** What the commands ask of the composition root. */
export type * from './pipeline.js'
