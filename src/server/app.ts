import type { ServerOptions as HttpOptions } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import { fastify } from 'fastify'
import type {
  FastifyHttpsOptions,
  FastifyInstance,
  FastifyServerOptions,
  InjectOptions,
  LightMyRequestResponse,
} from 'fastify'
import { Fault, systemClock } from '../core/index.js'
import type { Clock } from '../core/index.js'
import { addressText, boundAt, isLoopback, listenFault, parseAddress } from './address.js'
import { authorise } from './authorise.js'
import type { AuthoriseOptions } from './authorise.js'
import type { Authenticator } from './authenticate.js'
import { createBacklog, refuseFloods } from './backlog.js'
import { readBodies } from './bodies.js'
import { openCertificates } from './certificates.js'
import type { Certificates, TlsFiles } from './certificates.js'
import { createConditional } from './conditional.js'
import type { OperationsContext, QueryContext, WebhookContext } from './context.js'
import { measure } from './instruments.js'
import { createLimiter } from './limits.js'
import type { Limits } from './limits.js'
import { operationsHandlers } from './operations.js'
import { HttpProblem } from './problem.js'
import { answerProblems, answerWireFailure, sendProblem } from './problems.js'
import { queryHandlers } from './queries.js'
import { routesOf } from './routes.js'
import { isServed, readSpecification } from './specification.js'
import type { Part, Specification } from './specification.js'
import { validate } from './validation.js'
import { webhookHandlers } from './webhooks.js'

export interface ServerOptions {
  /** Any one of them lets a caller in, except to open operations and, by exemption, on loopback sockets. */
  readonly authenticators?: readonly Authenticator[]
  /** Further ones for `/webhooks/watch` alone; asked first. */
  readonly relayAuthenticators?: readonly Authenticator[]
  /** Everybody may call everything: for a port that serves health and metrics alone. Default false. */
  readonly open?: boolean
  /** Serves HTTPS, with certificates read again when they change. */
  readonly tls?: TlsFiles
  /** What is served, where it is not everything. */
  readonly part?: Part
  readonly limits?: Limits
  readonly clock?: Clock
  /** Nobody is asked on a socket bound to loopback (default true); false in a cluster. */
  readonly loopbackExempt?: boolean
  /** Relayed events that may wait; beyond it 429 is answered. Default 20,000. */
  readonly maxWaitingEvents?: number
  /** ms for a request to arrive whole and, counted anew, to be answered. Default 30,000. */
  readonly timeoutMs?: number
  /** ms that closing waits for requests under way before it cuts them off. Default 5,000. */
  readonly closeGraceMs?: number
}

export interface Server {
  /**
   * Binds `host:port` (port 0 = any free one) and answers the address bound.
   * Throws CREDENTIALS_MISSING for another address than loopback without an authenticator, ADDRESS_IN_USE,
   * ADDRESS_UNAVAILABLE.
   */
  listen(address: string): Promise<string>
  /** Answers what is under way, takes nothing new, and lets go of the address. */
  close(): Promise<void>
  /** Answers a request without a socket, as a loopback caller. */
  inject(request: InjectOptions | string): Promise<LightMyRequestResponse>
  /** What is wrong with the server itself, such as an expired certificate: reasons for readiness to show. */
  degraded(): readonly string[]
}

/** What the served part asks; a server of everything needs all of it. */
type PartContext = OperationsContext & Partial<WebhookContext & QueryContext>

/** The HTTP API of openapi.yaml over one control plane. Throws CERTIFICATE_UNUSABLE. */
export async function createServer(context: PartContext, options: ServerOptions = {}): Promise<Server> {
  const specification = readSpecification()
  const { clock = systemClock, tls, part } = options
  const { log, metrics } = context
  const certificates = tls && (await openCertificates(tls, { clock, log, metrics }))
  const app = createApp(context, options, specification, certificates)
  const served = specification.operations.filter(operation => isServed(operation, part))
  const operations = new Map(served.map(operation => [operation.id, operation]))
  const backlog = createBacklog(options.maxWaitingEvents ?? 20_000, metrics)

  answerProblems(app, log, specification.operations, part)
  measure(app, metrics)
  protectAnswers(app)
  authorise(app, operations, authorisation(options, clock))
  refuseFloods(app, backlog)
  readBodies(app, operations)
  validate(app)
  const handlers = {
    ...(hasQueries(context) && queryHandlers(context, createConditional())),
    ...(hasWebhooks(context) && webhookHandlers(context, backlog, clock)),
    ...operationsHandlers(context, specification),
  }
  for (const route of routesOf(specification, operations, handlers, options.timeoutMs ?? 30_000))
    app.route(route)
  // Node would answer an expectation that it does not know itself; RFC 9110 §10.1.1 lets one ignore it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  await app.ready()
  return {
    listen: address => listen(app, address, options),
    close: async () => {
      certificates?.close()
      await close(app, options.closeGraceMs ?? 5_000)
    },
    inject: async request => await app.inject(request),
    degraded: () => certificates?.degraded() ?? [],
  }
}

function hasQueries(context: PartContext): context is OperationsContext & QueryContext {
  return 'topology' in context
}

function hasWebhooks(context: PartContext): context is OperationsContext & WebhookContext {
  return 'admit' in context
}

function authorisation(options: ServerOptions, clock: Clock): AuthoriseOptions {
  const { authenticators = [], relayAuthenticators = [], loopbackExempt = true, open = false } = options
  const limiter = createLimiter(options.limits ?? {}, clock)
  return { authenticators, relayAuthenticators, loopbackExempt, open, limiter }
}

function createApp(
  { log }: OperationsContext,
  { timeoutMs = 30_000 }: ServerOptions,
  { operations }: Specification,
  certificates: Certificates | undefined,
): FastifyInstance {
  const settings = {
    bodyLimit: Math.max(...operations.map(({ bodyLimit }) => bodyLimit)),
    requestTimeout: timeoutMs,
    return503OnClosing: false,
    genReqId: requestNumbers(),
    frameworkErrors: (error, request, reply) => sendProblem(log, error, request, reply),
    clientErrorHandler: answerWireFailure,
  } satisfies FastifyServerOptions
  const wire = {
    // Node would refuse in its own words.
    requireHostHeader: false,
    // Where these are longer than the time for the whole request, Node takes the one for the other.
    headersTimeout: timeoutMs,
    requestTimeout: timeoutMs,
    connectionsCheckingInterval: Math.min(timeoutMs, 5_000),
  }
  return certificates ? secureApp(settings, wire, certificates) : fastify({ ...settings, http: wire })
}

/** Callers without a certificate, or with a bad one, get in: whether that is enough is for authenticators to say. */
function secureApp(
  settings: FastifyServerOptions,
  wire: HttpOptions,
  certificates: Certificates,
): FastifyInstance {
  const requests = { requestCert: certificates.current.ca !== undefined, rejectUnauthorized: false }
  const https = { ...wire, ...certificates.current, ...requests, minVersion: 'TLSv1.2' as const }
  const app = fastify({ ...settings, https } as unknown as FastifyHttpsOptions<HttpsServer>)
  // Connections keep what they began with.
  certificates.subscribe(material => app.server.setSecureContext({ ...material, minVersion: 'TLSv1.2' }))
  return app
}

function requestNumbers(): () => string {
  let count = 0
  return () => `request-${++count}`
}

function protectAnswers(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-content-type-options', 'nosniff').header('cache-control', 'no-store')
    const lacksHost = request.headers.host === undefined && request.raw.httpVersion === '1.1'
    done(lacksHost ? new HttpProblem('invalid-request', 'send the header Host') : undefined)
  })
}

async function listen(app: FastifyInstance, text: string, options: ServerOptions): Promise<string> {
  const { host, port } = parseAddress(text)
  const { authenticators = [], relayAuthenticators = [], open = false } = options
  const guarded = open || authenticators.length + relayAuthenticators.length > 0
  if (!isLoopback(host) && !guarded) throw new Fault('CREDENTIALS_MISSING', `${text} is not loopback`)
  try {
    await app.listen({ host, port })
  } catch (cause) {
    throw listenFault(text, cause)
  }
  return addressText(boundAt(app.addresses()[0] ?? null) ?? { host, port })
}

async function close(app: FastifyInstance, graceMs: number): Promise<void> {
  const undo = systemClock.after(graceMs, () => app.server.closeAllConnections())
  try {
    await app.close()
  } finally {
    undo()
  }
}
