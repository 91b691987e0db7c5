import { watch } from 'node:fs'
import type { BigIntStats, FSWatcher } from 'node:fs'
import { join } from 'node:path'
import type { RelativePath } from './survey.js'
import { identity } from './survey.js'

/**
 * One watch for each folder, not for each file: ten thousand files cost one, and a rename over a file or over a
 * ConfigMap's `..data` is seen like any other change of the folder's entries.
 */
export class FolderWatches {
  readonly #root: string
  readonly #onChange: (folder: RelativePath, name: string | undefined) => void
  readonly #onFailure: (error: Error) => void
  #closed = false
  readonly #watches = new Map<RelativePath, { readonly identity: string; readonly watcher: FSWatcher }>()

  constructor(
    root: string,
    onChange: (folder: RelativePath, name: string | undefined) => void,
    onFailure: (error: Error) => void,
  ) {
    this.#root = root
    this.#onChange = onChange
    this.#onFailure = onFailure
  }

  /** Watches the folder, anew where another one has taken its name. */
  enter(folder: RelativePath, stats: BigIntStats): void {
    const known = this.#watches.get(folder)
    if (this.#closed || known?.identity === identity(stats)) return
    known?.watcher.close()
    this.#watches.delete(folder)
    try {
      const watcher = watch(join(this.#root, folder), (_event, name) =>
        this.#onChange(folder, name ?? undefined),
      )
      watcher.unref()
      watcher.on('error', error => this.#fail(folder, error))
      this.#watches.set(folder, { identity: identity(stats), watcher })
    } catch (error) {
      this.#onFailure(error as Error)
    }
  }

  leave(folder: RelativePath): void {
    this.#watches.get(folder)?.watcher.close()
    this.#watches.delete(folder)
  }

  leaveAll(): void {
    for (const folder of [...this.#watches.keys()]) this.leave(folder)
  }

  close(): void {
    this.#closed = true
    this.leaveAll()
  }

  #fail(folder: RelativePath, error: Error): void {
    this.leave(folder)
    this.#onFailure(error)
  }
}
