import { createHash } from 'node:crypto'
import { PersistentMap, diff } from '../collections/index.js'
import type { Resource, ResourceType } from '../envoy/index.js'
import { perObject, perPair } from './memo.js'
import type { Publication } from './types.js'

export type Resources = PersistentMap<Resource>

/** Everything one Gateway's proxies are to have. Immutable; generations count from 1. */
export interface Snapshot {
  readonly generation: number
  readonly resources: Readonly<Record<ResourceType, Resources>>
}

/** The order in which types are pushed, so that nothing names what the proxy has not been told of. */
export const pushOrder: readonly ResourceType[] = ['cluster', 'endpoint', 'secret', 'listener', 'route']

/** A response of these types lists all there is: absence is removal (xDS protocol, "Resource updates"). */
export const listsAll = (type: ResourceType) => type === 'cluster' || type === 'listener'

export const noResources: Resources = PersistentMap.empty()

const perType = <V>(of: (type: ResourceType) => V): Record<ResourceType, V> => ({
  cluster: of('cluster'),
  endpoint: of('endpoint'),
  secret: of('secret'),
  listener: of('listener'),
  route: of('route'),
})

export const emptySnapshot: Snapshot = { generation: 0, resources: perType(() => noResources) }

/** The next generation, or the very same snapshot when no version changes. Without one before: the first. */
export function published(before: Snapshot | undefined, changes: Publication['changes']): Snapshot {
  const { generation, resources } = before ?? emptySnapshot
  const drafts = perType(type => resources[type].draft())
  for (const { type, name, resource } of changes) {
    const draft = drafts[type]
    if (resource === undefined) draft.delete(name)
    else if (draft.get(name)?.version !== resource.version) draft.set(name, resource)
  }
  const next = perType(type => drafts[type].close())
  const changed = pushOrder.some(type => next[type] !== resources[type])
  return before && !changed ? before : { generation: generation + 1, resources: next }
}

/** What leads from one set to another, in order of name. */
export interface Changes {
  readonly set: readonly Resource[]
  readonly removed: readonly Resource[]
}

const byName = (a: Resource, b: Resource) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

/** O(changes); resources of equal versions do not differ. */
export const changesBetween = perPair((older: Resources, newer: Resources): Changes => {
  const set: Resource[] = []
  const removed: Resource[] = []
  for (const { old, new: now } of diff(older, newer)) {
    if (now === undefined) removed.push(old as Resource)
    else if (old?.version !== now.version) set.push(now)
  }
  return { set: set.sort(byName), removed: removed.sort(byName) }
})

export const inOrder = perObject((resources: Resources): readonly Resource[] =>
  [...resources.values()].sort(byName),
)

/** A hash of names and versions, 16 hexadecimal digits: equal sets have equal versions on every replica. */
export const versionOf = perObject((resources: Resources): string => {
  const hash = createHash('sha256')
  for (const { name, version } of inOrder(resources)) hash.update(`${name}\0${version}\n`)
  return hash.digest('hex').slice(0, 16)
})

/** The least time to live among the resources, in milliseconds; 0 when none has one. */
export const shortestTtl = perObject((resources: Resources): number => {
  let shortest = 0
  for (const { ttlMs } of resources.values()) {
    if (ttlMs !== undefined && (shortest === 0 || ttlMs < shortest)) shortest = ttlMs
  }
  return shortest
})
