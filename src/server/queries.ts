import type { FastifyReply, FastifyRequest } from 'fastify'
import type { KubeObject, Locator } from '../core/index.js'
import { locatorOf } from '../core/index.js'
import type { Resource, ResourceType } from '../envoy/index.js'
import { objectList, passes, statusTable } from '../status/index.js'
import type { ObjectFilter } from '../status/index.js'
import { acceptable } from './accept.js'
import type { Conditional } from './conditional.js'
import type { QueryContext, TopologyFilter } from './context.js'
import { fieldProblem, HttpProblem } from './problem.js'
import type { FieldError } from './problem.js'
import { inSlices } from './slices.js'
import type { Handler, Handlers } from './handler.js'
import { clientView, withoutSecrets } from './xds-view.js'

const graphTypes = {
  json: 'application/json',
  dot: 'text/vnd.graphviz',
  mermaid: 'text/vnd.mermaid',
} as const

type GraphFormat = keyof typeof graphTypes

/** The queries of `/v1`: each waits until what was accepted before it is part of the answer. */
export function queryHandlers(context: QueryContext, conditional: Conditional): Handlers {
  /** Answers 304 by the revision, or what `answer` gives. */
  const query =
    (answer: (request: FastifyRequest, revision: number) => object): Handler =>
    async (request, reply) => {
      await context.settled()
      const revision = context.revision()
      return conditional.isHeld(request, reply, revision) ? reply.code(304).send() : answer(request, revision)
    }
  const settled =
    (answer: (request: FastifyRequest) => Promise<object> | object): Handler =>
    async request => {
      await context.settled()
      return answer(request)
    }
  return {
    getTopology: async (request, reply) => {
      await context.settled()
      return topology(context, conditional, request, reply)
    },
    getTopologyPaths: query((request, revision) => paths(context, request, revision)),
    getResources: query((request, revision) => resources(context, request, revision)),
    getStatus: query((request, revision) => ({
      revision,
      conditions: statusTable(objectsOf(context, request), locator => context.status(locator)),
      problems: context.problems(),
    })),
    getXdsClients: settled(request => ({ clients: clients(context, request) })),
    getXdsResources: settled(request => xdsResources(context, request)),
  }
}

function topology(
  context: QueryContext,
  conditional: Conditional,
  request: FastifyRequest,
  reply: FastifyReply,
): object {
  const { format: asked, ...filter } = request.query as TopologyFilter & { format?: GraphFormat }
  const format = asked ?? formatOf(request)
  void reply.header('vary', 'accept').type(graphTypes[format])
  const revision = context.revision()
  if (filter.depth !== undefined && filter.root === undefined)
    throw fieldProblem([{ in: 'query', path: 'depth', message: 'needs root, to count from' }])
  if (filter.root !== undefined) knownNodes(context, { root: filter.root })
  if (conditional.isHeld(request, reply, revision, format)) return reply.code(304).send()
  if (format === 'json') return { revision, ...context.topology.graph(filter) }
  return reply.send(context.topology.text(filter, format))
}

function formatOf(request: FastifyRequest): GraphFormat {
  const offered = Object.values(graphTypes)
  const type = acceptable(request.headers.accept, offered)
  const format = (Object.keys(graphTypes) as GraphFormat[]).find(each => graphTypes[each] === type)
  if (format) return format
  throw new HttpProblem('not-acceptable', `the graph is given as ${offered.join(', ')}: accept one of them`)
}

function paths(context: QueryContext, request: FastifyRequest, revision: number): object {
  const { from, to, limit } = request.query as { from: Locator; to: Locator; limit: number }
  knownNodes(context, { from, to })
  const found: (readonly Locator[])[] = []
  for (const path of context.topology.paths(from, to)) {
    if (found.length === limit) return { revision, paths: found, truncated: true }
    found.push(path)
  }
  return { revision, paths: found, truncated: false }
}

function knownNodes(context: QueryContext, asked: Readonly<Record<string, Locator>>): void {
  const unknown = Object.entries(asked).filter(([, id]) => !context.topology.has(id))
  notFound(unknown, id => `the topology has no ${id}`)
}

function notFound(unknown: readonly (readonly [string, string])[], say: (id: string) => string): void {
  if (unknown.length === 0) return
  const errors = unknown.map(([path, id]): FieldError => ({ in: 'query', path, message: say(id) }))
  throw new HttpProblem('not-found', errors.map(({ message }) => message).join('; '), { errors })
}

function resources(context: QueryContext, request: FastifyRequest, revision: number): object {
  const list = objectList(objectsOf(context, request), locator => context.status(locator))
  return { ...list, metadata: { resourceVersion: String(revision) } }
}

function objectsOf(context: QueryContext, request: FastifyRequest): KubeObject[] {
  const { kind, namespace, name } = request.query as ObjectFilter
  const filter = { ...(kind && { kind }), ...(namespace && { namespace }), ...(name && { name }) }
  const snapshot = context.snapshot()
  return [...snapshot.kinds()]
    .sort()
    .flatMap(each => snapshot.list(each).filter(object => passes(filter, locatorOf(object))))
}

function clients(context: QueryContext, request: FastifyRequest): object[] {
  const { gateway } = request.query as { gateway?: Locator }
  if (gateway !== undefined) knownGateway(context, gateway)
  return context.xds
    .clients()
    .filter(client => gateway === undefined || client.gateway === gateway)
    .map(clientView)
}

interface ResourceQuery {
  readonly gateway?: Locator
  readonly type?: ResourceType
  readonly name?: string
}

async function xdsResources({ xds, ...context }: QueryContext, request: FastifyRequest): Promise<object> {
  const { gateway, type, name } = request.query as ResourceQuery
  if (gateway !== undefined) knownGateway({ ...context, xds }, gateway)
  const asked = ({ type: own, name: ownName }: Resource) =>
    (type === undefined || own === type) && (name === undefined || ownName === name)
  const placed = (gateway === undefined ? [...xds.gateways()].sort() : [gateway]).flatMap(each =>
    xds
      .resources(each)
      .filter(asked)
      .map(resource => ({ gateway: each, resource })),
  )
  const shown = await inSlices(placed, ({ gateway: owner, resource }) => ({
    gateway: owner,
    type: resource.type,
    name: resource.name,
    version: resource.version,
    resource: withoutSecrets(resource.type, xds.describe(resource)),
  }))
  return { resources: shown }
}

function knownGateway(context: Pick<QueryContext, 'xds'>, gateway: Locator): void {
  const known = context.xds.gateways().includes(gateway)
  notFound(known ? [] : [['gateway', gateway]], id => `nothing is published for ${id}`)
}
