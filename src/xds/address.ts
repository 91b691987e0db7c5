import type { Server, ServerCredentials } from '@grpc/grpc-js'
import { Fault } from '../core/index.js'

/** The host of `host:port`, without the brackets of an IPv6 address. */
function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1')
}

export function isLoopback(address: string): boolean {
  return /^(?:127(?:\.\d+){3}|::1|localhost)$/.test(hostOf(address))
}

/** Binds and answers the address bound. Throws the faults ADDRESS_IN_USE and ADDRESS_UNAVAILABLE. */
export function bind(server: Server, address: string, credentials: ServerCredentials): Promise<string> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) {
        resolve(`${address.slice(0, address.lastIndexOf(':'))}:${port}`)
        return
      }
      const code = error.message.includes('EADDRINUSE') ? 'ADDRESS_IN_USE' : 'ADDRESS_UNAVAILABLE'
      reject(new Fault(code, `xDS cannot listen on ${address}`, { cause: error }))
    })
  })
}
