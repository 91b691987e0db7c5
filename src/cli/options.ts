import { isIP } from 'node:net'
import { InvalidArgumentError, Option } from 'commander'
import type { LogLevel } from '../core/index.js'
import type { ApiServer } from './pipeline.js'

export interface LogOption {
  readonly logLevel: LogLevel
}

export interface AddressOptions extends LogOption {
  readonly http: string
  readonly xds: string
  readonly listenerAddress: string
}

export const logLevel = () =>
  new Option('--log-level <level>', 'on standard error')
    .choices(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')

export const allowPartial = () =>
  new Option('--allow-partial', 'publish although some files cannot be read at the start')

/** Which API server, and who calls it. */
export const apiOptions = () => [
  new Option(
    '--kubeconfig <file>',
    'default: in a pod its ServiceAccount, else KUBECONFIG or ~/.kube/config',
  ),
  new Option('--context <name>', 'of the kubeconfig'),
]

export function apiServer({ kubeconfig, context }: ApiServer): ApiServer {
  return { ...(kubeconfig !== undefined && { kubeconfig }), ...(context !== undefined && { context }) }
}

export const ops = () =>
  new Option('--ops <host:port>', 'HTTP: health and metrics on a port of their own').argParser(hostPort)

export const listenerAddress = (preset: string) =>
  new Option('--listener-address <ip>', 'where the listeners of Gateways are bound')
    .default(preset)
    .argParser(text => {
      if (isIP(text) > 0) return text
      throw new InvalidArgumentError('an IP address is wanted, for example 127.0.0.1.')
    })

export function address(flag: string, what: string, preset: string): Option {
  const note = '; port 0 = any free one, printed'
  return new Option(`${flag} <host:port>`, `${what}${note}`).default(preset).argParser(hostPort)
}

function hostPort(text: string): string {
  const port = Number(/^(?:\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(text)?.[1] ?? NaN)
  if (port <= 65_535) return text
  throw new InvalidArgumentError('wanted is host:port with a port up to 65535, for example 127.0.0.1:0.')
}

export function resolver(text: string): string {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? []
  if (isIP(v6 ?? v4 ?? '') > 0 && Number(port) <= 65_535) return text
  throw new InvalidArgumentError('wanted is ip:port, for example 127.0.0.1:53.')
}

export function positive(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('a whole number from 1 to 9999 is wanted.')
  return Number(text)
}

export function seconds(text: string): number {
  const value = Number(text)
  if (value >= 1 && value <= 86_400) return value
  throw new InvalidArgumentError('seconds from 1 to 86400 are wanted, for example 15.')
}

/** An option that may be repeated: where replicas are. */
export function replicas(text: string, before: readonly string[]): readonly string[] {
  const url = text.includes('://') ? text : `http://${text}`
  const isKnown = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (isKnown && (text.includes('://') || /:\d{1,5}$/.test(text))) return [...before, text]
  throw new InvalidArgumentError(
    'host:port or an http(s):// URL is wanted, for example http://127.0.0.1:15000.',
  )
}
