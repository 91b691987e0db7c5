import type { Command } from 'commander'
import { Option } from 'commander'
import type { Problem } from '../core/index.js'
import type { Loaded, Pipeline, RelaySide, WebhookSide } from './pipeline.js'
import type { Terminal } from './terminal.js'
import { problemLines } from './text.js'

/** What every command is given. */
export interface CommandContext {
  readonly terminal: Terminal
  /** Loaded on first use: `version` and `envoy install` need none of it. */
  readonly pipeline: () => Promise<Pipeline>
  readonly webhook: () => Promise<WebhookSide>
  readonly relay: () => Promise<RelaySide>
}

/** What a command ends with; documented in every `--help`. */
export const exitCodes = { ok: 0, problems: 1, usage: 2, fault: 3 } as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Adds a command to the program; what it answers is the exit code. */
export type AddCommand = (program: Command, context: CommandContext, done: (code: ExitCode) => void) => void

/** A mistake in how a command was called: exit code 2. */
export class UsageError extends Error {}

/** The options `-f` of the commands that read files. */
export const fileOption = () =>
  new Option('-f, --file <path...>', 'manifests: files or folders, `-` for standard input').default(
    [],
    'none',
  )

/** Reads what `-f` names and tells the problems on standard error, unless `quiet`. */
export async function loadFiles(
  context: CommandContext,
  paths: readonly string[],
  quiet = false,
): Promise<Loaded> {
  const { terminal } = context
  if (paths.length === 0) throw new UsageError('say what to read: -f PATH (a file or a folder), or -f -')
  const pipeline = await context.pipeline()
  const text = paths.includes('-') ? await terminal.input() : undefined
  const loaded = await pipeline.load(paths, text)
  if (!quiet) terminal.err(problemLines(loaded.problems, terminal.colour))
  return loaded
}

/** 1 when any problem is an error. */
export function exitCodeOf(problems: readonly Problem[]): ExitCode {
  return problems.some(problem => problem.severity === 'error') ? exitCodes.problems : exitCodes.ok
}

/** The end of a command's `--help`. */
export function help(example: string): string {
  return `
Example:
  $ ${example.trim().split('\n').join('\n  $ ')}

Exit codes:
  0  all is well
  1  problems in your objects or their files
  2  the command was called wrongly
  3  a fault: a peer, an address or this machine failed`
}
