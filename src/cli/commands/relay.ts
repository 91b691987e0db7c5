import { Option } from 'commander'
import type { AddCommand } from '../context.js'
import { UsageError, help } from '../context.js'
import { terminalLog } from '../log.js'
import { address, apiOptions, apiServer, logLevel, replicas, type LogOption } from '../options.js'
import { relayUntilStopped } from '../serving.js'
import type { ApiServer, RelayStart } from '../pipeline.js'

interface RelayCommandOptions extends ApiServer, LogOption {
  readonly target: readonly string[]
  readonly targetCa?: string
  readonly targetServerName?: string
  readonly tokenFile?: string
  readonly hmacFile?: string
  readonly cert?: string
  readonly key?: string
  readonly ops: string
}

export const addRelay: AddCommand = (program, context, done) => {
  const command = program
    .command('relay')
    .description('watch a cluster and post its changes to every replica that serves')
    .addOption(
      new Option('--target <url>', 'a replica, or a name that all have; may be repeated')
        .default([], 'none')
        .argParser(replicas),
    )
    .addOption(new Option('--target-ca <file>', 'authority of the certificates of targets'))
    .addOption(new Option('--target-server-name <name>', 'name in the certificates of targets'))
    .addOption(new Option('--token-file <file>', "token; default in a pod: its ServiceAccount's"))
    .addOption(new Option('--hmac-file <file>', 'key of signatures'))
    .addOption(new Option('--cert <file>', 'client certificate'))
    .addOption(new Option('--key <file>', 'its key'))
    .addOption(address('--ops', 'HTTP: health, metrics', '127.0.0.1:15001'))
    .addOption(logLevel())
  for (const option of apiOptions()) command.addOption(option)
  command
    .addHelpText(
      'after',
      help('gatewright relay --target http://127.0.0.1:15000 --kubeconfig ~/.kube/config'),
    )
    .action(async (options: RelayCommandOptions) => {
      const log = terminalLog(options.logLevel, context.terminal)
      done(await relayUntilStopped(context, { ...relayStart(options), log }))
    })
}

function relayStart(options: RelayCommandOptions): Omit<RelayStart, 'log'> {
  const { target, targetCa, targetServerName, tokenFile, hmacFile, cert, key } = options
  if (target.length === 0)
    throw new UsageError('say where to: --target URL, for example http://127.0.0.1:15000')
  if ((cert === undefined) !== (key === undefined)) throw new UsageError('--cert and --key belong together')
  return {
    api: apiServer(options),
    targets: target,
    ops: options.ops,
    credentials: {
      ...(tokenFile !== undefined && { tokenFile }),
      ...(hmacFile !== undefined && { hmacFile }),
      ...(cert !== undefined && { certFile: cert }),
      ...(key !== undefined && { keyFile: key }),
      ...(targetCa !== undefined && { caFile: targetCa }),
      ...(targetServerName !== undefined && { serverName: targetServerName }),
    },
  }
}
