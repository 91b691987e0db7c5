import { nextTurn } from '../core/index.js'
import type { Collection, Engine } from '../collections/index.js'
import type { Clock, Locator } from '../core/index.js'
import type { ObjectStatus } from '../model/index.js'
import type { XdsServer } from '../xds/index.js'
import { createStatusBook } from './book.js'
import type { Status } from './types.js'

/** The statuses of all objects, as Kubernetes would hold them, kept in line with the model and with the proxies. */
export interface Reporter {
  /**
   * Takes in what the derivation changed and what has been published since the last time; thousands of statuses in
   * slices, giving the event loop back in between.
   */
  report(): Promise<void>
  get(locator: Locator): Status | undefined
  /** Counts changes of statuses. */
  readonly revision: number
  close(): void
}

export function createReporter(
  engine: Engine,
  statuses: Collection<ObjectStatus>,
  xds: Pick<XdsServer, 'clients' | 'gateways' | 'subscribe'>,
  clock: Clock,
): Reporter {
  const book = createStatusBook(clock)
  /** Objects to look at again: they changed, or are Gateways that were not published yet. */
  const waiting = new Set<Locator>(statuses.keys())
  let revision = 0
  const update = (locator: Locator) => {
    const model = statuses.get(locator)
    const runtime = model && runtimeOf(locator, model, xds)
    const moved = model && runtime ? book.update(locator, model, runtime) : book.forget(locator)
    if (moved) revision++
    if (model?.kind === 'Gateway' && !runtime?.published) waiting.add(locator)
  }
  const undo = [
    engine.watch(statuses, changes => changes.forEach(({ key }) => waiting.add(key))),
    xds.subscribe(gateway => statuses.has(gateway) && update(gateway)),
  ]
  return {
    async report() {
      const due = [...waiting]
      waiting.clear()
      for (const [i, locator] of due.entries()) {
        if (i % slice === slice - 1) await nextTurn()
        update(locator)
      }
    },
    get: locator => book.get(locator),
    get revision() {
      return revision
    },
    close: () => undo.forEach(each => each()),
  }
}

/** Statuses computed in one turn of the event loop: some milliseconds of work. */
const slice = 500

const nothing = { published: false, proxies: [] }

/** Only a Gateway's status depends on the proxies; to ask them for each of 10,000 routes would be in vain. */
function runtimeOf(locator: Locator, model: ObjectStatus, xds: Pick<XdsServer, 'clients' | 'gateways'>) {
  if (model.kind !== 'Gateway') return nothing
  const proxies = xds.clients().filter(client => client.gateway === locator)
  return { published: xds.gateways().includes(locator), proxies }
}
