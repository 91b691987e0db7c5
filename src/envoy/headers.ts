import type { HeaderChange } from '../model/index.js'
import type { HeaderValueOption } from './types.gen.js'

/** Header changes of a route or of one of its clusters. */
export interface HeaderMutations {
  readonly request_headers_to_add: readonly HeaderValueOption[]
  readonly request_headers_to_remove: readonly string[]
  readonly response_headers_to_add: readonly HeaderValueOption[]
  readonly response_headers_to_remove: readonly string[]
}

export function headerMutations(changes: {
  readonly requestHeaders?: HeaderChange
  readonly responseHeaders?: HeaderChange
}): HeaderMutations {
  const { requestHeaders: request, responseHeaders: response } = changes
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
