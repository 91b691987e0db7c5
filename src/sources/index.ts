/** How state comes in: a folder of manifests, relayed watch events, full lists, and admission reviews as hints. */
export type { Check } from './check.js'
export type { Directory, DirectoryOptions } from './directory/directory.js'
export { watchDirectory } from './directory/directory.js'
export type { ReadManifests, ReadOptions } from './directory/manifests.js'
export { readManifests } from './directory/manifests.js'
export type { Hint } from './hint.js'
export type { Received, Rejected, Receiver, ReceiverOptions } from './receiver/receiver.js'
export { createReceiver } from './receiver/receiver.js'
export type { Listed, Lister, ListReport, ReconcileOptions } from './cluster/list.js'
export { reconcile } from './cluster/list.js'
export type {
  AdmissionOptions,
  AdmissionRequest,
  AdmissionStatus,
  AdmissionVerdict,
  Decision,
  Reviewed,
} from './admission/admission.js'
export { decideAdmission, reviewAdmission } from './admission/admission.js'
export type { CrossCheck } from './admission/references.js'
export { crossChecks } from './admission/references.js'
export type { ReadBackOptions } from './cluster/read-back.js'
export { readHintsBack } from './cluster/read-back.js'
