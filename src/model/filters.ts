import type { HTTPHeader, HTTPHeaderFilter, HTTPPathModifier, HTTPRouteFilter } from '../kinds/index.js'
import type { Cors, HeaderChange, PathChange } from './types.js'
import type { Redirect } from './redirect.js'

/** The filters of a rule or of a backend, put together. */
export interface Filters {
  readonly requestHeaders?: HeaderChange
  readonly responseHeaders?: HeaderChange
  readonly cors?: Cors
  readonly redirect?: Redirect
  readonly rewrite?: { readonly hostname?: string; readonly path?: PathChange }
  /** Positions of the mirrors among the filters. */
  readonly mirrors: readonly {
    readonly position: number
    readonly numerator: number
    readonly denominator: number
  }[]
}

/** What the filters of a list come to. Ask `whyFiltersUnusable` first. */
export function filtersOf(filters: readonly HTTPRouteFilter[]): Filters {
  const request = findFilter(filters, 'RequestHeaderModifier')?.requestHeaderModifier
  const response = findFilter(filters, 'ResponseHeaderModifier')?.responseHeaderModifier
  const cors = findFilter(filters, 'CORS')?.cors
  const redirect = findFilter(filters, 'RequestRedirect')?.requestRedirect
  const rewrite = rewriteOf(filters)
  return {
    ...(request && hasChange(headerChange(request)) && { requestHeaders: headerChange(request) }),
    ...(response && hasChange(headerChange(response)) && { responseHeaders: headerChange(response) }),
    ...(cors && { cors: corsOf(cors) }),
    ...(redirect && { redirect: redirectOf(redirect) }),
    ...(rewrite && { rewrite }),
    mirrors: filters.flatMap((filter, position) => mirrorOf(filter, position)),
  }
}

/** The first filter of a type. */
export function findFilter(filters: readonly HTTPRouteFilter[], type: string): HTTPRouteFilter | undefined {
  return filters.find(filter => filter.type === type)
}

/** Proxies rewrite the Host header on its own; it is no ordinary header to them. */
export const isHost = ({ name }: { readonly name: string }) => name.toLowerCase() === 'host'

function headerChange(filter: HTTPHeaderFilter): HeaderChange {
  const remove = [...new Set((filter.remove ?? []).map(name => name.toLowerCase()))]
  return {
    set: firstOfEach((filter.set ?? []).filter(header => !isHost(header))),
    add: firstOfEach(filter.add ?? []),
    remove,
  }
}

function hasChange({ set, add, remove }: HeaderChange): boolean {
  return set.length + add.length + remove.length > 0
}

/** Of equivalent names the first counts (HTTPHeader.name). */
function firstOfEach(headers: readonly HTTPHeader[]): HTTPHeader[] {
  const byName = new Map<string, HTTPHeader>()
  for (const { name, value } of headers) {
    const folded = name.toLowerCase()
    if (!byName.has(folded)) byName.set(folded, { name: folded, value })
  }
  return [...byName.values()]
}

/** URLRewrite, and a Host header that is set: the same thing to a proxy. The filter made for it wins. */
function rewriteOf(filters: readonly HTTPRouteFilter[]): Filters['rewrite'] {
  const rewrite = findFilter(filters, 'URLRewrite')?.urlRewrite
  const hostname = rewrite?.hostname ?? hostHeader(filters)
  if (hostname === undefined && !rewrite?.path) return undefined
  return {
    ...(hostname !== undefined && { hostname }),
    ...(rewrite?.path && { path: pathChange(rewrite.path) }),
  }
}

function hostHeader(filters: readonly HTTPRouteFilter[]): string | undefined {
  return findFilter(filters, 'RequestHeaderModifier')?.requestHeaderModifier?.set?.find(isHost)?.value
}

function pathChange(modifier: HTTPPathModifier): PathChange {
  return modifier.type === 'ReplaceFullPath'
    ? { type: 'ReplaceFullPath', value: modifier.replaceFullPath ?? '' }
    : { type: 'ReplacePrefixMatch', value: modifier.replacePrefixMatch ?? '' }
}

function redirectOf(filter: NonNullable<HTTPRouteFilter['requestRedirect']>): Redirect {
  const { scheme, hostname, port, path, statusCode } = filter
  return {
    ...(scheme !== undefined && { scheme }),
    ...(hostname !== undefined && { hostname }),
    ...(port !== undefined && { port }),
    ...(path && { path: pathChange(path) }),
    statusCode: (statusCode ?? 302) as Redirect['statusCode'],
  }
}

function mirrorOf({ requestMirror }: HTTPRouteFilter, position: number): Filters['mirrors'] {
  if (!requestMirror) return []
  const { percent, fraction } = requestMirror
  const numerator = fraction?.numerator ?? percent ?? 100
  return numerator === 0 ? [] : [{ position, numerator, denominator: fraction?.denominator ?? 100 }]
}

function corsOf(cors: NonNullable<HTTPRouteFilter['cors']>): Cors {
  const { allowCredentials = false, exposeHeaders = [] } = cors
  return {
    allowOrigins: cors.allowOrigins ?? [],
    allowCredentials,
    allowMethods: cors.allowMethods ?? [],
    allowHeaders: cors.allowHeaders ?? [],
    // To a request with credentials `*` would be a header of that name (HTTPCORSFilter.exposeHeaders).
    exposeHeaders: exposeHeaders.filter(name => !(allowCredentials && name === '*')),
    maxAgeSeconds: cors.maxAge ?? 5,
  }
}
