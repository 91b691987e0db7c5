/** Hostnames as listeners and routes have them: exact, or with a leading wildcard label; `*` stands for none. */

/** The hosts that two hostnames share, as one hostname; undefined when there are none (HTTPRouteSpec.hostnames). */
export function shared(a: string, b: string): string | undefined {
  if (a === b || covers(a, b)) return b
  return covers(b, a) ? a : undefined
}

/** Whether every host of `host` is one of the wildcard's. */
export function covers(wildcard: string, host: string): boolean {
  return wildcard === '*' || (wildcard.startsWith('*.') && host.endsWith(wildcard.slice(1)))
}

/** The hostnames that cover `host`: `*.b.com`, `*.com` and `*` for `a.b.com`. */
export function widerThan(host: string): readonly string[] {
  if (host === '*') return []
  const labels = host.split('.').slice(1)
  const wider = labels.map((_, position) => `*.${labels.slice(position).join('.')}`)
  return [...wider.filter(hostname => hostname !== host), '*']
}
