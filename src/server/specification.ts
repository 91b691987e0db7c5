import { existsSync, readFileSync } from 'node:fs'
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
  readonly definition: OperationObject
}

export interface Specification {
  /** The file, byte for byte. */
  text(): string
  readonly document: object
  readonly operations: readonly Operation[]
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
}

/** An operation as it stands in the document (OpenAPI 3.1), as far as it is read. */
export interface OperationObject {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly security?: readonly object[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses?: Readonly<Record<string, { readonly content?: Content }>>
  readonly 'x-gatewright-body-limit'?: number
}

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'header'
  readonly required?: boolean
  readonly schema: object
}

type Content = Readonly<Record<string, { readonly schema?: object }>>

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

/** The openapi.yaml of this package: the source of routes, validation and serialisation. */
const source = new URL('../../openapi.yaml', import.meta.url)
/** The same as JSON, which a build leaves here: YAML takes a fifth of a second to parse. */
const built = new URL('./openapi.json', import.meta.url)

let known: Specification | undefined

/** Read at the first call: a process may have several servers. */
export function readSpecification(): Specification {
  return (known ??= read())
}

function read(): Specification {
  const document = (
    existsSync(built) ? JSON.parse(readFileSync(built, 'utf8')) : parse(readFileSync(source, 'utf8'))
  ) as Document
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(path, method, operation)),
  )
  return { text: () => readFileSync(source, 'utf8'), document, operations }
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
    definition: operation,
  }
}
