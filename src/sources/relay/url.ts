import type { Credentials } from './types.js'

/**
 * Where messages for a target are posted. A target is an http(s):// URL, which may have a path before ours, or `host:port`: by TLS
 * where the credentials are of TLS. Throws where it is neither.
 */
export function watchUrl(target: string, { caFile, certFile, serverName }: Credentials): URL {
  const isSecure = caFile !== undefined || certFile !== undefined || serverName !== undefined
  const text = target.includes('://') ? target : `${isSecure ? 'https' : 'http'}://${target}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new Error(`${target} is neither host:port nor an http(s):// URL`)
  return new URL(`${url.pathname.replace(/\/$/, '')}/webhooks/watch`, url.origin)
}
