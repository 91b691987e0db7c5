import type { HttpOptions } from './cli/index.js'
import type { Closing } from './closing.js'
import type { Metrics } from './core/index.js'
import type { KubeClient } from './kube/index.js'
import {
  clientCertificate,
  createKubeAuthoriser,
  createServer,
  hmac,
  staticToken,
  type Authenticator,
  type OperationsContext,
  type Part,
  type ServerContext,
  type WebhookContext,
} from './server/index.js'

/** Where HTTP is served. */
export interface Bound {
  readonly http: string
  readonly ops?: string
}

/** Serves all that the context has, and health and metrics on a port of their own where one is named. */
export async function serveHttp(
  options: HttpOptions,
  context: ServerContext | (OperationsContext & WebhookContext),
  client: KubeClient | undefined,
  closing: Closing,
): Promise<Bound> {
  const { http, ops, tls } = options
  const degraded: (() => readonly string[])[] = []
  const whole: typeof context = {
    ...context,
    readiness() {
      const { ready, reasons } = context.readiness()
      return { ready, reasons: [...reasons, ...degraded.flatMap(each => each())] }
    },
  }
  const server = await createServer(whole, {
    ...partOf(context, ops !== undefined),
    ...(await authentication(options, client, context.metrics)),
    // Whoever shares a pod's network is not who runs it.
    loopbackExempt: client?.inCluster !== true,
    ...(tls && { tls }),
  })
  closing.add(() => server.close())
  degraded.push(() => server.degraded())
  const bound = { http: await server.listen(http) }
  return ops === undefined ? bound : { ...bound, ops: await serveOps(ops, whole, closing) }
}

/** Health and metrics alone, open to everybody who reaches the port. */
export async function serveOps(
  address: string,
  context: OperationsContext,
  closing: Closing,
): Promise<string> {
  const part = { tags: ['operations'] as const, why: 'this port has health and metrics alone' }
  const server = await createServer(context, { open: true, part })
  closing.add(() => server.close())
  return server.listen(address)
}

/** Metrics are served once, and queries by whoever derives. */
function partOf(context: object, hasOps: boolean): { readonly part?: Part } {
  const without = hasOps ? { without: ['getMetrics'] } : {}
  if (!('topology' in context)) {
    const tags = ['webhooks', 'operations'] as const
    return { part: { tags, ...without, why: 'this instance was started with --role webhook' } }
  }
  return hasOps ? { part: { ...without, why: 'metrics have a port of their own' } } : {}
}

interface Authentication {
  readonly authenticators: readonly Authenticator[]
  readonly relayAuthenticators: readonly Authenticator[]
}

/** A token of a file opens everything where there is no API server to ask, else what relays call alone. */
async function authentication(
  { tokenFile, hmacFile, tls, log }: HttpOptions,
  client: KubeClient | undefined,
  metrics: Metrics,
): Promise<Authentication> {
  const token = tokenFile === undefined ? [] : [await staticToken(tokenFile, { log })]
  const signature = hmacFile === undefined ? [] : [await hmac(hmacFile, { log })]
  const certificate = tls?.clientCaFile === undefined ? [] : [clientCertificate()]
  return {
    authenticators: client ? [createKubeAuthoriser({ client, log, metrics })] : token,
    relayAuthenticators: [...(client ? token : []), ...signature, ...certificate],
  }
}
