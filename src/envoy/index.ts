export type * from './types.js'
export { typeUrls } from './types.js'
