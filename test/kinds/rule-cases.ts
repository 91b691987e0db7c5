import { readFileSync, readdirSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/core/index.js'

/** A document of test/kinds/cel: see the head of backendtlspolicy.yaml. */
export interface RuleCase {
  readonly path: string
  readonly message: string
  /** Beginnings of `path: message` of further problems of `bad`. */
  readonly also?: readonly string[]
  /** The problem that keeps the rule from being run. */
  readonly shadowedBy?: string
  /** What `bad` and `good` are updates of. */
  readonly old?: object
  readonly bad: object
  readonly good: object
}

const folder = new URL('cel/', import.meta.url)

/** What would be long to read is written as `<253 letters>` and `<64 matches>`. */
function expanded(text: string): string {
  return text
    .replace(/<(\d+) letters>/g, (_, count: string) => 'a'.repeat(Number(count)))
    .replace(/<(\d+) matches>/g, (_, count: string) => `[${Array(Number(count)).fill('{}').join()}]`)
}

function merged(base: unknown, change: unknown): unknown {
  if (typeof base !== 'object' || typeof change !== 'object' || Array.isArray(change) || !base || !change)
    return change
  const below = Object.entries(change).map(([name, value]) => [name, merged((base as Fields)[name], value)])
  return { ...base, ...Object.fromEntries(below) }
}

type Fields = Record<string, unknown>

/** One file of test/kinds/cel. */
export interface RuleFile {
  readonly file: string
  readonly cases: readonly RuleCase[]
  /** The file's first document with a case's change. */
  readonly built: (change: object) => KubeObject
}

/** All cases, by file. */
export function ruleCases(): RuleFile[] {
  return readdirSync(folder)
    .sort()
    .map(file => {
      const text = expanded(readFileSync(new URL(file, folder), 'utf8'))
      const [base, ...cases] = parseAllDocuments(text).map(document => document.toJS() as unknown)
      const placed = merged(base, { metadata: { namespace: 'default' } })
      return { file, cases: cases as RuleCase[], built: change => merged(placed, change) as KubeObject }
    })
}
