import { LRUCache } from 'lru-cache'
import type { Clock, KindId, KubeObject } from '../../core/index.js'
import { isVersion } from '../../store/index.js'
import type { Fields } from '../message.js'
import { isFields, textOf } from '../message.js'
import { parseSelector } from './selector.js'

/** A list that a relay sends in parts. */
export interface Sync {
  readonly kind: KindId
  /** Absent where it is the whole kind. */
  readonly within: ((held: KubeObject) => boolean) | undefined
  readonly version: string | undefined
  readonly items: readonly unknown[]
}

/** One part of it. */
interface Part {
  readonly id: string
  /** What all parts of one SYNC must agree on. */
  readonly heading: string
  readonly kind: KindId
  readonly within: Sync['within']
  readonly version: string | undefined
  readonly part: number
  readonly of: number
  readonly items: readonly unknown[]
}

export type Assembled = Sync | 'waiting' | 'duplicate' | { readonly message: string }

/** In ms: how long the parts of one SYNC may take. */
const patience = 60_000
/** How many may be under way at once. */
const most = 16

/** Puts the parts of SYNCs together, each within a minute. */
export class SyncAssembly {
  readonly #clock: Clock
  readonly #onDiscard: (id: string) => void
  readonly #open = new Map<string, { readonly parts: Map<number, Part>; readonly stop: () => void }>()
  /** A replayed SYNC is not believed a second time. */
  readonly #done = new LRUCache<string, true>({ max: 1000 })

  constructor(clock: Clock, onDiscard: (id: string) => void) {
    this.#clock = clock
    this.#onDiscard = onDiscard
  }

  take(fields: Fields): Assembled {
    const part = partOf(fields)
    if ('message' in part) return part
    if (this.#done.has(part.id)) return 'duplicate'
    const parts = this.#partsOf(part.id)
    if (parts === undefined) return { message: `${most} SYNCs are under way already: finish them first` }
    const [first = part] = parts.values()
    if (first.heading !== part.heading)
      return { message: `part ${part.part} of SYNC ${part.id} is of another list` }
    if (parts.has(part.part)) return 'duplicate'
    parts.set(part.part, part)
    return parts.size < part.of ? 'waiting' : this.#finish(part, parts)
  }

  close(): void {
    for (const { stop } of this.#open.values()) stop()
    this.#open.clear()
  }

  #partsOf(id: string): Map<number, Part> | undefined {
    const known = this.#open.get(id)
    if (known !== undefined) return known.parts
    if (this.#open.size >= most) return undefined
    const parts = new Map<number, Part>()
    const stop = this.#clock.after(patience, () => {
      this.#open.delete(id)
      this.#onDiscard(id)
    })
    this.#open.set(id, { parts, stop })
    return parts
  }

  #finish({ id, kind, within, version }: Part, parts: ReadonlyMap<number, Part>): Sync {
    this.#open.get(id)?.stop()
    this.#open.delete(id)
    this.#done.set(id, true)
    return { kind, within, version, items: [...parts.values()].flatMap(({ items }) => items) }
  }
}

function partOf(fields: Fields): Part | { readonly message: string } {
  const { scope, part, of } = fields
  const id = textOf(fields, 'syncId')
  const kind = isFields(scope) ? textOf(scope, 'kind')?.toLowerCase() : undefined
  if (id === undefined || !isFields(scope) || kind === undefined) {
    return { message: 'a SYNC needs syncId and scope.kind' }
  }
  if (!isCount(part) || !isCount(of) || part > of)
    return { message: 'part and of must be numbers, 1 ≤ part ≤ of' }
  const version = textOf(fields, 'version')
  if (version !== undefined && !isVersion(version)) return { message: 'version must be a decimal number' }
  const within = withinOf(scope)
  if (typeof within === 'object') return within
  const heading = JSON.stringify([kind, scope['namespaces'], scope['selector'], version, of])
  return { id, heading, kind, within, version, part, of, items: itemsOf(fields) }
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 1

const itemsOf = ({ items }: Fields): readonly unknown[] => (Array.isArray(items) ? items : [])

function withinOf({ namespaces, selector }: Fields): Sync['within'] | { readonly message: string } {
  if (!isNames(namespaces)) return { message: 'scope.namespaces must be a list of names' }
  const isSelected = selectorOf(selector)
  if (typeof isSelected === 'object') return isSelected
  if (namespaces === undefined || namespaces.length === 0) {
    return isSelected && (held => isSelected(held.metadata.labels ?? {}))
  }
  const named = new Set<string | undefined>(namespaces)
  return ({ metadata }) => named.has(metadata.namespace) && (isSelected?.(metadata.labels ?? {}) ?? true)
}

function isNames(value: unknown): value is readonly string[] | undefined {
  return value === undefined || (Array.isArray(value) && value.every(name => typeof name === 'string'))
}

function selectorOf(text: unknown): ReturnType<typeof parseSelector> | { readonly message: string } {
  if (text === undefined || text === '') return undefined
  const selector = typeof text === 'string' ? parseSelector(text) : undefined
  return selector ?? { message: 'scope.selector is no label selector' }
}
