import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { findEnvoy } from '../../provision/index.js'
import type { AddCommand } from '../context.js'
import { help } from '../context.js'
import { address, allowPartial, listenerAddress, logLevel, positive, resolver } from '../options.js'
import type { AddressOptions } from '../options.js'
import { serveUntilStopped } from '../serving.js'
import { terminalLog } from '../log.js'
import type { Terminal } from '../terminal.js'

interface UpOptions extends AddressOptions {
  readonly allowPartial?: boolean
  readonly envoyAdmin: string
  readonly concurrency: number
  readonly dns?: string
}

export const addUp: AddCommand = (program, context, done) => {
  program
    .command('up')
    .argument('<directory>', 'folder of manifests, read again whenever it changes')
    .description('serve a folder of manifests with Envoys on this machine, one for each Gateway')
    .addOption(address('--http', 'HTTP: queries, webhooks, health, metrics', '127.0.0.1:15000'))
    .addOption(address('--xds', 'xDS, for Envoys', '127.0.0.1:15010'))
    .addOption(allowPartial())
    .addOption(logLevel())
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
      const { http, xds, listenerAddress } = options
      const envoy = {
        path: await findEnvoy(terminal.environment),
        admin: options.envoyAdmin,
        concurrency: options.concurrency,
        ...(options.dns !== undefined && { dns: options.dns }),
        stateDirectory: await stateDirectory(directory, terminal),
      }
      const from = { directory, allowPartial: options.allowPartial ?? false }
      const log = terminalLog(options.logLevel, terminal)
      done(await serveUntilStopped(context, { from, http, xds, listenerAddress, log, envoy }))
    })
}

/** One directory for each folder that is served: its Envoys are found again there if this process is killed. */
async function stateDirectory(directory: string, { environment }: Terminal): Promise<string> {
  const real = await realpath(directory).catch(() => resolve(directory))
  const state = environment['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state')
  const base = environment['GATEWRIGHT_STATE'] ?? join(state, 'gatewright')
  return join(base, createHash('sha256').update(real).digest('hex').slice(0, 12))
}
