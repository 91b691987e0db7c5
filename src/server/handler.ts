import type { FastifyReply, FastifyRequest } from 'fastify'

/** Answers one operation: what it returns is serialised by the schema of that operation. */
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** By `operationId`. */
export type Handlers = Readonly<Record<string, Handler>>
