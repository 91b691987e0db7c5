import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import type { LogLevel } from '../../core/index.js'
import { parseLocator } from '../../core/index.js'
import { findEnvoy } from '../../provision/index.js'
import type { AddCommand, CommandContext, ExitCode } from '../context.js'
import { exitCodes, help } from '../context.js'
import { terminalLog } from '../log.js'
import type { Running, StartOptions } from '../pipeline.js'
import type { Terminal } from '../terminal.js'
import { problemLines } from '../text.js'

interface ServeOptions {
  readonly http: string
  readonly xds: string
  readonly allowPartial?: boolean
  readonly listenerAddress: string
  readonly logLevel: LogLevel
}

interface UpOptions extends ServeOptions {
  readonly envoyAdmin: string
  readonly concurrency: number
  readonly dns?: string
}

export const addUp: AddCommand = (program, context, done) => {
  const command = program
    .command('up')
    .argument('<directory>', 'folder of manifests, read again whenever it changes')
    .description('serve a folder of manifests with Envoys on this machine, one for each Gateway')
  sharedOptions(command)
    .addOption(address('--envoy-admin', "admin page of the first Gateway's Envoy", '127.0.0.1:15020'))
    .option('--concurrency <threads>', 'worker threads of each Envoy', positive, 2)
    .option('--dns <ip:port>', "resolver for the hosts of Backends, instead of this machine's", resolver)
    .addOption(listenerAddress('127.0.0.1'))
    .addHelpText(
      'after',
      help('gatewright up examples/quickstart\ngatewright up . --http 127.0.0.1:0 --xds 127.0.0.1:0'),
    )
    .action(async (directory: string, options: UpOptions) => {
      const { terminal } = context
      const envoy = {
        path: await findEnvoy(terminal.environment),
        admin: options.envoyAdmin,
        concurrency: options.concurrency,
        ...(options.dns !== undefined && { dns: options.dns }),
        stateDirectory: await stateDirectory(directory, terminal),
      }
      done(await serve(context, { ...startOptions(directory, options, terminal), envoy }))
    })
}

export const addServe: AddCommand = (program, context, done) => {
  const command = program
    .command('serve')
    .argument('<directory>', 'folder of manifests, read again whenever it changes')
    .description('serve a folder of manifests to Envoys that you run yourself: xDS and HTTP only')
  sharedOptions(command)
    .addOption(listenerAddress('0.0.0.0'))
    .addHelpText('after', help('gatewright serve examples/quickstart --xds 127.0.0.1:15010'))
    .action(async (directory: string, options: ServeOptions) => {
      done(await serve(context, startOptions(directory, options, context.terminal)))
    })
}

function sharedOptions(command: Command): Command {
  return command
    .addOption(address('--http', 'HTTP: queries, webhooks, health, metrics', '127.0.0.1:15000'))
    .addOption(address('--xds', 'xDS, for Envoys', '127.0.0.1:15010'))
    .option('--allow-partial', 'publish although some files cannot be read at the start')
    .addOption(
      new Option('--log-level <level>', 'on standard error')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
}

const listenerAddress = (preset: string) =>
  new Option('--listener-address <ip>', 'where the listeners of Gateways are bound')
    .default(preset)
    .argParser(text => {
      if (isIP(text) > 0) return text
      throw new InvalidArgumentError('an IP address is wanted, for example 127.0.0.1.')
    })

function address(flag: string, what: string, preset: string): Option {
  const note = '; port 0 = any free one, printed'
  return new Option(`${flag} <host:port>`, `${what}${note}`).default(preset).argParser(text => {
    const port = Number(/^(?:\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(text)?.[1] ?? NaN)
    if (port <= 65_535) return text
    throw new InvalidArgumentError('wanted is host:port with a port up to 65535, for example 127.0.0.1:0.')
  })
}

function resolver(text: string): string {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? []
  if (isIP(v6 ?? v4 ?? '') > 0 && Number(port) <= 65_535) return text
  throw new InvalidArgumentError('wanted is ip:port, for example 127.0.0.1:53.')
}

function positive(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 9999 is wanted.')
  return Number(text)
}

function startOptions(directory: string, options: ServeOptions, terminal: Terminal): StartOptions {
  const { http, xds, allowPartial = false, listenerAddress, logLevel } = options
  return { directory, http, xds, allowPartial, listenerAddress, log: terminalLog(logLevel, terminal) }
}

/** One directory for each folder that is served: its Envoys are found again there if this process is killed. */
async function stateDirectory(directory: string, { environment }: Terminal): Promise<string> {
  const real = await realpath(directory).catch(() => resolve(directory))
  const state = environment['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state')
  const base = environment['GATEWRIGHT_STATE'] ?? join(state, 'gatewright')
  return join(base, createHash('sha256').update(real).digest('hex').slice(0, 12))
}

/** Runs until it is interrupted. */
async function serve(context: CommandContext, options: StartOptions): Promise<ExitCode> {
  const { terminal } = context
  const interrupted = terminal.interrupted()
  const running = await (await context.pipeline()).start(options)
  try {
    terminal.out(`HTTP  http://${running.http}\nxDS   ${running.xds}\n`)
    terminal.err(problemLines(running.problems(), terminal.colour) + waitingLine(running))
    const ready = running.ready().then(() => terminal.out(`${gatewayLines(running)}ready\n`))
    await Promise.race([ready, interrupted])
    await interrupted
    terminal.err('stopping\n')
  } finally {
    await running.close()
  }
  return exitCodes.ok
}

function waitingLine(running: Running): string {
  const files = running.waitingFor()
  if (files.length === 0) return ''
  return `waiting: nothing is published until ${files.join(', ')} can be read; --allow-partial serves the rest\n`
}

function gatewayLines(running: Running): string {
  const lines = running.gateways().map(({ gateway, addresses, envoy, refusals }) => {
    const { namespace = '', name } = parseLocator(gateway)
    const by = envoy ? `, Envoy ${envoy.pid} (admin http://${envoy.admin})` : ''
    const lines = [`Gateway ${namespace}/${name}: ${addresses.join(', ') || 'no listener'}${by}`]
    for (const refusal of refusals) lines.push(`  Envoy refuses: ${refusal.trim().replaceAll('\n', ' ')}`)
    return `${lines.join('\n')}\n`
  })
  return lines.length === 0 ? 'no Gateway of ours is here yet\n' : lines.join('')
}
