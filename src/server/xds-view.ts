import type { ResourceType } from '../envoy/index.js'
import type { ClientState, TypeState } from '../xds/index.js'

/** A proxy as `/v1/xds/clients` shows it: times in RFC 3339, `subscribed` always a text. */
export function clientView(client: ClientState): object {
  const types = Object.entries(client.types).map(([type, state]) => [type, typeView(state)] as const)
  return {
    ...client,
    connectedAt: new Date(client.connectedAt).toISOString(),
    types: Object.fromEntries(types),
  }
}

function typeView(state: TypeState): object {
  const { refusal } = state
  return {
    ...state,
    subscribed: String(state.subscribed),
    ...(refusal && { refusal: { ...refusal, at: new Date(refusal.at).toISOString() } }),
  }
}

const inline = new Set(['inlineBytes', 'inline_bytes', 'inlineString', 'inline_string'])
const open = new Set(['certificateChain', 'certificate_chain', 'trustedCa', 'trusted_ca', 'crl'])

/**
 * A second lock on Envoy secrets, whoever decoded them: an inline DataSource is redacted unless it is one of the
 * public parts (certificate chains, authorities, revocation lists).
 */
export function withoutSecrets(type: ResourceType, resource: unknown): unknown {
  return type === 'secret' ? redacted(resource) : resource
}

function redacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redacted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      if (open.has(name)) return [name, part as unknown]
      return [name, inline.has(name) ? '[redacted]' : redacted(part)]
    }),
  )
}
