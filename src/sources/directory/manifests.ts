import type { KubeObject, Locator, Problem } from '../../core/index.js'
import { join } from 'node:path'
import type { Check } from '../check.js'
import type { Manifest, PlacedObject } from './manifest.js'
import { parseManifest } from './manifest.js'
import { fileProblem, readText, whyUnreadable } from './manifest-file.js'
import { byPlace } from './manifest-folder.js'
import { pauses } from '../pauses.js'
import type { RelativePath } from './survey.js'
import { survey } from './survey.js'

export interface ReadOptions {
  readonly check?: Check
  /** What the path `-` stands for. */
  readonly stdin?: string
}

export interface ReadManifests {
  /** Valid objects, in order of locator. */
  readonly objects: readonly KubeObject[]
  /** In order of file, line and column. */
  readonly problems: readonly Problem[]
}

/**
 * Reads files and folders once. Unlike a watched directory it gives the valid objects of a file beside its problems.
 * A path that cannot be read is a problem; a file that is named is read whatever its name. Of an object that stands
 * in two files the first one counts, in the order of `paths`, then by name.
 */
export async function readManifests(
  paths: readonly string[],
  options: ReadOptions = {},
): Promise<ReadManifests> {
  const placed: PlacedObject[] = []
  const problems: Problem[] = []
  const pause = pauses()
  for (const path of paths) {
    for await (const manifest of manifestsAt(path, options, pause)) {
      placed.push(...manifest.objects)
      problems.push(...manifest.problems)
    }
  }
  const objects = firstOfEach(placed, problems).sort(([a], [b]) => (a < b ? -1 : 1))
  return { objects: objects.map(([, { object }]) => object), problems: problems.sort(byPlace) }
}

function firstOfEach(placed: readonly PlacedObject[], problems: Problem[]): [Locator, PlacedObject][] {
  const firsts = new Map<Locator, PlacedObject>()
  for (const each of placed) {
    const first = firsts.get(each.locator)
    if (first === undefined) firsts.set(each.locator, each)
    else problems.push(repeated(each, first))
  }
  return [...firsts]
}

async function* manifestsAt(
  path: string,
  { check, stdin = '' }: ReadOptions,
  pause: () => Promise<void>,
): AsyncGenerator<Manifest> {
  if (path === '-') {
    yield await parseManifest(stdin, '-', { check, pause })
    return
  }
  const { files, folders, unreadable } = await survey(path, '', true)
  for (const [below, error] of unreadable) yield refused(join(path, below), whyUnreadable(error))
  if (files.size + folders.size + unreadable.size === 0)
    yield refused(path, 'there is no such file or folder')
  for (const [below, stats] of [...files].sort(byPath)) {
    const name = join(path, below)
    const text = await readText(name, name, stats.size)
    if ('problem' in text) yield { objects: [], problems: [text.problem] }
    else yield await parseManifest(text.text, name, { check, pause })
  }
}

function refused(name: string, why: string): Manifest {
  return { objects: [], problems: [fileProblem(name, why)] }
}

function repeated({ locator, place }: PlacedObject, first: PlacedObject): Problem {
  const message = `the same object stands in ${first.place.file}:${first.place.line}, which is used: remove one of the two`
  return { severity: 'error', object: locator, path: '', message, rule: 'duplicate', place }
}

const byPath = ([a]: readonly [RelativePath, unknown], [b]: readonly [RelativePath, unknown]) =>
  a < b ? -1 : 1
