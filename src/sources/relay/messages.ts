import { randomUUID } from 'node:crypto'
import type { KindId, KubeObject } from '../../core/index.js'
import { locatorOf } from '../../core/index.js'
import type { KubeList, WatchEvent } from '../../kube/index.js'
import type { Hint } from '../hint.js'
import { pauses } from '../pauses.js'

/** One message as it goes over the wire. */
export interface Message {
  /** A later message of the same id says all that an earlier one did. */
  readonly id: string
  readonly kind: KindId
  readonly text: string
  readonly bytes: number
  /** Where it is a part of a SYNC. */
  readonly sync?: { readonly part: number; readonly of: number }
}

/** So much of JSON is one part of a SYNC, and one POST. */
export const mostBytes = 1 << 20

export type Change = Exclude<WatchEvent, { readonly type: 'BOOKMARK' }>

/** A fact: of an object of one uid the last one counts. */
export function factOf(kind: KindId, { type, object }: Change): Message {
  const { metadata } = object as KubeObject
  const text = JSON.stringify({ type, object: slim(object as KubeObject) })
  return messageOf(`${locatorOf(object as KubeObject)}/${metadata.uid ?? ''}`, kind, text)
}

const operations = { ADDED: 'CREATE', MODIFIED: 'UPDATE', DELETED: 'DELETE' } as const

/** What may be told of an object of which only metadata is known. */
export function hintOfChange(kind: KindId, { type, object, version }: Change): Message {
  const { metadata } = object as KubeObject
  const uid = metadata.uid === undefined ? {} : { uid: metadata.uid }
  return hintMessage({
    kind,
    key: locatorOf(object as KubeObject),
    ...uid,
    operation: operations[type],
    version,
  })
}

export function hintMessage(hint: Hint): Message {
  const { kind, key, uid, operation, version } = hint
  const text = JSON.stringify({ type: 'HINT', kind, key, uid, operation, version })
  return messageOf(`hint ${key ?? kind}/${uid ?? ''}`, kind, text)
}

/** A whole kind, in parts of about a MiB. Gives the event loop back between objects. */
export async function syncOf(kind: KindId, { items, version }: KubeList): Promise<readonly Message[]> {
  const rest = pauses()
  const parts: string[][] = [[]]
  let bytes = 0
  for (const item of items) {
    await rest()
    const text = JSON.stringify(slim(item as KubeObject))
    bytes += text.length
    if (bytes > mostBytes && parts.at(-1)?.length !== 0) {
      parts.push([])
      bytes = text.length
    }
    parts.at(-1)?.push(text)
  }
  const syncId = randomUUID()
  return parts.map((texts, index) => {
    const sync = { part: index + 1, of: parts.length }
    const head = JSON.stringify({ type: 'SYNC', syncId, scope: { kind }, version, ...sync })
    const text = `${head.slice(0, -1)},"items":[${texts.join()}]}`
    return { ...messageOf(`sync ${syncId}/${index}`, kind, text), sync }
  })
}

function messageOf(id: string, kind: KindId, text: string): Message {
  return { id, kind, text, bytes: Buffer.byteLength(text) }
}

/** Without what nobody reads: who manages which field is often half of an object. */
function slim(object: KubeObject): object {
  return { ...object, metadata: { ...object.metadata, managedFields: undefined } }
}
