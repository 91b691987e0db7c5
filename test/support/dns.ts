import { createSocket } from 'node:dgram'

/** A DNS server on loopback that answers every A question with 127.0.0.1, after `delayMs`. */
export interface SlowDns {
  readonly address: string
  delayMs: number
  /** Questions so far. */
  asked(): number
  close(): Promise<void>
}

const header = 12
const typeA = 1

export async function startSlowDns(delayMs: number): Promise<SlowDns> {
  const socket = createSocket('udp4')
  let asked = 0
  const server: SlowDns = {
    address: '',
    delayMs,
    asked: () => asked,
    close: () => new Promise(resolve => socket.close(() => resolve())),
  }
  socket.on('message', (question, from) => {
    asked++
    setTimeout(() => {
      socket.send(answerOf(question), from.port, from.address, () => undefined)
    }, server.delayMs).unref()
  })
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  return Object.assign(server, { address: `127.0.0.1:${socket.address().port}` })
}

/** RFC 1035: the question again, and for an A question one record that points to its name. */
function answerOf(message: Buffer): Buffer {
  let end = header
  while (message[end] !== 0) end += (message[end] ?? 0) + 1
  const question = message.subarray(header, end + 5)
  const isA = message.readUInt16BE(end + 1) === typeA
  const head = Buffer.from(message.subarray(0, header))
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(isA ? 1 : 0, 6)
  head.writeUInt32BE(0, 8)
  const record = Buffer.from([0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])
  return Buffer.concat([head, question, ...(isA ? [record] : [])])
}
