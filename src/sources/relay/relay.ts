import { setMaxListeners } from 'node:events'
import { silentLog, systemClock } from '../../core/index.js'
import type { KindId } from '../../core/index.js'
import { resolveByDns } from './addresses.js'
import { CredentialFiles } from './credentials.js'
import { instrumentsOf } from './instruments.js'
import type { Outbox } from './outbox.js'
import { Receivers } from './receivers.js'
import type { Relay, RelayOptions } from './types.js'
import { watchUrl } from './url.js'
import { Watcher } from './watcher.js'

/**
 * Begins to list, watch and tell every target. Nothing that fails later ends it: kinds and targets are tried again, each
 * on its own. Throws where a target is neither `host:port` nor an http(s):// URL.
 */
export function startRelay(options: RelayOptions): Relay {
  const { client, kinds, targets, bufferBytes = 64 << 20, resolve = resolveByDns } = options
  const { clock = systemClock, log = silentLog } = options
  const closing = new AbortController()
  // Every kind waits for it, and there are more than the ten that Node takes for a leak.
  setMaxListeners(0, closing.signal)
  const shared = { clock, log, instruments: instrumentsOf(options.metrics) }
  const watchers = new Map<KindId, Watcher>()
  const onOwed = (outbox: Outbox, of?: ReadonlySet<KindId>) => {
    for (const [kind, watcher] of watchers) if (of?.has(kind) ?? true) watcher.owe(outbox)
  }
  const credentials = new CredentialFiles(options.credentials)
  const urls = [...new Set(targets)].map(target => watchUrl(target, options.credentials))
  const receivers = new Receivers({ ...shared, urls, credentials, bufferBytes, resolve, onOwed })
  for (const kind of kinds) {
    watchers.set(kind, new Watcher({ ...shared, kind, client, receivers, signal: closing.signal }))
  }
  receivers.start()
  const running = [...watchers.values()].map(watcher => watcher.run())
  return {
    ready: () => [...watchers.values()].every(watcher => watcher.isReady()),
    degraded: () => {
      const unwatched = [...watchers].flatMap(([source, watcher]) => {
        const message = watcher.whyDegraded()
        return message === undefined ? [] : [{ source, message }]
      })
      return [...unwatched, ...receivers.degraded()]
    },
    async close() {
      closing.abort()
      receivers.close()
      await Promise.all(running)
    },
  }
}
