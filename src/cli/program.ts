import { Command, CommanderError } from 'commander'
import { Fault } from '../core/index.js'
import { addEnvoy } from './commands/envoy.js'
import { addRelay } from './commands/relay.js'
import { addServe } from './commands/serve.js'
import { addStatus } from './commands/status.js'
import { addTopology } from './commands/topology.js'
import { addTranslate } from './commands/translate.js'
import { addUp } from './commands/up.js'
import { addValidate } from './commands/validate.js'
import { addVersion } from './commands/version.js'
import type { AddCommand, CommandContext, ExitCode } from './context.js'
import { UsageError, exitCodes, help } from './context.js'
import { paint } from './text.js'

const commands: readonly AddCommand[] = [
  addUp,
  addServe,
  addRelay,
  addValidate,
  addTranslate,
  addTopology,
  addStatus,
  addEnvoy,
  addVersion,
]

/** The command line; `done` is told the exit code of the command that ran. */
export function createProgram(context: CommandContext, done: (code: ExitCode) => void): Command {
  const { terminal } = context
  const program = new Command('gatewright')
    .description('A control plane for Envoy: Gateway API objects in, xDS out.')
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError('(add --help for all options and an example)')
    .exitOverride()
    .addHelpText('after', help('gatewright up examples/quickstart'))
  for (const add of commands) add(program, context, done)
  return program
}

/** The program and all that is below it. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** Runs one command line and answers its exit code. Says what went wrong on standard error; never throws. */
export async function runCommand(args: readonly string[], context: CommandContext): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok
  const program = createProgram(context, ended => (code = ended))
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    return explain(error, context)
  }
}

function explain(error: unknown, { terminal }: CommandContext): ExitCode {
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof Fault ? ` [${error.code}]` : ''
  terminal.err(`${paint('error', 'red', terminal.colour && terminal.person)}${code}: ${message}\n`)
  if (terminal.environment['GATEWRIGHT_DEBUG'] && error instanceof Error) {
    terminal.err(`${error.stack ?? ''}\n${error.cause instanceof Error ? (error.cause.stack ?? '') : ''}\n`)
  }
  return error instanceof UsageError ? exitCodes.usage : exitCodes.fault
}
