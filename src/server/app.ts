import { fastify } from 'fastify'
import type { FastifyInstance, LightMyRequestResponse, InjectOptions, RouteOptions } from 'fastify'
import { fastifyOpenapiGlue } from 'fastify-openapi-glue'
import { Fault, systemClock } from '../core/index.js'
import { addressText, boundAt, isLoopback, listenFault, parseAddress } from './address.js'
import { authorise } from './authorise.js'
import type { Authoriser } from './authorise.js'
import { createBacklog, refuseFloods } from './backlog.js'
import { readBodies } from './bodies.js'
import { createConditional } from './conditional.js'
import type { ServerContext } from './context.js'
import type { Handlers } from './handler.js'
import { measure } from './instruments.js'
import { operationsHandlers } from './operations.js'
import { answerProblems, answerWireFailure, sendProblem } from './problems.js'
import { queryHandlers } from './queries.js'
import { readSpecification } from './specification.js'
import type { Operation, Specification } from './specification.js'
import { validate } from './validation.js'
import { webhookHandlers } from './webhooks.js'

export interface ServerOptions {
  /** Asked about every call, except to open operations and, by exemption, on loopback sockets. */
  readonly authoriser?: Authoriser
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
   * Throws CREDENTIALS_MISSING for another address than loopback without an authoriser, ADDRESS_IN_USE,
   * ADDRESS_UNAVAILABLE.
   */
  listen(address: string): Promise<string>
  /** Answers what is under way, takes nothing new, and lets go of the address. */
  close(): Promise<void>
  /** Answers a request without a socket, as a loopback caller. */
  inject(request: InjectOptions | string): Promise<LightMyRequestResponse>
}

/** The HTTP API of openapi.yaml over one control plane. */
export async function createServer(context: ServerContext, options: ServerOptions = {}): Promise<Server> {
  const specification = readSpecification()
  const app = createApp(context, options, specification)
  const backlog = createBacklog(options.maxWaitingEvents ?? 20_000, context.metrics)
  const operations = new Map(specification.operations.map(operation => [operation.id, operation]))
  const { authoriser, loopbackExempt = true } = options

  answerProblems(app, context.log, specification.operations)
  measure(app, context.metrics)
  protectAnswers(app)
  authorise(app, operations, { loopbackExempt, ...(authoriser && { authoriser }) })
  refuseFloods(app, backlog)
  readBodies(app, operations)
  validate(app)
  const handlers = {
    ...queryHandlers(context, createConditional()),
    ...webhookHandlers(context, backlog),
    ...operationsHandlers(context, specification),
  }
  await app.register(fastifyOpenapiGlue, {
    specification: specification.document,
    operationResolver: resolver(handlers, operations),
  })
  await app.ready()
  return {
    listen: address => listen(app, address, authoriser !== undefined),
    close: () => close(app, options.closeGraceMs ?? 5_000),
    inject: async request => await app.inject(request),
  }
}

function createApp(
  { log }: ServerContext,
  { timeoutMs = 30_000 }: ServerOptions,
  { operations }: Specification,
): FastifyInstance {
  return fastify({
    bodyLimit: Math.max(...operations.map(({ bodyLimit }) => bodyLimit)),
    requestTimeout: timeoutMs,
    handlerTimeout: timeoutMs,
    return503OnClosing: false,
    genReqId: requestNumbers(),
    frameworkErrors: (error, request, reply) => sendProblem(log, error, request, reply),
    clientErrorHandler: answerWireFailure,
  })
}

function requestNumbers(): () => string {
  let count = 0
  return () => `request-${++count}`
}

/** No operation without a handler and no handler without an operation: a mistake of ours, so it throws. */
function resolver(handlers: Handlers, operations: ReadonlyMap<string, Operation>) {
  const idle = Object.keys(handlers).filter(id => !operations.has(id))
  const unserved = [...operations.keys()].filter(id => !(id in handlers))
  if (idle.length + unserved.length > 0)
    throw new Error(`openapi.yaml and the handlers differ: ${[...idle, ...unserved].join(', ')}`)
  return (id: string) =>
    ({
      handler: handlers[id],
      bodyLimit: operations.get(id)?.bodyLimit,
      config: { operation: id },
    }) as unknown as RouteOptions
}

function protectAnswers(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.header('x-content-type-options', 'nosniff').header('cache-control', 'no-store')
    done()
  })
}

async function listen(app: FastifyInstance, text: string, authorised: boolean): Promise<string> {
  const { host, port } = parseAddress(text)
  if (!isLoopback(host) && !authorised) throw new Fault('CREDENTIALS_MISSING', `${text} is not loopback`)
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
