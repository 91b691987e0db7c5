/** How state comes in: a folder of manifests, relayed watch events, full lists, and admission reviews as hints. */
export type { Check } from './check.js'
export type { Directory, DirectoryOptions } from './directory/directory.js'
export { watchDirectory } from './directory/directory.js'
export type { ReadManifests, ReadOptions } from './directory/manifests.js'
export { readManifests } from './directory/manifests.js'
export type { Hint } from './hint.js'
export type { Received, Rejected, Receiver, ReceiverOptions } from './receiver/receiver.js'
export { createReceiver } from './receiver/receiver.js'
export type { Failure, Listed, Lister, ListReport, ReconcileOptions, Selected } from './cluster/list.js'
export { reconcile } from './cluster/list.js'
export { listNamed } from './cluster/reader.js'
export type { Admission, AdmissionSource } from './admission/admission.js'
export { createAdmission } from './admission/admission.js'
export type {
  AdmissionOptions,
  AdmissionRequest,
  AdmissionStatus,
  AdmissionVerdict,
  CrossCheck,
  Decision,
  Finding,
  Read,
} from './admission/types.js'
export { decideAdmission } from './admission/decision.js'
export type { Reviewed } from './admission/review.js'
export { reviewAdmission, timeoutOf } from './admission/review.js'
export { crossChecks } from './admission/checks.js'
export type { Lookup, Surroundings } from './admission/surroundings.js'
export type { Cluster, ClusterOptions, Wanted } from './cluster/types.js'
export { createCluster } from './cluster/cluster.js'
export type { SignatureHeaders } from './relay/signature.js'
export { SeenSignatures, signed, whyNotSigned } from './relay/signature.js'
export type { Credentials, Forwarder, ForwarderOptions, Relay, RelayOptions } from './relay/types.js'
export { createForwarder } from './relay/forwarder.js'
export { startRelay } from './relay/relay.js'
