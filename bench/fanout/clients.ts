/** Many xDS clients in one process of their own: they take what they are sent, acknowledge it, and count. */
import { Client, credentials } from '@grpc/grpc-js'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { encode, typeUrls } from '../../src/envoy/index.js'

export interface Order {
  readonly address: string
  readonly protocol: 'sotw' | 'delta'
  readonly streams: number
  readonly gateway: string
}

/** Told to the parent each time that every stream has one response more. */
export interface Count {
  readonly rounds: number
  /** Bytes that one stream was sent in the round. */
  readonly bytes: number
}

const discovery = 'envoy.service.discovery.v3'

/** `nonce` is field 5 and `version_info` 1 of both responses; the rest is skipped, as it is not what is measured. */
function read(bytes: Uint8Array): { nonce: string; version: string } {
  const reader = new BinaryReader(bytes)
  const found = { nonce: '', version: '' }
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag()
    if (field === 5) found.nonce = reader.string()
    else if (field === 1) found.version = reader.string()
    else if (wireType === WireType.LengthDelimited) {
      const length = reader.uint32()
      reader.pos += length
    } else reader.skip(wireType, field)
  }
  return found
}

function requestOf(
  { protocol, gateway }: Order,
  first: boolean,
  answer: ReturnType<typeof read>,
  n: number,
): Buffer {
  const node = first ? { node: { id: `proxy-${n}`, cluster: gateway } } : {}
  const common = { ...node, type_url: typeUrls.cluster, response_nonce: answer.nonce }
  const message =
    protocol === 'delta'
      ? encode(`${discovery}.DeltaDiscoveryRequest`, common)
      : encode(`${discovery}.DiscoveryRequest`, { ...common, version_info: answer.version })
  return Buffer.from(message)
}

function serve(order: Order): void {
  const verb = order.protocol === 'sotw' ? 'Stream' : 'Delta'
  const path = `/${discovery}.AggregatedDiscoveryService/${verb}AggregatedResources`
  const asIs = (bytes: Buffer) => bytes
  const counts = new Array<number>(order.streams).fill(0)
  let [rounds, done] = [0, 0]
  for (let n = 0; n < order.streams; n++) {
    // Real proxies have a connection each; a hundred streams share one here, to spare file descriptors.
    const options = { 'grpc.max_receive_message_length': -1, 'grpc.use_local_subchannel_pool': 1 }
    clients[n % 10] ??= new Client(order.address, credentials.createInsecure(), options)
    const stream = clients[n % 10]!.makeBidiStreamRequest(path, asIs, asIs)
    stream.on('error', () => undefined)
    stream.on('data', (bytes: Buffer) => {
      stream.write(requestOf(order, false, read(bytes), n))
      counts[n]!++
      if (counts[n] !== rounds + 1 || ++done < order.streams) return
      done = 0
      process.send?.({ rounds: ++rounds, bytes: bytes.length } satisfies Count)
    })
    stream.write(requestOf(order, true, { nonce: '', version: '' }, n))
  }
}

const clients: Client[] = []
process.on('message', (order: Order) => serve(order))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
