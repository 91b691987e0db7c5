import type { BigIntStats } from 'node:fs'
import { join } from 'node:path'
import type { Problem } from '../../core/index.js'
import type { StoreEvent } from '../../store/index.js'
import type { Check } from '../check.js'
import { Claims } from './claims.js'
import { ManifestFile, fileProblem, readText, whyUnreadable } from './manifest-file.js'
import type { Text } from './manifest-file.js'
import { pauses } from '../pauses.js'
import type { RelativePath, Survey } from './survey.js'
import { identity, isManifest, survey } from './survey.js'

export interface FolderOptions {
  readonly root: string
  /** The one file of the root that is read; `''` = all. */
  readonly scope: RelativePath
  readonly check?: Check | undefined
  /** A folder is about to be read, or is gone. */
  readonly enter: (folder: RelativePath, stats: BigIntStats) => void
  readonly leave: (folder: RelativePath) => void
  /** In ms. */
  readonly now: () => number
  /** Asks to have a file read again after so many ms. */
  readonly lookAgain: (path: RelativePath, ms: number) => void
}

/** In ms: a program that writes a file in place empties it first. */
const emptyGrace = 1000

/** What the files of a folder say, file by file. It reads when it is told to. */
export class ManifestFolder {
  readonly #options: FolderOptions
  readonly #claims = new Claims()
  readonly #files = new Map<RelativePath, ManifestFile>()
  #folders = new Map<RelativePath, BigIntStats>()
  /** Folders that are there but cannot be read; what is below them stays as it was. */
  #closed = new Map<RelativePath, Problem>()
  #pause = pauses()

  constructor(options: FolderOptions) {
    this.#options = options
  }

  /** Where the root was at the last reading; undefined when it has not been read. */
  get rootIdentity(): string | undefined {
    const stats = this.#folders.get('')
    return stats && identity(stats)
  }

  /** How many files there are, and how many of them have problems. */
  counts(): { readonly files: number; readonly bad: number } {
    const bad = [...this.#files.values()].filter(({ problems }) => problems.some(isError)).length
    return { files: this.#files.size, bad }
  }

  /** All that the files say that may be in the store. */
  everything(): readonly StoreEvent[] {
    return this.#claims.everything()
  }

  problems(): readonly Problem[] {
    const found = [...this.#files.values()].flatMap(file => file.problems)
    return [...found, ...this.#closed.values(), ...this.#claims.problems()].sort(byPlace)
  }

  /** Files and folders of which nothing has ever been known. */
  incomplete(): readonly string[] {
    const never = [...this.#files].filter(([, file]) => file.objects === undefined).map(([path]) => path)
    return [...never, ...this.#closed.keys()].map(path => this.#name(path)).sort()
  }

  /**
   * Reads the paths (`''` = all) again and returns what has changed; undefined when what should be read is away.
   *
   * @param force - reads all files again, whether or not they seem to have changed
   */
  async read(paths: ReadonlySet<RelativePath>, force: boolean): Promise<readonly StoreEvent[] | undefined> {
    this.#pause = pauses()
    for (const path of paths) {
      const found = await this.#survey(path)
      if (path === this.#options.scope && isAway(found, path)) return undefined
      await this.#takeSurvey(path, found, force || path !== this.#options.scope)
    }
    return this.#claims.changes()
  }

  #survey(path: RelativePath): Promise<Survey> {
    const { root, scope, enter } = this.#options
    return survey(root, path, path === '' ? false : path === scope || isManifest(path), enter)
  }

  async #takeSurvey(path: RelativePath, found: Survey, force: boolean): Promise<void> {
    for (const known of this.#below(path, this.#files)) {
      if (!found.files.has(known) && !isBelowAny(known, found.unreadable)) this.#forget(known)
    }
    for (const known of this.#below(path, this.#folders)) {
      if (!found.folders.has(known)) this.#leave(known)
    }
    for (const known of this.#below(path, this.#closed)) this.#closed.delete(known)
    for (const [folder, stats] of found.folders) this.#folders.set(folder, stats)
    for (const [file, error] of found.unreadable) this.#refuse(file, error)
    await this.#takeFiles([...found.files], force)
  }

  /** Reads ahead, so that one file is parsed while the next ones come from the disk. */
  async #takeFiles(files: readonly (readonly [RelativePath, BigIntStats])[], force: boolean): Promise<void> {
    for (let at = 0; at < files.length; at += 32) {
      const some = files.slice(at, at + 32).filter(([path, stats]) => force || this.#isChanged(path, stats))
      const texts = some.map(([path, stats]) => this.#readText(path, stats))
      for (const [index, [path, stats]] of some.entries()) {
        await this.#take(path, stats, (await texts[index]) as Text)
        await this.#pause()
      }
    }
  }

  #readText(path: RelativePath, { size }: BigIntStats): Promise<Text> {
    return readText(join(this.#options.root, path), this.#name(path), size)
  }

  async #take(path: RelativePath, stats: BigIntStats, text: Text): Promise<void> {
    const file = this.#fileOf(path)
    if ('problem' in text) {
      file.refuse(text.problem)
      return
    }
    file.signature = signature(stats)
    if (text.text === '' && this.#isBeingWritten(path, file)) return
    file.emptiedAt = undefined
    if (text.digest === file.digest) return
    const before = file.objects
    await file.take(text, this.#name(path), { check: this.#options.check, pause: this.#pause })
    if (file.objects !== before) this.#claims.claim(path, file.objects ?? [])
  }

  /** An empty file that had objects is believed when it is still empty a little later. */
  #isBeingWritten(path: RelativePath, file: ManifestFile): boolean {
    if (file.objects === undefined || file.objects.length === 0) return false
    const now = this.#options.now()
    file.emptiedAt ??= now
    const left = file.emptiedAt + emptyGrace - now
    if (left > 0) this.#options.lookAgain(path, left)
    return left > 0
  }

  #isChanged(path: RelativePath, stats: BigIntStats): boolean {
    return this.#files.get(path)?.signature !== signature(stats)
  }

  #fileOf(path: RelativePath): ManifestFile {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const file = new ManifestFile()
    this.#files.set(path, file)
    return file
  }

  #refuse(path: RelativePath, error: NodeJS.ErrnoException): void {
    const problem = fileProblem(this.#name(path), whyUnreadable(error))
    if (isManifest(path) || path === this.#options.scope) this.#fileOf(path).refuse(problem)
    else this.#closed.set(path, problem)
  }

  #forget(path: RelativePath): void {
    this.#files.delete(path)
    this.#claims.claim(path, [])
  }

  #leave(folder: RelativePath): void {
    this.#folders.delete(folder)
    this.#options.leave(folder)
  }

  #below(path: RelativePath, of: ReadonlyMap<RelativePath, unknown>): readonly RelativePath[] {
    if (path === this.#options.scope) return [...of.keys()]
    if (!this.#folders.has(path)) return of.has(path) ? [path] : []
    return [...of.keys()].filter(known => isBelow(known, path))
  }

  #name(path: RelativePath): string {
    return join(this.#options.root, path)
  }
}

function isAway({ files, folders, unreadable }: Survey, path: RelativePath): boolean {
  return unreadable.has(path) || !(files.has(path) || folders.has(path))
}

const isBelow = (path: RelativePath, folder: RelativePath) => path === folder || path.startsWith(`${folder}/`)

function isBelowAny(path: RelativePath, folders: ReadonlyMap<RelativePath, unknown>): boolean {
  if (folders.size === 0) return false
  const steps = path.split('/')
  return steps.some((_, depth) => folders.has(steps.slice(0, depth + 1).join('/')))
}

function signature({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':')
}

const isError = ({ severity }: Problem) => severity === 'error'

/** By file, line and column. */
export function byPlace({ place: a }: Problem, { place: b }: Problem): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}
