import type { KindId, Metrics } from '../../core/index.js'

/** What the relay counts; without metrics, nothing. */
export interface Instruments {
  event(kind: KindId): void
  /** @param code - HTTP status, or `unreachable` */
  post(host: string, code: string): void
  /** Of one receiver; hosts stand for all theirs, since pods come and go. */
  waiting(receiver: string, bytes: number): void
  /** It is no receiver any more. */
  gone(receiver: string): void
  overflow(host: string): void
  refused(host: string, messages: number): void
  /** One SYNC of the kind for one target. */
  sync(kind: KindId): void
  relist(kind: KindId): void
  restart(kind: KindId): void
}

export function instrumentsOf(metrics?: Metrics): Instruments {
  const counter = (name: string, help: string, ...labels: string[]) =>
    metrics?.counter(`relay_${name}_total`, help, labels)
  const events = counter('events', 'Changes that watches told of.', 'kind')
  const posts = counter('posts', 'POSTs by what was answered.', 'target', 'code')
  const overflows = counter(
    'overflows',
    'Times that too much waited for a target: it was sent SYNCs instead.',
    'target',
  )
  const refused = counter('refused', 'Messages that a target does not take.', 'target')
  const syncs = counter('syncs', 'SYNCs for one target each.', 'kind')
  const relists = counter('relists', 'Lists of a whole kind to watch on from.', 'kind')
  const restarts = counter('watch_restarts', 'Watches that ended and were begun again.', 'kind')
  const waiting = metrics?.gauge('relay_waiting_bytes', 'Bytes that wait for a target.', ['target'])
  return {
    event: kind => events?.inc({ kind }),
    post: (target, code) => posts?.inc({ target, code }),
    waiting: (target, bytes) => waiting?.set({ target }, bytes),
    gone: target => waiting?.remove({ target }),
    overflow: target => overflows?.inc({ target }),
    refused: (target, messages) => refused?.inc({ target }, messages),
    sync: kind => syncs?.inc({ kind }),
    relist: kind => relists?.inc({ kind }),
    restart: kind => restarts?.inc({ kind }),
  }
}
