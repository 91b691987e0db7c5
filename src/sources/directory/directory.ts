import { stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { Fault, problemText, silentLog, systemClock } from '../../core/index.js'
import type { Clock, Log, Metrics, Problem } from '../../core/index.js'
import type { Applied, Store, StoreEvent } from '../../store/index.js'
import { applySliced } from '../apply.js'
import type { Check } from '../check.js'
import { ManifestFolder } from './manifest-folder.js'
import type { RelativePath } from './survey.js'
import { child, identity, isVisible } from './survey.js'
import { FolderWatches } from './watches.js'

export interface DirectoryOptions {
  /** A folder, read with all below it, or one file. */
  readonly path: string
  readonly store: Store
  readonly check?: Check
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
}

/** A folder of manifests whose objects are in the store. */
export interface Directory {
  /** Resolves when all files have been read once; rejects with a Fault DIRECTORY_MISSING where nothing is to be read. */
  readonly ready: Promise<void>
  /** What is wrong now, in order of file, line and column. Also says when the folder is away. */
  problems(): readonly Problem[]
  /** Files of which nothing is known, since they have never been good: without them the state is not complete. */
  incomplete(): readonly string[]
  /** Reads every file again and repairs what the store holds otherwise; resolves when the store has it. */
  rescan(): Promise<Applied>
  /** Called after each reading, whatever it came to. Returns its undo. */
  subscribe(listener: () => void): () => void
  /** Stops watching. What is in the store stays. */
  close(): void
}

/** How long changes gather, in ms: until nothing happens for the first time, but at most for the second. */
const quiet = 50
const patience = 500
/** In ms: how often is looked for a folder that is away or cannot be watched. */
const poll = 1000
/** Of one reading. */
const mostLogged = 50
/** Where so many paths have changed, all are looked at. */
const many = 200

/**
 * Reads a folder of manifests into the store and follows its changes. A file is taken whole or not at all: while
 * anything is wrong with it, what it said last is served. An object is deleted when its file no longer has it or is
 * gone. When the folder itself goes away, everything stays as it was until it is back.
 */
export function watchDirectory(options: DirectoryOptions): Directory {
  return new WatchedDirectory(options)
}

class WatchedDirectory implements Directory {
  readonly ready: Promise<void>
  readonly #path: string
  readonly #store: Store
  readonly #check: Check | undefined
  readonly #clock: Clock
  readonly #log: Log
  readonly #count: (folder: ManifestFolder, gone: boolean) => void
  readonly #listeners = new Set<() => void>()
  readonly #timers = new Set<() => void>()
  readonly #changed = new Set<RelativePath>()
  #changedSince: number | undefined
  #quietTimer: () => void = () => undefined
  #folder: ManifestFolder | undefined
  #watches: FolderWatches | undefined
  #parent: FolderWatches | undefined
  #scope: RelativePath = ''
  #fault: Fault | undefined
  #unwatched = false
  #polling = false
  #closed = false
  #reported = new Set<string>()
  #work: Promise<unknown> = Promise.resolve()

  constructor({ path, store, check, clock = systemClock, log = silentLog, metrics }: DirectoryOptions) {
    this.#path = path
    this.#store = store
    this.#check = check
    this.#clock = clock
    this.#log = log
    this.#count = gauges(metrics)
    this.ready = this.#queue(() => this.#open())
    this.ready.catch(() => undefined)
  }

  problems(): readonly Problem[] {
    const found = this.#folder?.problems() ?? []
    return this.#fault ? [goneProblem(this.#path, this.#fault), ...found] : found
  }

  incomplete(): readonly string[] {
    return this.#folder?.incomplete() ?? [this.#path]
  }

  rescan(): Promise<Applied> {
    return this.#queue(async () => {
      await this.#read(new Set([this.#scope]), true)
      const applied = await applySliced(this.#store, this.#folder?.everything() ?? [])
      if (applied.accepted > 0)
        this.#log.warn({ path: this.#path, repaired: applied.accepted }, 'store had drifted')
      return applied
    })
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#closed = true
    for (const stop of this.#timers) stop()
    this.#quietTimer()
    this.#watches?.close()
    this.#parent?.close()
    this.#listeners.clear()
  }

  /** One reading after the other. */
  #queue<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#work.then(task)
    this.#work = done.catch(() => undefined)
    return done
  }

  async #open(): Promise<void> {
    const stats = await stat(this.#path, { bigint: true }).catch((cause: unknown) => {
      throw new Fault('DIRECTORY_MISSING', `cannot read ${this.#path}`, { cause })
    })
    const [root, scope] = stats.isDirectory() ? [this.#path, ''] : [dirname(this.#path), basename(this.#path)]
    this.#scope = scope
    const watches = new FolderWatches(root, (folder, name) => this.#onChange(folder, name), this.#onUnwatched)
    this.#watches = watches
    this.#folder = new ManifestFolder({
      root,
      scope,
      check: this.#check,
      enter: (folder, found) => watches.enter(folder, found),
      leave: folder => watches.leave(folder),
      now: () => this.#clock.now(),
      lookAgain: (path, ms) => this.#after(ms, () => this.#touch(path)),
    })
    await this.#watchParent(root, scope)
    await this.#read(new Set([scope]), false)
    if (this.#fault) throw this.#fault
  }

  /** The folder's own name stands in its parent: there is seen when another takes its place. */
  async #watchParent(root: string, scope: RelativePath): Promise<void> {
    const own = scope === '' ? basename(resolve(root)) : scope
    const parent = scope === '' ? dirname(resolve(root)) : root
    const stats = await stat(parent, { bigint: true }).catch(() => undefined)
    if (stats === undefined || this.#closed) return
    const onChange = (_: RelativePath, name?: string) => {
      if (name === undefined || name === own || name.startsWith('..')) this.#touch(scope)
    }
    this.#parent = new FolderWatches(parent, onChange, this.#onUnwatched)
    this.#parent.enter('', stats)
  }

  readonly #onUnwatched = (error: Error): void => {
    if (!this.#unwatched) {
      this.#log.warn(
        { path: this.#path, error: error.message },
        'cannot watch for changes; looking every second',
      )
    }
    this.#unwatched = true
    this.#pollLater()
  }

  #onChange(folder: RelativePath, name: string | undefined): void {
    if (name === undefined || name.startsWith('..')) this.#touch(folder)
    else if (isVisible(name)) this.#touch(child(folder, name))
  }

  #touch(path: RelativePath): void {
    if (this.#closed) return
    this.#changed.add(path)
    this.#changedSince ??= this.#clock.now()
    this.#quietTimer()
    const left = this.#changedSince + patience - this.#clock.now()
    this.#quietTimer = this.#clock.after(
      Math.max(0, Math.min(quiet, left)),
      () => void this.#queue(() => this.#follow()),
    )
  }

  async #follow(): Promise<void> {
    const paths =
      this.#changed.has(this.#scope) || this.#changed.size > many ? [this.#scope] : [...this.#changed]
    this.#changed.clear()
    this.#changedSince = undefined
    await this.#read(new Set(paths), false)
  }

  async #read(paths: ReadonlySet<RelativePath>, force: boolean): Promise<void> {
    if (this.#closed || this.#folder === undefined) return
    const whole = (await this.#isSameRoot()) ? paths : new Set([this.#scope])
    const events = await this.#folder.read(whole, force)
    await this.#take(events)
  }

  async #take(events: readonly StoreEvent[] | undefined): Promise<void> {
    if (this.#closed) return
    this.#fault = events === undefined ? gone(this.#path) : undefined
    if (events !== undefined && events.length > 0) await applySliced(this.#store, events)
    // What is away may come back as something else under the same name.
    if (this.#fault !== undefined) this.#watches?.leaveAll()
    if (this.#fault !== undefined || this.#unwatched) this.#pollLater()
    this.#report()
  }

  async #isSameRoot(): Promise<boolean> {
    if (this.#fault !== undefined) return false
    const stats = await stat(this.#path, { bigint: true }).catch(() => undefined)
    return stats !== undefined && (this.#scope !== '' || identity(stats) === this.#folder?.rootIdentity)
  }

  #pollLater(): void {
    this.#polling ||= this.#after(poll, () => {
      this.#polling = false
      this.#touch(this.#scope)
    })
  }

  #after(ms: number, run: () => void): true {
    const stop = this.#clock.after(ms, () => {
      this.#timers.delete(stop)
      run()
    })
    this.#timers.add(stop)
    return true
  }

  #report(): void {
    if (this.#folder) this.#count(this.#folder, this.#fault !== undefined)
    const problems = new Map(this.problems().map(problem => [problemText(problem), problem]))
    const fresh = [...problems].filter(([text]) => !this.#reported.has(text))
    for (const [text, { severity, place, rule }] of fresh.slice(0, mostLogged)) {
      this.#log[severity === 'error' ? 'error' : 'warn']({ ...place, rule }, text)
    }
    if (fresh.length > mostLogged)
      this.#log.error({ problems: fresh.length }, 'more problems than are logged')
    const healed = [...this.#reported].filter(text => !problems.has(text)).length
    if (healed > 0) this.#log.info({ healed, left: problems.size }, 'problems are gone')
    this.#reported = new Set(problems.keys())
    for (const listener of this.#listeners) listener()
  }
}

function gone(path: string): Fault {
  return new Fault('DIRECTORY_GONE', `cannot read ${path}`)
}

function goneProblem(path: string, fault: Fault): Problem {
  const place = { file: path, line: 1, column: 1 }
  return { severity: 'error', path: '', message: fault.message, rule: fault.code, place }
}

function gauges(metrics: Metrics | undefined): (folder: ManifestFolder, gone: boolean) => void {
  const files = metrics?.gauge('directory_files', 'Manifest files that are followed.')
  const bad = metrics?.gauge(
    'directory_bad_files',
    'Manifest files whose last good objects are served instead.',
  )
  const away = metrics?.gauge('directory_gone', '1 while the folder of manifests cannot be read.')
  return (folder, isGone) => {
    const counts = folder.counts()
    files?.set(counts.files)
    bad?.set(counts.bad)
    away?.set(isGone ? 1 : 0)
  }
}
