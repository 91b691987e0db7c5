import type { FastifyRequest } from 'fastify'
import type { Backlog } from './backlog.js'
import type { AdmissionRequest } from '../sources/index.js'
import type { ServerContext, WatchMessage } from './context.js'
import type { Handlers } from './handler.js'

/** How state comes in by HTTP. Bodies have been validated when a handler sees them. */
export function webhookHandlers(context: ServerContext, backlog: Backlog): Handlers {
  return {
    reviewAdmission: async request => {
      const { request: asked } = request.body as { request: AdmissionRequest }
      const verdict = await context.admit(asked)
      const response = { ...verdict, uid: asked.uid }
      return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }
    },
    receiveWatch: async request => {
      const messages = messagesOf(request)
      return backlog.hold(messages.length, () => context.receive(messages))
    },
    reconcile: async () => {
      const reconciled = await context.reconcile()
      await context.settled()
      return { ...reconciled, revision: context.revision() }
    },
  }
}

function messagesOf(request: FastifyRequest): readonly WatchMessage[] {
  const body = request.body as WatchMessage | readonly WatchMessage[]
  return isList(body) ? body : [body]
}

function isList(body: WatchMessage | readonly WatchMessage[]): body is readonly WatchMessage[] {
  return Array.isArray(body)
}
