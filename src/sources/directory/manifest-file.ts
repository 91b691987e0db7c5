import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Problem } from '../../core/index.js'
import type { ManifestOptions, PlacedObject } from './manifest.js'
import { parseManifest } from './manifest.js'

/** No file that people write is larger; reading one would take all memory. */
const largest = 64 * 1024 * 1024

/** A file's text, or why it cannot be had. */
export type Text = { readonly text: string; readonly digest: string } | { readonly problem: Problem }

/** @param name - as problems name the file */
export async function readText(path: string, name: string, size: bigint): Promise<Text> {
  if (size > largest) return { problem: fileProblem(name, `it is larger than ${largest} bytes: split it`) }
  try {
    const bytes = await readFile(path)
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { text, digest: createHash('sha256').update(bytes).digest('base64') }
  } catch (error) {
    return { problem: fileProblem(name, whyUnreadable(error as NodeJS.ErrnoException)) }
  }
}

export function fileProblem(name: string, message: string): Problem {
  const place = { file: name, line: 1, column: 1 }
  return { severity: 'error', path: '', message, rule: 'file', place }
}

export function whyUnreadable({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'it is a link to nothing: put its target there or remove the link'
  if (code === 'EACCES' || code === 'EPERM') return 'it cannot be read: allow this user to read it'
  if (code === 'ELOOP') return 'it is a link that leads to itself: remove it'
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'it is not UTF-8 text: save it as UTF-8'
  return `it cannot be read: ${message}`
}

/** What one file came to, from its first reading to its last. */
export class ManifestFile {
  /** Of the text read last. */
  digest = ''
  /** Of the file read last; a file that still has it need not be read. */
  signature = ''
  /** Last good ones; absent while the file has never been good. */
  objects: readonly PlacedObject[] | undefined
  problems: readonly Problem[] = []
  /** When it was found to be empty where it had objects before. */
  emptiedAt: number | undefined

  /** Takes a text: its objects when all of them are good, else what it had before. */
  async take(
    { text, digest }: { text: string; digest: string },
    name: string,
    options: ManifestOptions,
  ): Promise<void> {
    const { objects, problems } = await parseManifest(text, name, options)
    this.digest = digest
    this.problems = problems
    if (!problems.some(({ severity }) => severity === 'error')) this.objects = objects
  }

  /** Keeps what it had, and says why. */
  refuse(problem: Problem): void {
    this.digest = ''
    this.signature = ''
    this.problems = [problem]
  }
}
