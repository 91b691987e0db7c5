import type { FastifyRequest } from 'fastify'
import { HttpProblem } from './problem.js'

/** Bytes of bodies that are held before it is known who sent them, of all requests together. */
const bound = 128 * 1024 * 1024

/** Requests whose sender is known only once their body has been read (HMAC). */
export interface Unverified {
  expect(request: FastifyRequest): void
  expects(request: FastifyRequest): boolean
  /** Reads a body of at most `limit` bytes for `use`. Throws `body-too-large`, `too-many-requests`. */
  read<T>(payload: AsyncIterable<unknown>, limit: number, use: (body: Buffer) => Promise<T>): Promise<T>
}

export function createUnverified(): Unverified {
  const expected = new WeakSet<FastifyRequest>()
  let held = 0
  return {
    expect: request => void expected.add(request),
    expects: request => expected.has(request),
    async read(payload, limit, use) {
      const parts: Uint8Array[] = []
      let size = 0
      try {
        for await (const part of payload as AsyncIterable<Uint8Array>) {
          size += part.length
          held += part.length
          if (size > limit) throw new HttpProblem('body-too-large', 'the body exceeds the limit of this path')
          if (held > bound)
            throw new HttpProblem('too-many-requests', 'too many bodies wait for verification')
          parts.push(part)
        }
        return await use(Buffer.concat(parts, size))
      } finally {
        held -= size
      }
    },
  }
}
