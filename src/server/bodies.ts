import type { FastifyInstance, FastifyRequest } from 'fastify'
import { operationOf } from './authorise.js'
import { isTooDeep, maxLevels } from './nesting.js'
import { HttpProblem } from './problem.js'
import type { Operation } from './specification.js'

/**
 * Reads bodies: JSON, JSON lines (into an array) and CloudEvents. An operation takes the content types that
 * openapi.yaml names for it and no other, so that no body passes without its schema.
 */
export function readBodies(app: FastifyInstance, operations: ReadonlyMap<string, Operation>): void {
  const json = app.getDefaultJsonParser('error', 'error')
  const shallow: typeof json = (request, text, done) => {
    if (isTooDeep(text)) throw tooDeep()
    void json(request, text, done)
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', 'application/cloudevents+json', 'application/cloudevents-batch+json'],
    { parseAs: 'string' },
    shallow,
  )
  app.addContentTypeParser('application/x-ndjson', { parseAs: 'string' }, (_request, text, done) => {
    done(null, jsonLines(text as string))
  })
  app.addHook('onRequest', (request, _reply, done) => {
    const operation = operations.get(operationOf(request) ?? '')
    done(operation && request.method === 'POST' ? whyNotRead(request, operation) : undefined)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    if (isBinaryEvent(request)) request.body = structuredEvent(request)
    done()
  })
}

function whyNotRead(request: FastifyRequest, operation: Operation): HttpProblem | undefined {
  const { headers } = request
  const { bodyTypes, path } = operation
  const empty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (bodyTypes.length === 0) {
    if (!empty) return new HttpProblem('invalid-request', `${path} takes no body: send none`)
    // Some clients name a type for the nothing they send; there is no parser for it.
    delete headers['content-type']
    return undefined
  }
  const { 'content-encoding': encoding = 'identity' } = headers
  if (encoding.toLowerCase() !== 'identity')
    return new HttpProblem('unsupported-media-type', `bodies are taken as they are, not as ${encoding}`, {
      headers: { 'accept-encoding': 'identity' },
    })
  // As the framework reads it: by this very text the schema is chosen.
  const type = request.mediaType ?? ''
  if (bodyTypes.includes(type)) return undefined
  const what = type === '' ? 'a body without Content-Type' : type
  return new HttpProblem('unsupported-media-type', `${path} takes ${bodyTypes.join(', ')}, not ${what}`, {
    headers: { 'accept-post': bodyTypes.join(', ') },
  })
}

function tooDeep(): HttpProblem {
  return new HttpProblem('invalid-body', `the body is nested deeper than ${maxLevels} levels`)
}

function jsonLines(text: string): unknown[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    if (isTooDeep(line)) throw tooDeep()
    try {
      return [JSON.parse(line) as unknown]
    } catch (cause) {
      const message = `line ${index + 1} is not JSON: ${(cause as Error).message}`
      throw new HttpProblem('invalid-body', message, {
        errors: [{ in: 'body', path: `[${index}]`, message }],
        cause,
      })
    }
  })
}

/** CloudEvents 1.0 HTTP binding §3: a content type of the format's own says that the attributes are in the body. */
function isBinaryEvent(request: FastifyRequest): boolean {
  if (operationOf(request) !== 'receiveWatch' || request.headers['ce-specversion'] === undefined) return false
  return !request.mediaType?.startsWith('application/cloudevents')
}

const attributes = ['specversion', 'id', 'source', 'type', 'subject', 'time'] as const

/** CloudEvents 1.0 HTTP binding §3.1: in binary mode the attributes are headers and the body is the data. */
function structuredEvent({ headers, body }: FastifyRequest): Record<string, unknown> {
  const given = attributes.flatMap(name => {
    const value = headers[`ce-${name}`]
    return typeof value === 'string' ? [[name, decoded(value)] as const] : []
  })
  return { ...Object.fromEntries(given), data: body }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
