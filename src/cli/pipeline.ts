/**
 * Everything the commands ask of the rest of the system, so that a test can run a command in its own process.
 * `src/run.ts` implements it.
 */
import type { KubeObject, Locator, Log, Problem } from '../core/index.js'
import type { Credentials } from '../sources/index.js'

export interface Pipeline {
  /**
   * Reads manifests from files and folders (recursive), and from `text` where a path is `-`. Every object is
   * defaulted and validated. A path that cannot be read is a problem like any other; nothing throws.
   */
  load(paths: readonly string[], text?: string): Promise<Loaded>
  /** What the objects come to, with nothing running. Objects with problems may be left out by the caller. */
  translate(objects: readonly KubeObject[]): Translation
  /**
   * Starts the control plane and resolves when its sockets are bound. Throws a Fault (ADDRESS_IN_USE,
   * ADDRESS_UNAVAILABLE, DIRECTORY_MISSING, ENVOY_MISSING, NO_CLUSTER) and then leaves nothing running.
   */
  start(options: StartOptions): Promise<Running>
}

/** The two that do without most of the system, and are loaded without it. */
export interface WebhookSide {
  /** Starts a control plane that only admits: it derives nothing and has no proxies. */
  start(options: WebhookOptions): Promise<Served>
}

export interface RelaySide {
  start(options: RelayStart): Promise<Relaying>
}

export interface Loaded {
  /** Valid objects, in order of locator. */
  readonly objects: readonly KubeObject[]
  /** In order of file, line and column. */
  readonly problems: readonly Problem[]
}

/** The derived state of a set of objects. */
export interface Translation {
  /** Gateways of ours, in order of locator. */
  readonly gateways: readonly Locator[]
  /** The model as plain data (ports, route tables, virtual hosts, clusters, endpoints, …), secrets as `[redacted]`. */
  model(gateway?: Locator): object
  /** The resources of one Gateway's proxies, in order of type and name. */
  xds(gateway: Locator): readonly XdsResource[]
  /** Every object that has a status, `status` as Kubernetes would hold it, in order of locator. */
  statuses(): readonly KubeObject[]
  topology(filter: TopologyFilter, format: TopologyFormat): string
}

/** One resource as Envoy's documented JSON, decoded from its bytes, secrets as `[redacted]`. */
export interface XdsResource {
  readonly type: string
  readonly name: string
  readonly version: string
  readonly resource: object
}

/** What `/v1/topology` filters by, with the names of its query parameters. */
export interface TopologyFilter {
  readonly kind?: readonly string[]
  readonly namespace?: string
  readonly name?: string
  /** A locator; only what is reachable from it. */
  readonly root?: string
  readonly depth?: number
}

export type TopologyFormat = 'json' | 'dot' | 'mermaid'

/** Where HTTP is served, and who may call. */
export interface HttpOptions {
  /** `host:port` of the HTTP server; port 0 = any free one. */
  readonly http: string
  /** `host:port` of health and metrics, where they have a port of their own. */
  readonly ops?: string
  /** Files with the certificate of the HTTP server, read again when they change; absent: plain HTTP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile?: string }
  /** A file with a token that opens `/webhooks/watch`; everything, where objects come from a folder. */
  readonly tokenFile?: string
  /** A file with the key of signatures that open `/webhooks/watch`. */
  readonly hmacFile?: string
  readonly log: Log
}

/** Which API server is called, and as whom; default: see `connect`. */
export interface ApiServer {
  readonly kubeconfig?: string
  readonly context?: string
}

/** A cluster, and the replicas that serve it. */
export interface ClusterAccess {
  readonly api: ApiServer
  /** ms between full lists. */
  readonly periodMs: number
  /** `host:port` of every serving replica, told of what is admitted. */
  readonly peers: readonly string[]
  /** How this replica shows its peers who it is. */
  readonly peerCredentials: Credentials
}

export interface StartOptions extends HttpOptions {
  /** Where the objects come from. */
  readonly from: Folder | ClusterAccess
  /** `host:port` of the xDS server. */
  readonly xds: string
  /** The address that Gateways listen on, e.g. `127.0.0.1`. */
  readonly listenerAddress: string
  /** Absent: no Envoy is started, proxies connect by themselves. */
  readonly envoy?: {
    /** The binary. */
    readonly path: string
    /** `host:port` of the admin page of the first Gateway's Envoy; the others take any free port. */
    readonly admin: string
    /** Worker threads of each Envoy. */
    readonly concurrency: number
    /** `ip:port` of the DNS server that Envoys ask; default: this machine's. */
    readonly dns?: string
    /** Where pid, bootstrap and output of each Envoy are kept; one directory for one `directory` above. */
    readonly stateDirectory: string
  }
}

export interface Folder {
  readonly directory: string
  /** Publish although some files could not be read at the start. */
  readonly allowPartial: boolean
}

export interface WebhookOptions extends HttpOptions {
  readonly from: ClusterAccess
}

export interface RelayStart {
  readonly api: ApiServer
  readonly targets: readonly string[]
  readonly credentials: Credentials
  readonly ops: string
  readonly log: Log
}

/** A running relay. */
export interface Relaying {
  /** `host:port` of health and metrics. */
  readonly ops: string
  close(): Promise<void>
}

/** A server that answers. */
export interface Served {
  /** `host:port` bound. */
  readonly http: string
  readonly ops?: string
  /** Reads everything again. */
  reconcile(): Promise<void>
  close(): Promise<void>
}

/** A running control plane. */
export interface Running extends Served {
  /** `host:port` bound. */
  readonly xds: string
  /**
   * Resolves when every Gateway of the first complete state is served: published and, with Envoys of our own,
   * acknowledged. Never rejects; while files cannot be read it waits (see {@link Running.problems}).
   */
  ready(): Promise<void>
  /** What is wrong with the user's files now. */
  problems(): readonly Problem[]
  /** What holds everything else back, a sentence each. */
  waitingFor(): readonly string[]
  /** Gateways of ours with the addresses that they serve at (`127.0.0.1:8080`) and their Envoy, if any. */
  gateways(): readonly ServedGateway[]
}

export interface ServedGateway {
  readonly gateway: Locator
  readonly addresses: readonly string[]
  readonly envoy?: { readonly pid: number; readonly admin: string }
  /** What proxies say of the configuration that they refuse, for example that a port is in use. */
  readonly refusals: readonly string[]
}
