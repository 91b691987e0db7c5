import { isVersion } from '../../store/index.js'
import type { Hint } from '../hint.js'
import type { Fields } from '../message.js'
import { textOf } from '../message.js'

/** Reads a HINT, `{kind, key?, uid?, operation?, version?}`, or says why it is none. */
export function hintOf(fields: Fields): Hint | { readonly message: string } {
  const kind = textOf(fields, 'kind')?.toLowerCase()
  if (kind === undefined) return { message: 'a HINT needs a kind' }
  const [key, uid] = [textOf(fields, 'key'), textOf(fields, 'uid')]
  if (key !== undefined && !isKey(key, kind)) return { message: `key must be ${kind}:[namespace/]name` }
  const [operation, version] = [textOf(fields, 'operation'), textOf(fields, 'version')]
  if (version !== undefined && !isVersion(version)) return { message: 'version must be a decimal number' }
  return {
    kind,
    ...(key !== undefined && { key }),
    ...(uid !== undefined && { uid }),
    ...(operation !== undefined && { operation }),
    ...(version !== undefined && { version }),
  }
}

function isKey(key: string, kind: string): boolean {
  return key.startsWith(`${kind}:`) && /^([^/#]+\/)?[^/#]+$/.test(key.slice(kind.length + 1))
}
