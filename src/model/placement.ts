import type { Collection, Context, Engine } from '../collections/index.js'
import type { References } from '../topology/index.js'
import type { EndpointSource } from './clusters.js'
import type { RoutePlan } from './plan.js'
import type { Cluster } from './types.js'

/** One cluster of one Gateway, with its source. */
export interface PlacedCluster {
  readonly cluster: Cluster
  readonly source?: EndpointSource
}

/** The clusters that attached routes use, once per Gateway; keyed `<gateway>|<name>`. */
export function placeClusters(
  engine: Engine,
  references: References,
  plans: Collection<RoutePlan>,
): Collection<PlacedCluster> {
  const uses = engine.expand('cluster uses', plans, (plan, context, route) =>
    usesOf(plan, context, route, references),
  )
  const byCluster = engine.index('cluster uses by cluster', uses, ({ cluster }) => [
    `${cluster.gateway}|${cluster.name}`,
  ])
  return engine.group('placed clusters', byCluster, (_, [first]) => first)
}

function* usesOf(
  plan: RoutePlan,
  context: Context,
  route: string,
  { attachments }: References,
): Iterable<[string, PlacedCluster]> {
  const parents = context.get(attachments, route)?.parents ?? []
  const gateways = new Set(
    parents.filter(({ listeners }) => listeners.length > 0).map(({ gateway }) => gateway),
  )
  for (const gateway of gateways) {
    for (const { cluster, source } of plan.clusters) {
      yield [
        `${gateway}|${cluster.name}|${route}`,
        { cluster: { gateway, ...cluster }, ...(source && { source }) },
      ]
    }
  }
}
