/** What the model says of every object, joined with what the proxies say of it, as Kubernetes would hold it. */
export type { Address, Runtime, Status, StatusRow, Times } from './types.js'
export { statusOf } from './overlay.js'
export type { Refusal } from './refusal.js'
export { refusalOf, refusalText } from './refusal.js'
export type { StatusBook } from './book.js'
export { createStatusBook } from './book.js'
export type { ObjectFilter, ObjectList, StatusLookup } from './view.js'
export { objectList, passes, publicObject, statusList, statusTable } from './view.js'
