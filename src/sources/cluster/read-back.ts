import type { Clock, Locator, Log, Metrics } from '../../core/index.js'
import { locatorOf, silentLog, systemClock } from '../../core/index.js'
import type { Store } from '../../store/index.js'
import type { Check } from '../check.js'
import { checkList } from '../checked-list.js'
import type { Hint as AnyHint } from '../hint.js'
import type { Listed } from './list.js'
import { pauses } from '../pauses.js'

/** A hint about one object. */
type Hint = AnyHint & { readonly key: Locator }

export interface ReadBackOptions {
  readonly store: Store
  /** Lists the one object by its name: such a list has a version even when it is empty. */
  readonly readBack: (hint: Hint) => Promise<Listed>
  readonly check?: Check
  readonly clock?: Clock
  readonly log?: Log
  readonly metrics?: Metrics
}

/** When it is tried, in ms after the hint: what was admitted is written a moment later, or never. */
const tries = [0, 100, 400, 1200, 3000]

/**
 * Makes a taker of hints that reads the object back until its version is another than the one held, five times within
 * 3 s, and then keeps silent: whatever a hint was about, a full list finds it too. One object is read by one at a time.
 */
export function readHintsBack(options: ReadBackOptions): (hint: Hint) => void {
  const { store, readBack, check, clock = systemClock, log = silentLog, metrics } = options
  const counter = metrics?.counter('hints_total', 'Hints by what reading back came to.', ['result'])
  const open = new Set<Locator>()
  const heldVersion = (key: Locator) => store.snapshot().get(key)?.metadata.resourceVersion

  const end = (hint: Hint, result: string) => {
    open.delete(hint.key)
    counter?.inc({ result })
  }

  const attempt = async (hint: Hint, before: string | undefined, at: number): Promise<void> => {
    try {
      const listed = await readBack(hint)
      const within = (held: Parameters<typeof locatorOf>[0]) => locatorOf(held) === hint.key
      const { list } = await checkList({ kind: hint.kind, ...listed, within }, { check, pause: pauses() })
      store.replace(list)
    } catch (error) {
      log.debug({ ...hint, error: String(error) }, 'could not read back what a hint was about')
    }
    if (heldVersion(hint.key) !== before) end(hint, 'found')
    else if (at + 1 >= tries.length) end(hint, 'unchanged')
    else again(hint, before, at + 1)
  }

  const again = (hint: Hint, before: string | undefined, at: number): void => {
    clock.after((tries[at] ?? 0) - (tries[at - 1] ?? 0), () => void attempt(hint, before, at))
  }

  return hint => {
    if (open.has(hint.key)) return
    open.add(hint.key)
    again(hint, heldVersion(hint.key), 0)
  }
}
