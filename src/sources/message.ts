/** What arrives by HTTP is looked at before it is believed to have a shape. */
export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** What a message comes to: a watch event with an object or without, or why it is none. */
export type Message =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Fields }
  | { readonly type: 'BOOKMARK' }
  | { readonly type: 'HINT' | 'SYNC'; readonly fields: Fields }
  | { readonly type: 'REFERENCE'; readonly operation: string; readonly object: Fields }
  | { readonly type: 'malformed'; readonly message: string }

/**
 * Reads one message: a watch event, a HINT, a SYNC, or a CloudEvent 1.0 in structured form as a Knative
 * ApiServerSource sends it.
 */
export function readMessage(value: unknown): Message {
  if (!isFields(value)) return malformed('a message is an object')
  return 'specversion' in value ? readCloudEvent(value) : readWatchEvent(value)
}

function readWatchEvent(value: Fields): Message {
  const { type, object } = value
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return isFields(object) ? { type, object } : malformed(`${type} needs an object`)
    case 'BOOKMARK':
      return { type }
    case 'HINT':
    case 'SYNC':
      return { type, fields: value }
    case 'ERROR': {
      const why = isFields(object) ? textOf(object, 'message') : undefined
      return malformed(
        `the watch ended with an error: ${why ?? 'no reason given'}; list again and send a SYNC`,
      )
    }
    default:
      return malformed('type must be ADDED, MODIFIED, DELETED, BOOKMARK, HINT or SYNC')
  }
}

const resource = 'dev.knative.apiserver.resource.'
const reference = 'dev.knative.apiserver.ref.'
const cloudTypes = { add: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const
const operations = { add: 'CREATE', update: 'UPDATE', delete: 'DELETE' } as const

function readCloudEvent({ specversion, type, data }: Fields): Message {
  if (specversion !== '1.0') return malformed('specversion must be 1.0')
  if (typeof type !== 'string') return malformed('a CloudEvent needs a type')
  if (type.startsWith(reference)) return readReference(type, data)
  const operation = type.slice(resource.length)
  if (!type.startsWith(resource) || !(operation in cloudTypes)) {
    return malformed(`the CloudEvent type must be ${resource}add, update or delete`)
  }
  return readWatchEvent({ type: cloudTypes[operation as keyof typeof cloudTypes], object: data })
}

/** In mode Reference the data is an ObjectReference: it says which object changed, and nothing of it. */
function readReference(type: string, data: unknown): Message {
  const operation = type.slice(reference.length)
  if (!(operation in operations))
    return malformed(`the CloudEvent type must be ${reference}add, update or delete`)
  if (!isFields(data)) return malformed(`${type} needs data`)
  const { name, namespace, ...rest } = data
  const object = { ...rest, metadata: { name, namespace } }
  return { type: 'REFERENCE', operation: operations[operation as keyof typeof operations], object }
}

function malformed(message: string): Message {
  return { type: 'malformed', message }
}
