import type { PathChange, RedirectAction } from './types.js'

/** A redirect as a rule asks for it, before it is known where the request came in. */
export interface Redirect {
  readonly scheme?: string
  readonly hostname?: string
  readonly port?: number
  readonly path?: PathChange
  readonly statusCode: RedirectAction['statusCode']
}

const wellKnown: Readonly<Record<string, number>> = { http: 80, https: 443 }

/**
 * The redirect of a request that came in on `port` (HTTPRequestRedirectFilter.port): the port asked for, else the
 * well-known one of the scheme asked for, else the listener's. A port that is well-known for the scheme is left
 * out, but for one case: without a new hostname, a Host header that carries the listener's unusual port would
 * keep it, so the port is spelled out there.
 */
export function redirectFrom(redirect: Redirect, port: number, scheme: 'http' | 'https'): RedirectAction {
  const { port: asked, ...rest } = redirect
  const target = asked ?? (redirect.scheme === undefined ? port : wellKnown[redirect.scheme]) ?? port
  const implied = target === wellKnown[redirect.scheme ?? scheme]
  const hostHasPort = redirect.hostname === undefined && port !== wellKnown[scheme]
  return { kind: 'redirect', ...rest, ...((!implied || hostHasPort) && { port: target }) }
}
