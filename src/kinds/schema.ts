import { readFileSync } from 'node:fs'

/** One rule of `x-kubernetes-validations` (apiextensions/v1 ValidationRule). */
export interface Rule {
  readonly rule: string
  readonly message?: string
  /** A CEL expression that gives the message. */
  readonly messageExpression?: string
  /** Where the problem is, from the node of the rule: `.ports`. */
  readonly fieldPath?: string
}

/** A structural schema as a CustomResourceDefinition holds it, as far as the kinds here use the format. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly default?: unknown
  readonly nullable?: boolean
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-validations'?: readonly Rule[]
}

const text: Schema = { type: 'string' }
const time: Schema = { type: 'string', format: 'date-time', nullable: true }
const texts: Schema = { type: 'object', additionalProperties: text }
const loose: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const looseList: Schema = { type: 'array', items: loose }

/** What every object has beside its own fields (meta/v1 TypeMeta and ObjectMeta). */
const envelope: Readonly<Record<string, Schema>> = {
  apiVersion: text,
  kind: text,
  metadata: {
    type: 'object',
    properties: {
      name: text,
      generateName: text,
      namespace: text,
      labels: texts,
      annotations: texts,
      finalizers: { type: 'array', items: text },
      ownerReferences: looseList,
      uid: text,
      resourceVersion: text,
      generation: { type: 'integer' },
      creationTimestamp: time,
      deletionTimestamp: time,
      deletionGracePeriodSeconds: { type: 'integer' },
      selfLink: text,
      managedFields: looseList,
    },
  },
}

/** A kind's own fields joined with those that every object has. */
export function withEnvelope(own: Schema): Schema {
  return { ...own, type: 'object', properties: { ...envelope, ...own.properties } }
}

interface GeneratedKind {
  readonly versions: Readonly<Record<string, Schema | string>>
}

/**
 * The schema of a generated kind, read on the first call. Versions with equal schemas get one and the same object.
 * Throws when the file is missing or has no such version: the build is broken.
 */
export function generatedSchemas(kind: string): (version: string) => Schema {
  let byVersion: Map<string, Schema> | undefined
  return version => {
    byVersion ??= readVersions(kind)
    const schema = byVersion.get(version)
    if (!schema) throw new Error(`no schema of ${kind} ${version}`)
    return schema
  }
}

function readVersions(kind: string): Map<string, Schema> {
  const file = new URL(`./schemas/${kind.toLowerCase()}.gen.json`, import.meta.url)
  const { versions } = JSON.parse(readFileSync(file, 'utf8')) as GeneratedKind
  const found = new Map<string, Schema>()
  for (const [version, schema] of Object.entries(versions)) {
    const same = typeof schema === 'string' ? found.get(schema) : withEnvelope(schema)
    if (same) found.set(version, same)
  }
  return found
}
