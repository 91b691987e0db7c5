import type { HeaderChange } from '../model/index.js'
import type { HeaderValueOption } from './types.gen.js'

/** Header changes of a route or of one of its clusters. */
interface HeaderMutations {
  readonly request_headers_to_add: readonly HeaderValueOption[]
  readonly request_headers_to_remove: readonly string[]
  readonly response_headers_to_add: readonly HeaderValueOption[]
  readonly response_headers_to_remove: readonly string[]
}

/** Changes of requests and responses. */
export interface HeaderChanges {
  readonly requestHeaders?: HeaderChange | undefined
  readonly responseHeaders?: HeaderChange | undefined
}

/** One change after the other, as one: what the second sets or removes, the first need not touch. */
export function followedBy(
  first: HeaderChange | undefined,
  second: HeaderChange | undefined,
): HeaderChange | undefined {
  if (!first || !second) return first ?? second
  const settled = new Set([...second.set.map(({ name }) => name), ...second.remove])
  const open = ({ name }: { readonly name: string }) => !settled.has(name)
  return {
    set: [...first.set.filter(open), ...second.set],
    add: [...first.add.filter(open), ...second.add],
    remove: [...new Set([...first.remove, ...second.remove])],
  }
}

const none: Partial<HeaderMutations> = {}

export function headerMutations(changes: HeaderChanges): Partial<HeaderMutations> {
  const { requestHeaders: request, responseHeaders: response } = changes
  if (!request && !response) return none
  return {
    request_headers_to_add: additions(request),
    request_headers_to_remove: request?.remove ?? [],
    response_headers_to_add: additions(response),
    response_headers_to_remove: response?.remove ?? [],
  }
}

function additions(change: HeaderChange | undefined): HeaderValueOption[] {
  if (!change) return []
  return [
    ...change.set.map(header => option(header, 'OVERWRITE_IF_EXISTS_OR_ADD')),
    ...change.add.map(header => option(header, 'APPEND_IF_EXISTS_OR_ADD')),
  ]
}

/** Envoy reads `%` as the begin of a command; a user's text has none. */
function option(
  { name, value }: { readonly name: string; readonly value: string },
  action: HeaderValueOption['append_action'],
): HeaderValueOption {
  return {
    header: { key: name, value: value.replaceAll('%', '%%') },
    append_action: action,
    keep_empty_value: value === '',
  }
}
