/** Kubernetes object metadata, the part that Gatewright reads (meta/v1 ObjectMeta). */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  /** RFC 3339, whole seconds. Absent for objects that never saw an API server. */
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** Any Kubernetes object. Immutable once it is in the store. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}
