import type { OperationsContext } from './context.js'
import type { Handlers } from './handler.js'
import { HttpProblem } from './problem.js'
import type { Specification } from './specification.js'

/** Health, metrics, and the API's own description. */
export function operationsHandlers(context: OperationsContext, specification: Specification): Handlers {
  return {
    getHealth: () => Promise.resolve({ status: 'ok', version: context.version }),
    getReadiness: () => Promise.resolve(readiness(context)),
    getMetrics: async (_request, reply) => {
      const text = await context.metrics.text()
      return reply.type(context.metrics.contentType).send(text)
    },
    getOpenapi: async (_request, reply) => reply.type('application/yaml').send(specification.text()),
  }
}

function readiness(context: OperationsContext): object {
  const { ready, reasons } = context.readiness()
  if (ready) return { status: reasons.length === 0 ? 'ready' : 'degraded', reasons }
  const errors = reasons.map(message => ({ in: 'state' as const, path: '', message }))
  const detail =
    reasons.length === 0 ? 'the first complete state has not been served yet' : reasons.join('; ')
  throw new HttpProblem('not-ready', detail, { errors })
}
