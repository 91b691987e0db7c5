import { lstat, readdir, stat } from 'node:fs/promises'
import type { BigIntStats, Dirent } from 'node:fs'
import { join } from 'node:path'

/** A path inside the watched folder, with `/`; `''` is the folder itself. */
export type RelativePath = string

/** What there is at and below a path. */
export interface Survey {
  /** Files that may hold manifests. */
  readonly files: ReadonlyMap<RelativePath, BigIntStats>
  /** Folders, the surveyed path included where it is one. */
  readonly folders: ReadonlyMap<RelativePath, BigIntStats>
  /** Files and folders that are there but cannot be looked at. */
  readonly unreadable: ReadonlyMap<RelativePath, NodeJS.ErrnoException>
}

/** True for names that are looked at: no dotfiles (a ConfigMap mount keeps its files behind one), no node_modules. */
export function isVisible(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules'
}

export function isManifest(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name)
}

/**
 * Looks for manifests at `path` and below. Symbolic links are followed, except to a folder that holds the link.
 *
 * @param wanted - whether what stands at `path` is read whatever its name, if it is a file
 * @param enter - called before a folder is read, so that what changes while it is read is not missed
 */
export async function survey(
  root: string,
  path: RelativePath,
  wanted: boolean,
  enter: (folder: RelativePath, stats: BigIntStats) => void = () => undefined,
): Promise<Survey> {
  const walk = new Walk(root, enter)
  await walk.visit(path, await walk.ancestors(path), wanted)
  return walk
}

class Walk implements Survey {
  readonly files = new Map<RelativePath, BigIntStats>()
  readonly folders = new Map<RelativePath, BigIntStats>()
  readonly unreadable = new Map<RelativePath, NodeJS.ErrnoException>()
  readonly #root: string
  readonly #enter: (folder: RelativePath, stats: BigIntStats) => void

  constructor(root: string, enter: (folder: RelativePath, stats: BigIntStats) => void) {
    this.#root = root
    this.#enter = enter
  }

  /** Which folders lead to `path`, as the file system knows them. */
  async ancestors(path: RelativePath): Promise<readonly string[]> {
    if (path === '') return []
    const steps = path.split('/').map((_, depth, all) => all.slice(0, depth).join('/'))
    const stats = await Promise.all(steps.map(step => this.#stat(step, false)))
    return stats.flatMap(found => (found ? [identity(found)] : []))
  }

  /** @param wanted - whether it would be read if it is a file */
  async visit(path: RelativePath, above: readonly string[], wanted: boolean): Promise<void> {
    const stats = await this.#stat(path, wanted)
    if (stats?.isFile() && wanted) this.files.set(path, stats)
    if (stats?.isDirectory() && !above.includes(identity(stats))) {
      await this.#visitFolder(path, stats, [...above, identity(stats)])
    }
  }

  async #visitFolder(path: RelativePath, stats: BigIntStats, above: readonly string[]): Promise<void> {
    this.folders.set(path, stats)
    this.#enter(path, stats)
    const entries = (await this.#list(path)).filter(entry => isVisible(entry.name) && isOfInterest(entry))
    for (let at = 0; at < entries.length; at += 64) {
      const some = entries.slice(at, at + 64)
      await Promise.all(some.map(({ name }) => this.visit(child(path, name), above, isManifest(name))))
    }
  }

  async #list(path: RelativePath): Promise<readonly Dirent[]> {
    try {
      return await readdir(join(this.#root, path), { withFileTypes: true })
    } catch (error) {
      this.unreadable.set(path, error as NodeJS.ErrnoException)
      return []
    }
  }

  /** A link that leads nowhere is there and is refused; a file that went away meanwhile is not there. */
  async #stat(path: RelativePath, wanted: boolean): Promise<BigIntStats | undefined> {
    const whole = join(this.#root, path)
    try {
      return await stat(whole, { bigint: true })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const isThere =
        code !== 'ENOENT' ||
        (wanted &&
          (await lstat(whole).then(
            () => true,
            () => false,
          )))
      if (isThere) this.unreadable.set(path, error as NodeJS.ErrnoException)
      return undefined
    }
  }
}

/** Sockets, pipes and devices are not opened: some never end. */
function isOfInterest(entry: Dirent): boolean {
  return entry.isDirectory() || entry.isSymbolicLink() || (entry.isFile() && isManifest(entry.name))
}

export function child(folder: RelativePath, name: string): RelativePath {
  return folder === '' ? name : `${folder}/${name}`
}

/** Inode numbers are given again to the next who asks; the time of birth tells them apart. */
export function identity({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`
}
