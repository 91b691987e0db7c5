import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Answers 304 where the caller holds the answer already. */
export interface Conditional {
  /** Sets the ETag of this revision and variant (such as a format); true = the caller has it, send nothing. */
  isHeld(request: FastifyRequest, reply: FastifyReply, revision: number, variant?: string): boolean
}

/** Revisions start anew with each process: so the tags carry a word of this one's own. */
export function createConditional(): Conditional {
  const life = randomBytes(6).toString('base64url')
  return {
    isHeld(request, reply, revision, variant = 'json') {
      const tag = `W/"${life}-${revision}-${variant}"`
      void reply.header('etag', tag).header('cache-control', 'no-cache')
      return holds(request.headers['if-none-match'], tag)
    },
  }
}

/** RFC 9110 §13.1.2, by weak comparison. */
function holds(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const opaque = tag.slice(2)
  return header.split(',').some(each => each.trim().replace(/^W\//, '') === opaque)
}
