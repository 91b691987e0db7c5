import { Option, type Command } from 'commander'
import type { AddCommand } from '../context.js'
import { UsageError, help } from '../context.js'
import { terminalLog } from '../log.js'
import {
  address,
  allowPartial,
  apiOptions,
  apiServer,
  listenerAddress,
  logLevel,
  ops,
  replicas,
  seconds,
  type AddressOptions,
} from '../options.js'
import type { ApiServer, ClusterAccess, Folder, HttpOptions } from '../pipeline.js'
import { serveUntilStopped, webhookUntilStopped } from '../serving.js'
import type { Terminal } from '../terminal.js'

interface ServeOptions extends AddressOptions, ApiServer {
  readonly allowPartial?: boolean
  readonly role: 'all' | 'webhook'
  readonly period: number
  readonly ops?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly clientCa?: string
  readonly tokenFile?: string
  readonly hmacFile?: string
  readonly peer: readonly string[]
  readonly peerCa?: string
  readonly peerServerName?: string
  readonly peerTokenFile?: string
  readonly peerHmacFile?: string
}

export const addServe: AddCommand = (program, context, done) => {
  const command = program
    .command('serve')
    .argument('[directory]', 'folder of manifests, read again whenever it changes; none: a cluster')
    .description('serve a folder of manifests, or a cluster, to Envoys that run elsewhere: xDS and HTTP only')
    .addOption(address('--http', 'HTTP: queries, webhooks, health, metrics', '127.0.0.1:15000'))
    .addOption(address('--xds', 'xDS, for Envoys', '127.0.0.1:15010'))
    .addOption(allowPartial())
    .addOption(logLevel())
    .addOption(listenerAddress('0.0.0.0'))
    .addOption(ops())
  for (const option of [...securityOptions(), ...clusterOptions()]) command.addOption(option)
  command
    .addHelpText(
      'after',
      help(`gatewright serve examples/quickstart --xds 127.0.0.1:15010
gatewright serve --kubeconfig ~/.kube/config
gatewright serve --role webhook --http 0.0.0.0:9443 --tls-cert tls.crt --tls-key tls.key --peer gatewright:9443`),
    )
    .action(async (directory: string | undefined, options: ServeOptions, asked: Command) => {
      if (directory !== undefined) refuseClusterOptions(asked)
      const shared = httpOptions(options, context.terminal)
      if (options.role === 'webhook') {
        done(await webhookUntilStopped(context, { ...shared, from: access(options) }))
      } else {
        const { xds, listenerAddress } = options
        const from = directory === undefined ? access(options) : folder(directory, options)
        done(await serveUntilStopped(context, { ...shared, xds, listenerAddress, from }))
      }
    })
}

/** What says how a cluster is read says nothing of a folder: it would be passed over without a word. */
function refuseClusterOptions(asked: Command): void {
  const given = clusterOptions().filter(
    option => asked.getOptionValueSource(option.attributeName()) === 'cli',
  )
  const flags = given.map(({ long }) => long).join(', ')
  if (flags !== '')
    throw new UsageError(`${flags}: these are of a cluster, and a folder is served: leave them or it out`)
}

function securityOptions(): readonly Option[] {
  return [
    new Option('--tls-cert <file>', 'certificate of the HTTP server, read again when it changes'),
    new Option('--tls-key <file>', 'its key'),
    new Option('--client-ca <file>', 'whoever has a certificate of this authority may relay events'),
    new Option(
      '--token-file <file>',
      'whoever sends the token in it may relay events; of a folder: may call everything',
    ),
    new Option('--hmac-file <file>', 'whoever signs with the key in it may relay events'),
  ]
}

function clusterOptions(): readonly Option[] {
  return [
    ...apiOptions(),
    new Option('--role <role>', 'webhook: only admission, without xDS')
      .choices(['all', 'webhook'])
      .default('all'),
    new Option('--period <seconds>', 'between full lists: 15 without a relay, 60 with one')
      .default(15)
      .argParser(seconds),
    new Option('--peer <host:port>', 'every serving replica, told of what is admitted; may be repeated')
      .default([], 'none')
      .argParser(replicas),
    new Option('--peer-ca <file>', 'authority of the certificates of peers'),
    new Option('--peer-server-name <name>', 'name in the certificates of peers'),
    new Option('--peer-token-file <file>', "token for peers; default in a pod: its ServiceAccount's"),
    new Option('--peer-hmac-file <file>', 'key of signatures for peers'),
  ]
}

function folder(directory: string, { allowPartial = false }: ServeOptions): Folder {
  return { directory, allowPartial }
}

function access(options: ServeOptions): ClusterAccess {
  const { period, peer, peerCa, peerServerName, peerTokenFile, peerHmacFile } = options
  return {
    api: apiServer(options),
    periodMs: period * 1000,
    peers: peer,
    peerCredentials: {
      ...(peerCa !== undefined && { caFile: peerCa }),
      ...(peerServerName !== undefined && { serverName: peerServerName }),
      ...(peerTokenFile !== undefined && { tokenFile: peerTokenFile }),
      ...(peerHmacFile !== undefined && { hmacFile: peerHmacFile }),
    },
  }
}

function httpOptions(options: ServeOptions, terminal: Terminal): HttpOptions {
  const { http, ops, tlsCert, tlsKey, clientCa, tokenFile, hmacFile } = options
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new UsageError('--tls-cert and --tls-key belong together: give both, or none for plain HTTP')
  }
  const tls = tlsCert !== undefined &&
    tlsKey !== undefined && {
      tls: { certFile: tlsCert, keyFile: tlsKey, ...(clientCa !== undefined && { clientCaFile: clientCa }) },
    }
  if (clientCa !== undefined && !tls) throw new UsageError('--client-ca needs --tls-cert and --tls-key')
  return {
    http,
    ...(ops !== undefined && { ops }),
    ...tls,
    ...(tokenFile !== undefined && { tokenFile }),
    ...(hmacFile !== undefined && { hmacFile }),
    log: terminalLog(options.logLevel, terminal),
  }
}
