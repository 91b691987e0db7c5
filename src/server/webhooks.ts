import type { FastifyRequest } from 'fastify'
import type { Backlog } from './backlog.js'
import type { Clock } from '../core/index.js'
import { timeoutOf } from '../sources/index.js'
import type { AdmissionRequest } from '../sources/index.js'
import type { WatchMessage, WebhookContext } from './context.js'
import type { Handlers } from './handler.js'
import { HttpProblem } from './problem.js'

/** How state comes in by HTTP. Bodies have been validated when a handler sees them. */
export function webhookHandlers(context: WebhookContext, backlog: Backlog, clock: Clock): Handlers {
  return {
    reviewAdmission: async request => {
      const { request: asked } = request.body as { request: AdmissionRequest }
      const { timeout } = request.query as { timeout?: string }
      const timeoutMs = timeoutOf(timeout) ?? defaultTimeoutMs
      const verdict = await inTime(clock, timeoutMs, () => context.admit(asked, { timeoutMs }))
      const response = { ...verdict, uid: asked.uid }
      return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }
    },
    receiveWatch: async (request, reply) => {
      const messages = messagesOf(request)
      const received = await backlog.hold(messages.length, () => context.receive(messages))
      return reply.code(202).send(received)
    },
    reconcile: async () => {
      const reconciled = await context.reconcile()
      await context.settled()
      return { ...reconciled, revision: context.revision() }
    },
  }
}

/** As an API server waits unless it is told otherwise (`timeoutSeconds`), in ms. */
const defaultTimeoutMs = 10_000

/** A late answer is none: the caller is told before it goes away, with a tenth of its time for the way. */
async function inTime<T>(clock: Clock, timeoutMs: number, work: () => T | Promise<T>): Promise<T> {
  const late = new HttpProblem('timeout', 'the review took too long', { headers: { 'retry-after': '1' } })
  let undo = () => {}
  const end = new Promise<never>((_resolve, reject) => {
    undo = clock.after(timeoutMs * 0.9, () => reject(late))
  })
  try {
    return await Promise.race([work(), end])
  } finally {
    undo()
  }
}

function messagesOf(request: FastifyRequest): readonly WatchMessage[] {
  const body = request.body as WatchMessage | readonly WatchMessage[]
  return isList(body) ? body : [body]
}

function isList(body: WatchMessage | readonly WatchMessage[]): body is readonly WatchMessage[] {
  return Array.isArray(body)
}
