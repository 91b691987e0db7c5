import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** What openapi.yaml says of one operation beyond its schemas. */
export interface Operation {
  /** `operationId`. */
  readonly id: string
  /** Upper case. */
  readonly method: string
  readonly path: string
  readonly tags: readonly string[]
  /** `security: []`: nobody is asked who they are. */
  readonly open: boolean
  /** Media types of its request body; none = it takes no body. */
  readonly bodyTypes: readonly string[]
  /** Bytes. */
  readonly bodyLimit: number
}

export interface Specification {
  /** The file, byte for byte. */
  readonly text: string
  readonly document: object
  readonly operations: readonly Operation[]
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
}

interface OperationObject {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly security?: readonly object[]
  readonly requestBody?: { readonly content: Readonly<Record<string, object>> }
  readonly 'x-gatewright-body-limit'?: number
}

/** The part of the API that a server serves. */
export interface Part {
  /** Only operations with one of these tags. */
  readonly tags?: readonly Tag[]
  /** Not these, by `operationId`. */
  readonly without?: readonly string[]
  /** For whoever asks for another one, for example `the role of this process is webhook`. */
  readonly why: string
}

export type Tag = 'queries' | 'xds' | 'webhooks' | 'operations'

export function isServed({ id, tags }: Operation, part: Part | undefined): boolean {
  if (part?.without?.includes(id)) return false
  return part?.tags === undefined || tags.some(tag => part.tags?.some(each => each === tag))
}

/** The document with these operations alone: what routes are made of. */
export function documentOf({ document }: Specification, served: ReadonlyMap<string, Operation>): object {
  const { paths } = document as Document
  const entries = Object.entries(paths).map(
    ([path, methods]) =>
      [
        path,
        Object.fromEntries(Object.entries(methods).filter(([, each]) => served.has(each.operationId))),
      ] as const,
  )
  return { ...document, paths: Object.fromEntries(entries) }
}

/** Reads the openapi.yaml of this package: the source of routes, validation and serialisation. */
export function readSpecification(): Specification {
  const text = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8')
  const document = parse(text) as Document
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(path, method, operation)),
  )
  return { text, document, operations }
}

function operationOf(path: string, method: string, operation: OperationObject): Operation {
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    tags: operation.tags ?? [],
    open: operation.security?.length === 0,
    bodyTypes: Object.keys(operation.requestBody?.content ?? {}),
    bodyLimit: operation['x-gatewright-body-limit'] ?? 65_536,
  }
}
