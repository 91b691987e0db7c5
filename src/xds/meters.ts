import type { Metrics } from '../core/index.js'
import type { ResourceType } from '../envoy/index.js'
import type { Verdict } from './dialogue.js'
import type { Impatience } from './order.js'

export type Protocol = 'sotw' | 'delta'

/** What the xDS server counts. */
export interface Meters {
  opened(protocol: Protocol): void
  closed(protocol: Protocol): void
  sent(type: ResourceType, protocol: Protocol): void
  heard(type: ResourceType, protocol: Protocol, verdict: Verdict): void
  hurried(why: Impatience): void
}

const ACK_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30]

export function createMeters(metrics: Metrics): Meters {
  const labels = ['type', 'protocol']
  const streams = metrics.gauge('xds_streams', 'xDS streams that are open', ['protocol'])
  const responses = metrics.counter('xds_responses_total', 'xDS responses sent', labels)
  const acks = metrics.counter('xds_acks_total', 'xDS responses that a proxy accepted', labels)
  const nacks = metrics.counter('xds_nacks_total', 'xDS responses that a proxy refused', labels)
  const seconds = metrics.histogram('xds_ack_seconds', 'Time from response to ACK', ACK_SECONDS, ['type'])
  const hurried = metrics.counter(
    'xds_phase_timeouts_total',
    'Times that listeners and routes went on before clusters, endpoints or secrets were ready',
    ['reason'],
  )
  return {
    opened: protocol => streams.inc({ protocol }),
    closed: protocol => streams.dec({ protocol }),
    sent: (type, protocol) => responses.inc({ type, protocol }),
    heard(type, protocol, verdict) {
      if (verdict.kind === 'refused') nacks.inc({ type, protocol })
      if (verdict.kind !== 'accepted') return
      acks.inc({ type, protocol })
      seconds.observe({ type }, verdict.after / 1000)
    },
    hurried: reason => hurried.inc({ reason }),
  }
}
