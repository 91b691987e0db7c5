import * as grpc from '@grpc/grpc-js'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'

/** A real HTTP/1.1 server on loopback that answers every request with its name. */
export interface TestBackend {
  readonly name: string
  readonly port: number
  /** Requests answered so far. */
  answered(): number
  close(): Promise<void>
}

export interface BackendOptions {
  /** Milliseconds before an answer. */
  readonly delay?: number
  /** Default 127.0.0.1. */
  readonly host?: string
}

/** Answers `name`, and as headers what it saw: `x-saw-path`, `x-saw-host`, `x-saw-headers` (JSON). */
export async function startBackend(
  name: string,
  { delay = 0, host }: BackendOptions = {},
): Promise<TestBackend> {
  let answered = 0
  const server = createServer((request, response) => {
    const answer = () => {
      answered++
      response.setHeader('x-saw-path', request.url ?? '')
      response.setHeader('x-saw-host', request.headers.host ?? '')
      response.setHeader('x-saw-headers', JSON.stringify(request.headers))
      response.end(name)
    }
    if (delay > 0) setTimeout(answer, delay)
    else answer()
  })
  server.keepAliveTimeout = 0
  const close = closer(server)
  return { name, port: await bind(server, host), answered: () => answered, close }
}

/** A WebSocket server that sends back what it is sent. */
export async function startWebSocketEcho(): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', socket => socket.on('message', data => socket.send(data as Buffer)))
  const close = closer(server)
  return {
    port: await bind(server),
    async close() {
      for (const socket of sockets.clients) socket.terminate()
      await close()
    },
  }
}

const raw = (bytes: Buffer) => bytes

/** The method of the gRPC echo: a stream of bytes each way. */
export const echoMethod = {
  path: '/test.Echo/Stream',
  requestStream: true,
  responseStream: true,
  requestSerialize: raw,
  requestDeserialize: raw,
  responseSerialize: raw,
  responseDeserialize: raw,
} as const

/** A gRPC server whose bidirectional stream sends back what it is sent. */
export async function startGrpcEcho(): Promise<{ port: number; close(): Promise<void> }> {
  const server = new grpc.Server()
  server.addService(
    { stream: echoMethod },
    {
      stream(call: grpc.ServerDuplexStream<Buffer, Buffer>) {
        call.on('data', (bytes: Buffer) => call.write(bytes))
        call.on('end', () => call.end())
        call.on('error', () => undefined)
      },
    },
  )
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  return {
    port,
    close: () => {
      server.forceShutdown()
      return Promise.resolve()
    },
  }
}

async function bind(server: Server, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  return (server.address() as AddressInfo).port
}

function closer(server: Server): () => Promise<void> {
  const open = new Set<Socket>()
  server.on('connection', socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  return () =>
    new Promise(resolve => {
      server.close(() => resolve())
      for (const socket of open) socket.destroy()
    })
}

/** A loopback port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await bind(server)
  await new Promise(resolve => server.close(resolve))
  return port
}
