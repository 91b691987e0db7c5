/** How state comes in: a folder of manifests, relayed watch events, full lists, and admission reviews as hints. */
export type { Check } from './check.js'
export type { Directory, DirectoryOptions } from './directory.js'
export { watchDirectory } from './directory.js'
export type { ReadManifests, ReadOptions } from './manifests.js'
export { readManifests } from './manifests.js'
export type { Hint } from './hint.js'
export type { Received, Rejected, Relay, RelayOptions } from './relay.js'
export { createRelay } from './relay.js'
export type { Listed, Lister, ListReport, ReconcileOptions } from './list.js'
export { reconcile } from './list.js'
export type {
  AdmissionOptions,
  AdmissionRequest,
  AdmissionStatus,
  AdmissionVerdict,
  Decision,
  Reviewed,
} from './admission.js'
export { decideAdmission, reviewAdmission } from './admission.js'
export type { CrossCheck } from './references.js'
export { crossChecks } from './references.js'
export type { ReadBackOptions } from './read-back.js'
export { readHintsBack } from './read-back.js'
