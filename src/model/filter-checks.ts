import type { HTTPPathModifier, HTTPRouteFilter, HTTPRouteRule } from '../kinds/index.js'
import type { Reason } from '../topology/index.js'
import { findFilter, isHost } from './filters.js'

type Check = (filters: readonly HTTPRouteFilter[], rule: HTTPRouteRule) => Reason | undefined

const ruleChecks: readonly Check[] = [
  whyTypeUnknown,
  whyRepeated,
  whyIncompatible,
  whyPrefixUnmatched,
  whyPathModifierUnknown,
  whyRedirectUnknown,
  whyHeadersUnusable,
  whyTextsUnusable,
]

/** The reason why the filters of a rule cannot do what they say: its requests must then get an error, never pass. */
export function whyFiltersUnusable(rule: HTTPRouteRule): Reason | undefined {
  return firstReason(ruleChecks, rule.filters ?? [], rule)
}

/** The same for the filters of one backend: they may change headers and the host name only. */
export function whyBackendFiltersUnusable(
  filters: readonly HTTPRouteFilter[],
  rule: HTTPRouteRule,
): Reason | undefined {
  return firstReason([whyNotForBackends, ...ruleChecks], filters, rule)
}

function firstReason(
  checks: readonly Check[],
  filters: readonly HTTPRouteFilter[],
  rule: HTTPRouteRule,
): Reason | undefined {
  for (const check of checks) {
    const reason = check(filters, rule)
    if (reason) return reason
  }
  return undefined
}

const unsupported = (message: string): Reason => ({ reason: 'UnsupportedValue', message })
const incompatible = (message: string): Reason => ({ reason: 'IncompatibleFilters', message })

const repeatable = new Set(['RequestMirror'])
const supported = new Set([
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'RequestMirror',
  'RequestRedirect',
  'URLRewrite',
  'CORS',
])

function whyTypeUnknown(filters: readonly HTTPRouteFilter[]): Reason | undefined {
  const unknown = filters.find(({ type }) => !supported.has(type))
  if (!unknown) return undefined
  const { extensionRef } = unknown
  const which = extensionRef
    ? `ExtensionRef to ${extensionRef.kind}.${extensionRef.group} ${extensionRef.name}`
    : unknown.type
  return unsupported(`filter ${which} is not supported`)
}

function whyRepeated(filters: readonly HTTPRouteFilter[]): Reason | undefined {
  const types = filters.map(({ type }) => type)
  const repeated = types.find((type, i) => !repeatable.has(type) && types.indexOf(type) !== i)
  return repeated === undefined ? undefined : incompatible(`filter ${repeated} stands twice`)
}

function whyIncompatible(filters: readonly HTTPRouteFilter[], rule: HTTPRouteRule): Reason | undefined {
  if (!findFilter(filters, 'RequestRedirect')) return undefined
  if (findFilter(filters, 'URLRewrite'))
    return incompatible('RequestRedirect and URLRewrite exclude each other')
  return rule.backendRefs?.length ? incompatible('a rule that redirects has no backendRefs') : undefined
}

function pathModifiers(filters: readonly HTTPRouteFilter[]): HTTPPathModifier[] {
  return filters.flatMap(({ requestRedirect, urlRewrite }) =>
    [requestRedirect?.path, urlRewrite?.path].filter(path => path !== undefined),
  )
}

function whyPrefixUnmatched(filters: readonly HTTPRouteFilter[], rule: HTTPRouteRule): Reason | undefined {
  if (!pathModifiers(filters).some(({ type }) => type === 'ReplacePrefixMatch')) return undefined
  const onlyPrefixes = (rule.matches ?? []).every(({ path }) => (path?.type ?? 'PathPrefix') === 'PathPrefix')
  return onlyPrefixes ? undefined : unsupported('ReplacePrefixMatch needs a PathPrefix match')
}

function whyPathModifierUnknown(filters: readonly HTTPRouteFilter[]): Reason | undefined {
  const unknown = pathModifiers(filters).find(
    ({ type }) => !['ReplaceFullPath', 'ReplacePrefixMatch'].includes(type),
  )
  return unknown && unsupported(`path modifier ${unknown.type} is not supported`)
}

function whyRedirectUnknown(filters: readonly HTTPRouteFilter[]): Reason | undefined {
  const { scheme = 'http', statusCode = 302 } = findFilter(filters, 'RequestRedirect')?.requestRedirect ?? {}
  if (!['http', 'https'].includes(scheme)) return unsupported(`redirect scheme ${scheme} is not supported`)
  if (![301, 302, 303, 307, 308].includes(statusCode))
    return unsupported(`redirect status ${statusCode} is not supported`)
  return undefined
}

function whyHeadersUnusable(filters: readonly HTTPRouteFilter[]): Reason | undefined {
  for (const { requestHeaderModifier: request, responseHeaderModifier: response } of filters) {
    const names = [request, response].flatMap(change => [
      ...(change?.add ?? []).map(({ name }) => name),
      ...(change?.remove ?? []),
    ])
    const set = [...(request?.set ?? []), ...(response?.set ?? [])].map(({ name }) => name)
    const bad = [...names, ...set].find(name => !/^[!#$%&'*+.^_`|~0-9a-zA-Z-]+$/.test(name))
    if (bad !== undefined) return unsupported(`${bad} is no header name`)
    if ([...names, ...(response?.set ?? []).map(({ name }) => name)].some(name => isHost({ name }))) {
      return unsupported('the Host header can only be set, and only on requests')
    }
  }
  return undefined
}

/** Line ends and NUL in a header would make a proxy refuse everything it is sent beside it. */
function whyTextsUnusable(filters: readonly HTTPRouteFilter[]): Reason | undefined {
  const texts = filters.flatMap(
    ({ requestHeaderModifier, responseHeaderModifier, requestRedirect, urlRewrite }) => [
      ...[requestHeaderModifier, responseHeaderModifier].flatMap(change =>
        [...(change?.set ?? []), ...(change?.add ?? [])].map(({ value }) => value),
      ),
      ...[requestRedirect?.hostname, urlRewrite?.hostname].filter(text => text !== undefined),
    ],
  )
  const paths = pathModifiers(filters).map(path => path.replaceFullPath ?? path.replacePrefixMatch ?? '')
  const bad = [...texts, ...paths].some(text => /[\0\r\n]/.test(text))
  return bad ? unsupported('a value holds a line end or NUL') : undefined
}

const forBackends = new Set(['RequestHeaderModifier', 'ResponseHeaderModifier', 'URLRewrite'])

function whyNotForBackends(filters: readonly HTTPRouteFilter[]): Reason | undefined {
  const other = filters.find(({ type }) => supported.has(type) && !forBackends.has(type))
  if (other)
    return unsupported(`filter ${other.type} is not supported on a backendRef; use the rule's filters`)
  return findFilter(filters, 'URLRewrite')?.urlRewrite?.path
    ? unsupported('URLRewrite.path is not supported on a backendRef; use the filters of the rule')
    : undefined
}
