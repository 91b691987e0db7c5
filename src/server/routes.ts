import type { RouteOptions } from 'fastify'
import type { Handlers } from './handler.js'
import type { Operation, OperationObject, Parameter, Specification } from './specification.js'

/**
 * The routes of the operations, with validation and serialisation as openapi.yaml states them. Throws where an operation
 * has no handler or a handler no operation: a mistake of ours.
 *
 * @param timeoutMs - for an answer; reviews have a time of their own, and the framework's costs them a tenth of theirs
 */
export function routesOf(
  specification: Specification,
  served: ReadonlyMap<string, Operation>,
  handlers: Handlers,
  timeoutMs: number,
): readonly RouteOptions[] {
  const known = new Set(specification.operations.map(({ id }) => id))
  const idle = Object.keys(handlers).filter(id => !known.has(id))
  const unserved = [...served.keys()].filter(id => !(id in handlers))
  if (idle.length + unserved.length > 0)
    throw new Error(`openapi.yaml and the handlers differ: ${[...idle, ...unserved].join(', ')}`)
  const resolved = resolver(specification.document)
  return [...served.values()].map(operation => {
    const { id, method, path, bodyLimit } = operation
    const schema = schemaOf(resolved(operation.definition) as OperationObject)
    const limits = { bodyLimit, ...(id !== 'reviewAdmission' && { handlerTimeout: timeoutMs }) }
    const route = { method, url: path, schema, ...limits, config: { operation: id }, handler: handlers[id] }
    return route as unknown as RouteOptions
  })
}

function schemaOf({ parameters = [], requestBody, responses = {} }: OperationObject): object {
  const [query, headers] = [parametersIn('query', parameters), parametersIn('header', parameters)]
  const answers = Object.entries(responses).filter(([, { content }]) => content !== undefined)
  return {
    ...(query && { querystring: query }),
    ...(headers && { headers }),
    ...(requestBody && { body: { content: contentOf(requestBody.content) } }),
    response: Object.fromEntries(
      answers.map(([code, { content }]) => [code, { content: contentOf(content) }]),
    ),
  }
}

function parametersIn(where: Parameter['in'], all: readonly Parameter[]): object | undefined {
  const found = all.filter(parameter => parameter.in === where)
  if (found.length === 0) return undefined
  return {
    type: 'object',
    properties: Object.fromEntries(found.map(({ name, schema }) => [name, schema])),
    required: found.filter(({ required }) => required === true).map(({ name }) => name),
  }
}

function contentOf(content: Readonly<Record<string, { readonly schema?: object }>> = {}): object {
  const schemas = Object.entries(content).map(([type, { schema = {} }]) => [type, { schema }] as const)
  return Object.fromEntries(schemas)
}

/** Puts what a `$ref` names in its place; openapi.yaml has none that leads to itself. */
function resolver(document: object): (value: unknown) => unknown {
  const known = new Map<string, unknown>()
  const follow = (reference: string): unknown => {
    if (!known.has(reference)) {
      const steps = reference.replace(/^#\//, '').split('/')
      known.set(reference, resolve(steps.reduce<unknown>((at, step) => (at as Fields)[step], document)))
    }
    return known.get(reference)
  }
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (typeof value !== 'object' || value === null) return value
    const { $ref } = value as { readonly $ref?: unknown }
    if (typeof $ref === 'string') return follow($ref)
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, resolve(part)]))
  }
  return resolve
}

type Fields = Readonly<Record<string, unknown>>
