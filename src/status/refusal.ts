import type { ResourceType } from '../envoy/index.js'
import type { ClientState, TypeState } from '../xds/index.js'

/** The first refusal that stands, and how many proxies refuse something now. */
export interface Refusal {
  readonly type: ResourceType
  readonly node: string
  readonly resources: readonly string[]
  /** Envoy's own words. */
  readonly message: string
  readonly proxies: number
}

const order: readonly ResourceType[] = ['cluster', 'endpoint', 'secret', 'route', 'listener']

/** What the proxies refuse at this moment; a refusal that has healed is none. Independent of their order. */
export function refusalOf(proxies: readonly ClientState[]): Refusal | undefined {
  const refusing = proxies.flatMap(proxy => refusals(proxy).slice(0, 1))
  const first = refusing.sort(compareRefusals)[0]
  return first && { ...first, proxies: refusing.length }
}

/** One sentence for a condition: how many refuse what, and Envoy's text. At most 32,768 characters (meta/v1). */
export function refusalText(refusal: Refusal, connected: number): string {
  const who = connected === 1 ? 'the proxy refuses' : `${refusal.proxies} of ${connected} proxies refuse`
  const what = refusal.resources.length > 0 ? ` ${refusal.resources.join(', ')}` : ' resources'
  const text = withoutKeys(refusal.message)
  return `${who} ${refusal.type}${what}, what was there stays in use: ${text}`.slice(0, 32_768)
}

/** Envoy's text may quote what it was given: PEM blocks never leave. */
function withoutKeys(text: string): string {
  return text.replace(/-----BEGIN [^-]*-----[\s\S]*?(-----END [^-]*-----|$)/g, '[redacted]')
}

type Refused = Omit<Refusal, 'proxies'>

function refusals(proxy: ClientState): Refused[] {
  return order.flatMap(type => refusalIn(proxy, type, proxy.types[type]) ?? [])
}

function refusalIn(proxy: ClientState, type: ResourceType, state?: TypeState): Refused | undefined {
  if (state?.state !== 'refused' || !state.refusal) return undefined
  const { message, resources } = state.refusal
  return { type, node: proxy.node, resources: [...resources].sort(), message }
}

function compareRefusals(a: Refused, b: Refused): number {
  return (
    order.indexOf(a.type) - order.indexOf(b.type) ||
    compareText(a.node, b.node) ||
    compareText(a.message, b.message)
  )
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
