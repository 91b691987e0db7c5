import type { KubeObject, Locator } from '../../core/index.js'
import { parseLocator } from '../../core/index.js'
import type { KubeClient } from '../../kube/index.js'
import type { Store } from '../../store/index.js'
import type { CheckedList } from '../checked-list.js'
import { checkList } from '../checked-list.js'
import { pauses } from '../pauses.js'
import { createQueue } from './queue.js'

/** Reads one object whole, as a list of its name: that has a version even when it is empty. */
export type ReadNamed = (key: Locator) => Promise<CheckedList | 'absent'>

/** So many objects are read at once. */
const most = 8

export function createReader(client: KubeClient, store: Store, signal: AbortSignal): ReadNamed {
  const queue = createQueue(most)
  const held = (key: Locator): KubeObject | undefined => store.snapshot().get(key)
  return key =>
    queue(async () => {
      const { kind, namespace, name } = parseLocator(key)
      const scope = { name, ...(namespace !== undefined && { namespace }) }
      const found = await client.list(kind, { ...scope, signal })
      if (found === 'absent') return found
      return await checkList({ kind, only: key, ...found }, { held, pause: pauses() })
    })
}
