/**
 * Everything the commands ask of the rest of the system, so that a test can run a command in its own process.
 * `src/run.ts` implements it.
 */
import type { KubeObject, Locator, Log, Problem } from '../core/index.js'

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
   * ADDRESS_UNAVAILABLE, DIRECTORY_MISSING, ENVOY_MISSING) and then leaves nothing running.
   */
  start(options: StartOptions): Promise<Running>
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

export interface StartOptions {
  readonly directory: string
  /** `host:port` of the HTTP server; port 0 = any free one. */
  readonly http: string
  /** `host:port` of the xDS server. */
  readonly xds: string
  /** Publish although some files could not be read at the start. */
  readonly allowPartial: boolean
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
  readonly log: Log
}

/** A running control plane. */
export interface Running {
  /** `host:port` bound. */
  readonly http: string
  readonly xds: string
  /**
   * Resolves when every Gateway of the first complete state is served: published and, with Envoys of our own,
   * acknowledged. Never rejects; while files cannot be read it waits (see {@link Running.problems}).
   */
  ready(): Promise<void>
  /** What is wrong with the user's files now. */
  problems(): readonly Problem[]
  /** Files that have never been good and hold everything else back. Empty once something is published. */
  waitingFor(): readonly string[]
  /** Gateways of ours with the addresses that they serve at (`127.0.0.1:8080`) and their Envoy, if any. */
  gateways(): readonly ServedGateway[]
  /** Stops everything that was started, Envoys included. */
  close(): Promise<void>
}

export interface ServedGateway {
  readonly gateway: Locator
  readonly addresses: readonly string[]
  readonly envoy?: { readonly pid: number; readonly admin: string }
  /** What proxies say of the configuration that they refuse, for example that a port is in use. */
  readonly refusals: readonly string[]
}
