import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../core/index.js'
import { operationOf } from './authorise.js'
import { HttpProblem } from './problem.js'

/** Relayed events that were taken and are not in the store yet; bounded, so that a flood is the relay's to keep. */
export interface Backlog {
  /** Counts events in while `work` is under way. Throws `too-many-events` when they do not fit. */
  hold<T>(events: number, work: () => T | Promise<T>): Promise<T>
  /** Why not even one more event fits. */
  whyFull(): HttpProblem | undefined
}

export function createBacklog(bound: number, metrics: Metrics): Backlog {
  const gauge = metrics.gauge('watch_waiting_events', 'Relayed events that are not in the store yet')
  let waiting = 0
  const count = (events: number) => {
    waiting += events
    gauge.set(waiting)
  }
  return {
    whyFull: () => (waiting >= bound ? tooMany(waiting) : undefined),
    async hold(events, work) {
      // A message larger than the bound is taken when nothing waits, or it could never be delivered.
      if (waiting > 0 && waiting + events > bound) throw tooMany(waiting)
      count(events)
      try {
        return await work()
      } finally {
        count(-events)
      }
    },
  }
}

/** Refuses before the body is read, where it is clear already. */
export function refuseFloods(app: FastifyInstance, backlog: Backlog): void {
  app.addHook('onRequest', (request, _reply, done) => {
    done(operationOf(request) === 'receiveWatch' ? backlog.whyFull() : undefined)
  })
}

function tooMany(waiting: number): HttpProblem {
  return new HttpProblem('too-many-events', `${waiting} events are waiting: keep these and send them again`, {
    headers: { 'retry-after': '1' },
  })
}
