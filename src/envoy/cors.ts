import type { Cors } from '../model/index.js'
import type { Any, EnvoyTypeMatcherStringMatcher } from './types.gen.js'

/** The policy that switches the CORS filter on for a route. Preflights that no rule allows end here. */
export function corsPolicy(cors: Cors): Any {
  return {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy',
    allow_origin_string_match: cors.allowOrigins.map(originMatch),
    allow_methods: list(cors.allowMethods),
    allow_headers: list(cors.allowHeaders),
    expose_headers: list(cors.exposeHeaders),
    max_age: String(cors.maxAgeSeconds),
    allow_credentials: cors.allowCredentials,
    forward_not_matching_preflights: false,
  }
}

/**
 * `*` in an origin stands for one or more characters of its host name. Browsers leave the port out where it is the
 * scheme's own.
 */
function originMatch(given: string): EnvoyTypeMatcherStringMatcher {
  const origin = given.replace(/^(http:.*):80$|^(https:.*):443$/, '$1$2')
  if (!origin.includes('*')) return { exact: origin }
  if (origin === '*') return { safe_regex: { regex: '.*' } }
  const parts = origin.split('*').map(part => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return { safe_regex: { regex: parts.join('[^/:]+') } }
}

function list(names: readonly string[]): string | undefined {
  return names.length > 0 ? names.join(',') : undefined
}
