import type { Metrics } from '../core/index.js'
import { KubeError } from './errors.js'

/** What is asked of the API server, how long it takes and how it ends. */
export interface Instruments {
  count(verb: string, kind: string, code?: string): void
  measure<T>(verb: string, kind: string, ask: () => Promise<T>): Promise<T>
}

export function codeOf(error: unknown): string {
  return error instanceof KubeError ? String(error.code) : 'unreachable'
}

const seconds = [0.005, 0.02, 0.1, 0.5, 2, 10, 30]

export function instrumentsOf(metrics: Metrics | undefined): Instruments {
  const requests = metrics?.counter('kube_requests_total', 'Requests to the API server.', [
    'verb',
    'kind',
    'code',
  ])
  const duration = metrics?.histogram(
    'kube_request_seconds',
    'Time of a request, all pages together.',
    seconds,
    ['verb'],
  )
  const count = (verb: string, kind: string, code = '200') => requests?.inc({ verb, kind, code })
  return {
    count,
    async measure(verb, kind, ask) {
      const done = duration?.startTimer({ verb })
      try {
        const answer = await ask()
        count(verb, kind, answer === 'absent' ? '404' : '200')
        return answer
      } catch (error) {
        count(verb, kind, codeOf(error))
        throw error
      } finally {
        done?.()
      }
    },
  }
}
