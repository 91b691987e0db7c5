/** Asks one question after another on each of several connections that are kept open, as an API server does. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Load {
  /** `host:port`. */
  readonly address: string
  readonly path: string
  readonly connections: number
  /** Bodies, sent in turn. */
  readonly bodies: readonly string[]
  readonly count: number
  /** Throws on an answer that is not the one to expect. */
  readonly check: (body: string) => void
}

export interface Answered {
  /** ms from the question to its whole answer, for each. */
  readonly latencies: readonly number[]
  /** ms for all. */
  readonly took: number
}

/** Every request is made before the first is sent, and answers are checked now and then: the server is measured. */
export async function drive({ address, path, connections, bodies, count, check }: Load): Promise<Answered> {
  const requests = bodies.map(body =>
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: ${address}\r\naccept: application/json, */*\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  )
  const latencies: number[] = []
  let sent = 0
  const ask = async (socket: Socket) => {
    while (sent < count) {
      const number = sent++
      const start = performance.now()
      socket.write(requests[number % requests.length] as Buffer)
      const answer = await wholeAnswer(socket)
      latencies.push(performance.now() - start)
      if (number % 100 === 0) check(answer)
    }
  }
  const [host, port] = [address.slice(0, address.lastIndexOf(':')), Number(address.split(':').at(-1))]
  const sockets = Array.from({ length: connections }, () => connect({ host, port, noDelay: true }))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  const start = performance.now()
  try {
    await Promise.all(sockets.map(ask))
  } finally {
    for (const socket of sockets) socket.on('error', () => undefined).destroy()
  }
  return { latencies, took: performance.now() - start }
}

function wholeAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const take = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1]
      if (end < 0 || length === undefined || text.length < end + 4 + Number(length)) return
      socket.off('data', take).off('close', fail)
      resolve(text)
    }
    const fail = () => reject(new Error(`the connection was closed in the middle of an answer: ${text}`))
    socket.on('data', take).once('close', fail)
  })
}
