import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../core/index.js'
import { operationOf } from './authorise.js'

const seconds = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]

/** How long each operation takes and how it ends. */
export function measure(app: FastifyInstance, metrics: Metrics): void {
  const duration = metrics.histogram('http_request_duration_seconds', 'Time to answer a request', seconds, [
    'operation',
    'code',
  ])
  app.addHook('onResponse', (request, reply, done) => {
    const labels = { operation: operationOf(request) ?? 'none', code: reply.statusCode }
    duration.observe(labels, reply.elapsedTime / 1000)
    done()
  })
}
