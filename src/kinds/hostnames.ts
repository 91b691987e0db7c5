/** Hostnames of listeners and routes: lower case, exact or with a leading wildcard label; `*` is every host. */

/** Whether every host of `host` is one of `pattern`'s, `pattern` being wider: `*.a.com` covers `x.y.a.com` and `*.b.a.com`. */
export function covers(pattern: string, host: string): boolean {
  if (pattern === host) return false
  if (pattern === '*') return true
  return pattern.startsWith('*.') && host.endsWith(pattern.slice(1))
}

/** The hosts that `a` and `b` share, as one hostname; `undefined` when they share none. */
export function intersect(a: string, b: string): string | undefined {
  if (a === b || covers(a, b)) return b
  return covers(b, a) ? a : undefined
}

/**
 * Where a route's hostnames meet a listener's, in order of text (HTTPRouteSpec.hostnames). A listener without a
 * hostname takes every host; a route without hostnames takes the listener's.
 */
export function meetingHostnames(
  listener: string | undefined,
  route: readonly string[] | undefined,
): string[] {
  const own = listener ?? '*'
  if (!route || route.length === 0) return [own]
  const met = route.map(hostname => intersect(own, hostname.toLowerCase()))
  return [...new Set(met)].filter(hostname => hostname !== undefined).sort()
}

/**
 * The most specific of `patterns` that takes `host`: the same text, else the longest wildcard, else `*`
 * (GatewaySpec.listeners, "distinct only by hostname").
 */
export function mostSpecific(patterns: readonly string[], host: string): string | undefined {
  if (patterns.includes(host)) return host
  let best: string | undefined
  for (const pattern of patterns) {
    if (covers(pattern, host) && pattern.length > (best?.length ?? 0)) best = pattern
  }
  return best
}

/** The wider hostnames of `host`, most specific first: `*.b.com`, `*.com`, `*` for `a.b.com`. */
export function widerHostnames(host: string): string[] {
  if (host === '*') return []
  const labels = host.split('.').slice(1)
  const wider = labels.map((_, position) => `*.${labels.slice(position).join('.')}`)
  return [...wider.filter(hostname => hostname !== host), '*']
}
