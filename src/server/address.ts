import { isIPv4, isIPv6 } from 'node:net'
import type { AddressInfo } from 'node:net'
import { Fault } from '../core/index.js'

export interface HostPort {
  /** Without brackets. */
  readonly host: string
  readonly port: number
}

/** Reads `host:port`, `[::1]:port` or `:port` (all addresses). Throws ADDRESS_UNAVAILABLE on anything else. */
export function parseAddress(text: string): HostPort {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  if (!match || port > 65_535) throw new Fault('ADDRESS_UNAVAILABLE', `${text} is no host:port`)
  return { host: match[1] ?? (match[2] === '' || match[2] === undefined ? '::' : match[2]), port }
}

export function addressText({ host, port }: HostPort): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/** 127.0.0.0/8, ::1, or the name for them. */
export function isLoopback(host: string): boolean {
  const plain = host.toLowerCase().replace(/^::ffff:(?=\d)/, '')
  return plain === 'localhost' || plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'))
}

/** Where a listening socket is bound (`null` or a text = no TCP socket). */
export function boundAt(address: AddressInfo | string | null): HostPort | undefined {
  return address === null || typeof address === 'string'
    ? undefined
    : { host: address.address, port: address.port }
}

/** The failure of a listen as the fault to report. */
export function listenFault(address: string, cause: unknown): Error {
  const code = (cause as { code?: string }).code ?? ''
  if (code === 'EADDRINUSE') return new Fault('ADDRESS_IN_USE', address, { cause })
  if (['EADDRNOTAVAIL', 'EACCES', 'ENOTFOUND', 'EAI_AGAIN', 'EAFNOSUPPORT'].includes(code))
    return new Fault('ADDRESS_UNAVAILABLE', address, { cause })
  return cause as Error
}
