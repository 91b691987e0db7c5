import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** What openapi.yaml says of one operation beyond its schemas. */
export interface Operation {
  /** `operationId`. */
  readonly id: string
  /** Upper case. */
  readonly method: string
  readonly path: string
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
  readonly security?: readonly object[]
  readonly requestBody?: { readonly content: Readonly<Record<string, object>> }
  readonly 'x-gatewright-body-limit'?: number
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
    open: operation.security?.length === 0,
    bodyTypes: Object.keys(operation.requestBody?.content ?? {}),
    bodyLimit: operation['x-gatewright-body-limit'] ?? 65_536,
  }
}
