import type { ClusterAccess, Folder } from './cli/index.js'
import { openCluster, type ClusterParts, type OpenCluster } from './cluster.js'
import type { Closing } from './closing.js'
import type { Problem } from './core/index.js'
import type { Reconciled } from './server/index.js'
import { watchDirectory, type Cluster, type Directory } from './sources/index.js'

/** Where the objects come from: a folder, or a cluster. */
export interface Origin {
  /** Resolves when everything has been looked at once; rejects with a Fault when there is nothing to look at. */
  readonly ready: Promise<void>
  /** Whether the store holds all that there is; nothing is published before it does once. */
  complete(): boolean
  /** What a complete state waits for, a sentence each. */
  waitingFor(): readonly string[]
  /** What is wrong with the user's files. */
  problems(): readonly Problem[]
  /** What cannot be read and stays as it was. */
  degraded(): Reconciled['degraded']
  /** Reads everything again. */
  reconcile(): Promise<Reconciled>
  /** Called after each reading. Returns its undo. */
  subscribe(listener: () => void): () => void
}

export interface OriginParts extends Omit<ClusterParts, 'access'> {
  readonly from: Folder | ClusterAccess
}

/** Begins to take objects in. `opened` is absent where there is no cluster. Throws NO_CLUSTER. */
export async function openOrigin(
  { from, kinds, wanted, firstMs = 0, ...shell }: OriginParts,
  closing: Closing,
): Promise<{ readonly origin: Origin; readonly opened: OpenCluster | undefined }> {
  if ('directory' in from) {
    const directory = watchDirectory({ path: from.directory, ...shell })
    closing.add(() => directory.close())
    return { origin: folderOrigin(directory, from.allowPartial), opened: undefined }
  }
  const opened = await openCluster({ ...shell, access: from, kinds, wanted, firstMs }, closing)
  return { origin: clusterOrigin(opened.cluster), opened }
}

/** @param allowPartial - a state without the files that have never been good is complete enough */
function folderOrigin(directory: Directory, allowPartial: boolean): Origin {
  let read = false
  const ready = directory.ready.then(() => void (read = true))
  // Whoever awaits it hears of a failure; until then there is nobody.
  ready.catch(() => undefined)
  const incomplete = () => (allowPartial ? [] : directory.incomplete())
  const degraded = () => {
    const errors = directory.problems().filter(({ severity }) => severity === 'error')
    return errors.map(({ place, message }) => ({ source: place?.file ?? 'directory', message }))
  }
  return {
    ready,
    complete: () => read && incomplete().length === 0,
    waitingFor: () =>
      incomplete().map(
        file => `${file} has never been read without a problem (--allow-partial serves the rest)`,
      ),
    problems: () => directory.problems(),
    degraded,
    async reconcile() {
      const { accepted, stale, duplicate } = await directory.rescan()
      return { accepted, stale, duplicate, degraded: degraded() }
    },
    subscribe: listener => directory.subscribe(listener),
  }
}

function clusterOrigin(cluster: Cluster): Origin {
  return {
    ready: Promise.resolve(),
    complete: () => cluster.complete(),
    waitingFor: () => cluster.waitingFor(),
    problems: () => [],
    degraded: () => cluster.degraded(),
    reconcile: () => cluster.reconcile(),
    subscribe: listener => cluster.subscribe(listener),
  }
}

/** What cannot be read, a sentence for each source. */
export function reasonsOf(origin: Origin): readonly string[] {
  const reasons = origin.degraded().map(({ source, message }) => `${source} stays as it was: ${message}`)
  return [...new Set(reasons)]
}
