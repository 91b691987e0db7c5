import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { Installation } from './installation.js'

export interface BlackHole {
  readonly address: string
  readonly close: () => void
}

/** The webhook's port of an address where everybody is let in and nobody is ever answered. */
export async function openBlackHole(installation: Installation, last: number): Promise<BlackHole> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    sockets.add(socket)
  })
  const address = await installation.address(last)
  server.listen(9443, address)
  await once(server, 'listening')
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { address, close }
}
