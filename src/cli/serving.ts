import { parseLocator } from '../core/index.js'
import type { CommandContext, ExitCode } from './context.js'
import { exitCodes } from './context.js'
import type { HttpOptions, RelayStart, Running, Served, StartOptions, WebhookOptions } from './pipeline.js'
import type { Terminal } from './terminal.js'
import { problemLines } from './text.js'

/** Runs a control plane until it is interrupted. */
export async function serveUntilStopped(context: CommandContext, options: StartOptions): Promise<ExitCode> {
  const { terminal } = context
  const pipeline = await context.pipeline()
  const isLocal = options.envoy !== undefined
  return untilStopped(terminal, isLocal, pipeline.start(options), async (running, interrupted) => {
    terminal.out(`${serverLines(running, options)}xDS   ${running.xds}\n`)
    terminal.err(problemLines(running.problems(), terminal.colour) + waitingLine(running))
    const ready = running.ready().then(() => terminal.out(`${gatewayLines(running)}ready\n`))
    await Promise.race([ready, interrupted])
  })
}

/** Runs the webhook side until it is interrupted. */
export async function webhookUntilStopped(
  context: CommandContext,
  options: WebhookOptions,
): Promise<ExitCode> {
  const webhook = await context.webhook()
  return untilStopped(context.terminal, false, webhook.start(options), served => {
    context.terminal.out(serverLines(served, options))
  })
}

/** Runs a relay until it is interrupted. */
export async function relayUntilStopped(context: CommandContext, options: RelayStart): Promise<ExitCode> {
  const relay = await context.relay()
  return untilStopped(context.terminal, true, relay.start(options), ({ ops }) => {
    context.terminal.out(`ops   http://${ops}\n`)
  })
}

interface Stoppable {
  /** Reads everything again. */
  reconcile?(): Promise<void>
  close(): Promise<void>
}

/**
 * Tells of what was started and waits for an interruption. SIGHUP is one where a terminal owns the process; elsewhere
 * it asks to read everything again.
 */
async function untilStopped<T extends Stoppable>(
  terminal: Terminal,
  hangupStops: boolean,
  starting: Promise<T>,
  tell: (running: T, interrupted: Promise<void>) => void | Promise<void>,
): Promise<ExitCode> {
  const running: { now?: T } = {}
  const interrupted = terminal.interrupted(hangupStops ? undefined : () => void running.now?.reconcile?.())
  running.now = await starting
  try {
    await tell(running.now, interrupted)
    await interrupted
    terminal.err('stopping\n')
  } finally {
    await running.now.close()
  }
  return exitCodes.ok
}

function serverLines({ http, ops }: Served, { tls }: HttpOptions): string {
  const lines = [
    `HTTP  ${tls ? 'https' : 'http'}://${http}`,
    ...(ops === undefined ? [] : [`ops   http://${ops}`]),
  ]
  return lines.map(line => `${line}\n`).join('')
}

function waitingLine(running: Running): string {
  const reasons = running.waitingFor()
  if (reasons.length === 0) return ''
  return `waiting: nothing is published yet: ${reasons.join('; ')}\n`
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
