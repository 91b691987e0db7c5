import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Clock } from '../../core/index.js'

/** The addresses of a host. */
export type Resolve = (host: string) => Promise<readonly string[]>

export async function resolveByDns(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}

/** One receiver. */
export interface Destination {
  /** For messages and metrics. */
  readonly name: string
  /** Another one where what answers there is another one. */
  readonly id: string
  /** What is called; its host is the name to ask for and to expect in a certificate. */
  readonly url: URL
  /** What to connect to, where it is one of several. */
  readonly address?: string
}

/** In ms: how often names are looked up again, ± 20 %. */
const period = 5_000

export interface Following {
  readonly url: URL
  readonly resolve: Resolve
  readonly clock: Clock
  /** Told of all destinations, at first and whenever they are others. */
  readonly onChange: (destinations: readonly Destination[]) => void
  /** Told of every look-up: why it failed, or nothing. */
  readonly onLookup: (why: string | undefined) => void
}

/** Follows the addresses behind a URL. Those known stay while the name cannot be looked up. Returns its undo. */
export function followAddresses({ url, resolve, clock, onChange, onLookup }: Following): () => void {
  const host = hostOf(url)
  if (isIP(host) !== 0) {
    onChange(destinationsOf(url, [host]))
    return () => undefined
  }
  let stopped = false
  let known = ''
  let undo = (): void => undefined
  const look = async () => {
    const found = await resolve(host).catch((error: unknown) => whyOf(error))
    if (stopped) return
    const why = typeof found === 'string' ? found : found.length === 0 ? 'it has no address' : undefined
    onLookup(why === undefined ? undefined : `${host} cannot be looked up (${why})`)
    const destinations = typeof found === 'string' ? [] : destinationsOf(url, found)
    const ids = destinations.map(({ id }) => id).join()
    if (destinations.length > 0 && ids !== known) {
      known = ids
      onChange(destinations)
    }
    undo = clock.after(period * (0.8 + 0.4 * Math.random()), () => void look())
  }
  void look()
  return () => {
    stopped = true
    undo()
  }
}

/**
 * A host of one IPv4 and one IPv6 address is one receiver and called by its name. Of any other host, each address of one
 * family is one: receivers that have both must not be told everything twice.
 */
function destinationsOf(url: URL, addresses: readonly string[]): readonly Destination[] {
  const families = [4, 6].map(family => [...new Set(addresses.filter(each => isIP(each) === family))].sort())
  const [four = [], six = []] = families
  if (four.length === 1 && six.length === 1) {
    return [{ name: url.host, id: `${url.host}/${[...four, ...six].join('+')}`, url }]
  }
  const several = four.length >= six.length ? four : six
  return several.map(address => {
    const name = `${address.includes(':') ? `[${address}]` : address}:${portOf(url)}`
    return { name, id: `${url.host}/${address}`, url, address }
  })
}

/** Without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function portOf({ port, protocol }: URL): string {
  return port !== '' ? port : protocol === 'https:' ? '443' : '80'
}

function whyOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string }
  return code ?? message ?? 'no reason given'
}
