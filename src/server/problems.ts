import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../core/index.js'
import { HttpProblem, problemOf } from './problem.js'
import type { ProblemType } from './problem.js'
import { isServed } from './specification.js'
import type { Operation, Part } from './specification.js'

const mediaType = 'application/problem+json'

/** Answers every failure as application/problem+json: of handlers, of validation, of paths nobody serves. */
export function answerProblems(
  app: FastifyInstance,
  log: Log,
  operations: readonly Operation[],
  part: Part | undefined,
): void {
  app.setErrorHandler((thrown, request, reply) => sendProblem(log, thrown, request, reply))
  app.setNotFoundHandler(request => {
    throw unknownPath(request, operations, part)
  })
}

/** Sends what was thrown as a problem; only what is the server's own fault is logged as an error. */
export function sendProblem(log: Log, thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = problemOf(thrown)
  if (problem.type === 'internal') log.error({ err: problem.cause, request: request.id }, 'a request failed')
  else
    log.debug({ request: request.id, type: problem.type, detail: problem.message }, 'a request was refused')
  void reply.code(problem.statusCode).headers(problem.headers).type(mediaType).send(problem.body(request.id))
}

function unknownPath(
  request: FastifyRequest,
  operations: readonly Operation[],
  part: Part | undefined,
): HttpProblem {
  const path = request.url.split('?', 1)[0] ?? ''
  const there = operations.filter(operation => operation.path === path)
  const methods = there.filter(operation => isServed(operation, part)).map(({ method }) => method)
  if (there.length > methods.length && part)
    return new HttpProblem('not-found', `${path} is not served here: ${part.why}`)
  if (methods.length === 0)
    return new HttpProblem('not-found', `nothing is served at ${path}: /openapi.yaml lists what is`)
  if (methods.includes('GET')) methods.push('HEAD')
  const allow = methods.join(', ')
  return new HttpProblem('method-not-allowed', `${path} takes ${allow}, not ${request.method}`, {
    headers: { allow },
  })
}

const wireFailures: Readonly<Record<string, [ProblemType, string]>> = {
  HPE_HEADER_OVERFLOW: ['header-too-large', 'send fewer or shorter headers (16 KiB in all)'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'send the whole request sooner'],
}

/** What is no HTTP at all never becomes a request: the answer is written to the socket, which then ends. */
export function answerWireFailure(error: { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [type, detail] = wireFailures[error.code ?? ''] ?? ['invalid-request', 'this is no HTTP/1.1 request']
  const problem = new HttpProblem(type, detail)
  const body = JSON.stringify(problem.body())
  const status = problem.statusCode
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: ${mediaType}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
