import type { KubeObject, Locator } from '../../core/index.js'
import { parseLocator } from '../../core/index.js'
import type { KubeClient, KubeList } from '../../kube/index.js'
import type { Store } from '../../store/index.js'
import type { CheckedList } from '../checked-list.js'
import { checkList } from '../checked-list.js'
import { pauses } from '../pauses.js'
import { kindOfKey } from '../wanted.js'
import { createQueue } from './queue.js'

/** Reads one object whole, as a list of its name: that has a version even when it is empty. */
export type ReadNamed = (key: Locator) => Promise<CheckedList | 'absent'>

/** Lists the one object of a key. */
export function listNamed(
  client: KubeClient,
  key: Locator,
  signal: AbortSignal,
): Promise<KubeList | 'absent'> {
  const { kind, namespace, name } = parseLocator(key)
  return client.list(kind, { name, signal, ...(namespace !== undefined && { namespace }) })
}

/** So many objects are read at once. */
const most = 8

export function createReader(client: KubeClient, store: Store, signal: AbortSignal): ReadNamed {
  const queue = createQueue(most)
  const held = (key: Locator): KubeObject | undefined => store.snapshot().get(key)
  return key =>
    queue(async () => {
      const found = await listNamed(client, key, signal)
      if (found === 'absent') return found
      return await checkList({ kind: kindOfKey(key), only: key, ...found }, { held, pause: pauses() })
    })
}
