import type { OpenCluster } from './cluster.js'
import type { Closing } from './closing.js'
import type { Clock, Log, Metrics } from './core/index.js'
import type { Origin } from './origin.js'
import type { ServerContext } from './server/index.js'
import { createAdmission, createReceiver, type Wanted } from './sources/index.js'
import type { Store } from './store/index.js'

export interface IntakeParts {
  readonly store: Store
  readonly origin: Origin
  /** Absent where objects come from a folder: nothing can be read back, and no replica told. */
  readonly opened: OpenCluster | undefined
  readonly wanted: Wanted
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** What comes in by HTTP: reviews are answered and leave a hint, relayed events are facts. */
export type Intake = Pick<ServerContext, 'admit' | 'receive'>

export function takeIn(parts: IntakeParts, closing: Closing): Intake {
  const { store, origin, opened, wanted, clock, log, metrics } = parts
  const receiver = createReceiver({
    ...{ store, clock, log, metrics },
    // A folder's objects cannot be read back from anywhere.
    ...(opened && { onHint: hint => opened.cluster.hint(hint), isWanted: key => wanted.has(key) }),
  })
  closing.add(() => receiver.close())
  const admission = createAdmission({
    ...{ store, clock },
    complete: () => origin.complete(),
    ...(opened && { read: (key, signal) => opened.read(key, signal) }),
  })
  closing.add(() => admission.stop())
  return {
    receive: messages => receiver.receive(messages),
    async admit(request, { timeoutMs }) {
      const { verdict, hint } = await admission.decide(request, timeoutMs)
      if (hint && opened) {
        opened.cluster.hint(hint)
        opened.tell(hint)
      }
      return verdict
    },
  }
}
