/** What the server asks of the rest of the system; `src/run.ts` fills it in, tests do with small objects. */
import type { Locator, Log, Metrics, Problem } from '../core/index.js'
import type { Resource } from '../envoy/index.js'
import type { AdmissionRequest, AdmissionVerdict } from '../sources/index.js'
import type { Status } from '../status/index.js'
import type { Snapshot } from '../store/index.js'
import type { Reason } from '../topology/index.js'
import type { XdsServer } from '../xds/index.js'

/** Everything that can be served. A server of a part (see `Part`) needs only what that part asks. */
export type ServerContext = OperationsContext & WebhookContext & QueryContext

/** What health and metrics ask; every server has it. */
export interface OperationsContext {
  readonly version: string
  readonly log: Log
  readonly metrics: Metrics
  readiness(): Readiness
}

/** How state comes in. */
export interface WebhookContext {
  /** Resolves when everything accepted so far is derived. */
  settled(): Promise<void>
  /** See {@link QueryContext.revision}. */
  revision(): number
  /** Validates; changes no state. `timeoutMs`: how long the API server waits for the whole answer. */
  admit(
    request: AdmissionRequest,
    options: { readonly timeoutMs: number },
  ): AdmissionVerdict | Promise<AdmissionVerdict>
  /** Takes relayed messages as facts; resolves when they are in the store. */
  receive(messages: readonly WatchMessage[]): Received | Promise<Received>
  /** Reads every source again, whole. */
  reconcile(): Promise<Reconciled>
}

/** What is held and derived. */
export interface QueryContext {
  /** Resolves when everything accepted so far is derived; queries wait for it. */
  settled(): Promise<void>
  /** Another number whenever an answer about topology, objects, statuses or problems may differ; never falls. */
  revision(): number
  snapshot(): Snapshot
  /** An object's status as Kubernetes would hold it, where it has one. */
  status(locator: Locator): Status | undefined
  /** What is wrong with the user's files now. */
  problems(): readonly Problem[]
  readonly topology: TopologyReader
  readonly xds: XdsReader
}

export interface TopologyReader {
  has(id: Locator): boolean
  graph(filter: TopologyFilter): TopologyGraph
  text(filter: TopologyFilter, format: 'dot' | 'mermaid'): string
  /** Every path from one node to another; taken one by one, so a lazy iterable may be endless work unasked. */
  paths(from: Locator, to: Locator): Iterable<readonly Locator[]>
}

/** What `/v1/topology` filters by, with the names of its query parameters. */
export interface TopologyFilter {
  readonly kind?: readonly string[]
  readonly namespace?: string
  readonly name?: string
  /** Only what can be reached from it. */
  readonly root?: Locator
  /** How many edges away from `root`. */
  readonly depth?: number
}

/** Nodes and edges to show; the topology room's view of its graph. */
export interface TopologyGraph {
  readonly nodes: readonly {
    readonly id: Locator
    readonly kind: string
    readonly namespace?: string
    readonly name: string
    readonly section?: string
    readonly role?: string
    /** Something refers to it and it is not there. */
    readonly missing?: true
    readonly health?: 'ok' | 'warning' | 'error'
  }[]
  readonly edges: readonly {
    readonly from: Locator
    readonly to: Locator
    readonly link: string
    readonly state: 'ok' | 'broken' | 'refused'
    /** Why it is not ok. */
    readonly reason?: Reason
    /** The fields that say so, in the object that refers. */
    readonly fields?: readonly string[]
  }[]
}

export interface XdsReader extends Pick<XdsServer, 'clients' | 'gateways' | 'resources'> {
  /** A resource decoded from its bytes into Envoy's JSON form, what is secret as `[redacted]`. */
  describe(resource: Resource): unknown
}

/**
 * A watch event (`type` ADDED, MODIFIED, DELETED, BOOKMARK, HINT or SYNC), or a CloudEvent 1.0 in structured form
 * (it has `specversion`); its shape has been checked against openapi.yaml's `WatchMessage`.
 */
export type WatchMessage = Readonly<Record<string, unknown>>

export interface Received {
  readonly accepted: number
  readonly stale: number
  readonly duplicate: number
  readonly rejected: readonly {
    /** Position among the messages, from 0. */
    readonly index: number
    readonly object?: Locator
    readonly message: string
  }[]
}

export interface Reconciled {
  readonly accepted: number
  readonly stale: number
  readonly duplicate: number
  /** What could not be read and keeps what it had, and why. */
  readonly degraded: readonly { readonly source: string; readonly message: string }[]
}

export interface Readiness {
  /** False until a first complete state is served. */
  readonly ready: boolean
  /** Ready with reasons is degraded: a source is away and its last state is served. */
  readonly reasons: readonly string[]
}
