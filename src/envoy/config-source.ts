import type { Address, ConfigSource } from './types.gen.js'

/** From the stream that everything else comes on. */
export const ads: ConfigSource = { ads: {}, resource_api_version: 'V3' }

/** The same, and waited for without end: a listener serves only once its routes and certificates are there. */
export const adsAwaited: ConfigSource = { ...ads, initial_fetch_timeout: '0s' }

export function socketAddress(address: string, port: number): Address {
  return { socket_address: { address, port_value: port } }
}
