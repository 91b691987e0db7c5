import * as grpc from '@grpc/grpc-js'
import { connect } from 'node:tls'
import t from 'tap'
import { WebSocket } from 'ws'
import {
  echoMethod,
  freePort,
  startBackend,
  startGrpcEcho,
  startWebSocketEcho,
  type TestBackend,
} from '../support/backends.js'
import { ControlPlane } from '../support/control-plane.js'
import { eventually, Load, send, type Shot } from '../support/load.js'
import {
  backend,
  gateway,
  gatewayClass,
  httpRoute,
  keyPair,
  ManifestFolder,
  tlsSecret,
} from '../support/manifests.js'

/**
 * A real Envoy under load while its routes change. Every host has two rules: /a is answered by a1 or a2, /b by b1 or
 * b2, whatever the edits do; an answer from the other pair is a misrouted request.
 */
const hosts = ['h0.test', 'h1.test', 'h2.test', 'h3.test'] as const
const others = 1000
const seconds = 30

interface World {
  readonly folder: ManifestFolder
  readonly plane: ControlPlane
  readonly port: number
  readonly tlsPort: number
  readonly stop: () => Promise<void>
}

interface Shape {
  readonly a: string
  readonly b: string
  readonly swapped: boolean
  readonly header: number
}

function shaped(host: string, { a, b, swapped, header }: Shape): object {
  const filters = [
    {
      type: 'ResponseHeaderModifier',
      responseHeaderModifier: { set: [{ name: 'x-edit', value: String(header) }] },
    },
  ]
  const rules = [
    { prefix: '/a', to: [{ name: a }], filters },
    { prefix: '/b', to: [{ name: b }] },
  ]
  return httpRoute(host.split('.')[0] as string, [host], ...(swapped ? rules.reverse() : rules))
}

async function startWorld(): Promise<World> {
  const backends: TestBackend[] = []
  for (const name of ['a1', 'a2', 'b1', 'b2', 'other']) backends.push(await startBackend(name))
  const [webSocket, echo] = [await startWebSocketEcho(), await startGrpcEcho()]
  const [port, tlsPort] = [await freePort(), await freePort()]
  const folder = new ManifestFolder()
  folder.write(
    'gateway.yaml',
    gatewayClass(),
    gateway(
      { name: 'http', port },
      { name: 'https', port: tlsPort, hostname: 'secure.test', certificates: ['cert'] },
    ),
  )
  folder.write('cert.yaml', tlsSecret('cert', keyPair('secure.test')))
  folder.write(
    'backends.yaml',
    ...backends.map(each => backend(each.name, each.port)),
    backend('ws', webSocket.port),
    backend('grpc', echo.port, '127.0.0.1', 'h2c'),
  )
  folder.write('secure.yaml', httpRoute('secure', ['secure.test'], { prefix: '/', to: [{ name: 'a1' }] }))
  folder.write(
    'streams.yaml',
    httpRoute('ws', ['ws.test'], { prefix: '/', to: [{ name: 'ws' }] }),
    httpRoute('grpc', ['grpc.test'], { prefix: '/', to: [{ name: 'grpc' }] }),
  )
  for (const host of hosts)
    folder.write(`${host}.yaml`, shaped(host, { a: 'a1', b: 'b1', swapped: false, header: 0 }))
  folder.write(
    'others.yaml',
    ...Array.from({ length: others }, (_, i) =>
      httpRoute(`other-${i}`, [`o${i}.test`], { prefix: '/', to: [{ name: 'other' }] }),
    ),
  )
  const plane = await ControlPlane.start(folder.path)
  await eventually(
    () => send({ port, host: 'o999.test', path: '/' }),
    ({ status }) => status === 200,
    60_000,
  )
  const stop = async () => {
    await plane.stop()
    for (const each of [...backends, webSocket, echo]) await each.close()
    folder.remove()
  }
  return { folder, plane, port, tlsPort, stop }
}

const from =
  (...names: readonly string[]) =>
  (_status: number, body: string) =>
    names.includes(body) ? undefined : `answered by ${body}, not by ${names.join(' or ')}`

function shots({ port, tlsPort }: World): Shot[] {
  return [
    ...hosts.flatMap(host => [
      { port, host, path: '/a/x', wrong: from('a1', 'a2') },
      { port, host, path: '/b/x', wrong: from('b1', 'b2') },
    ]),
    { port: tlsPort, tls: true, host: 'secure.test', path: '/', wrong: from('a1') },
  ]
}

/** Responses that the control plane has sent to proxies since it was started. */
async function sent(plane: ControlPlane): Promise<number> {
  const lines = (await plane.get('/metrics'))
    .split('\n')
    .filter(line => line.startsWith('gatewright_xds_responses_total{'))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** The serial number of the certificate that a new connection is shown. */
function servedSerial(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: '127.0.0.1', port, servername: 'secure.test', rejectUnauthorized: false },
      () => {
        resolve(socket.getPeerCertificate().serialNumber)
        socket.end()
      },
    )
    socket.on('error', reject)
  })
}

t.test('a real Envoy under load', async t => {
  const world = await startWorld()
  t.after(() => world.stop())

  await t.test(
    `edits every 200 ms for ${seconds} s beside ${others} routes lose and misroute no request`,
    async t => {
      const { folder, plane, tlsPort } = world
      const shapes = new Map<string, Shape>(
        hosts.map(host => [host, { a: 'a1', b: 'b1', swapped: false, header: 0 }]),
      )
      const edits: ((shape: Shape) => Shape)[] = [
        shape => ({ ...shape, a: shape.a === 'a1' ? 'a2' : 'a1' }),
        shape => ({ ...shape, header: shape.header + 1 }),
        shape => ({ ...shape, swapped: !shape.swapped }),
        shape => ({ ...shape, b: shape.b === 'b1' ? 'b2' : 'b1' }),
      ]
      const before = await plane.envoyStats('^listener_manager')
      const firstSerial = await servedSerial(tlsPort)
      const load = new Load().start(shots(world))
      const end = Date.now() + seconds * 1000
      let edited = 0
      for (; Date.now() < end; edited++) {
        const host = hosts[edited % hosts.length] as string
        const edit = edits[Math.floor(edited / hosts.length) % edits.length] as (shape: Shape) => Shape
        const shape = edit(shapes.get(host) as Shape)
        shapes.set(host, shape)
        folder.write(`${host}.yaml`, shaped(host, shape))
        if (edited % 25 === 24) folder.write('cert.yaml', tlsSecret('cert', keyPair('secure.test')))
        await new Promise(resolve => setTimeout(resolve, 200))
      }
      for (const host of hosts) {
        const { a, b, header } = shapes.get(host) as Shape
        await eventually(
          () => send({ port: world.port, host, path: '/a/x' }),
          answer => answer.body === a && answer.headers['x-edit'] === String(header),
        )
        await eventually(
          () => send({ port: world.port, host, path: '/b/x' }),
          answer => answer.body === b,
        )
      }
      await eventually(
        () => servedSerial(tlsPort),
        serial => serial !== firstSerial,
      )
      const report = await load.stop()
      t.comment(`${edited} edits, ${report.sent} requests`)
      t.ok(report.sent > 1000, 'there was a load')
      t.strictSame(report.failed, {}, 'no request failed')
      t.strictSame(report.misrouted, {}, 'no request was misrouted')
      const after = await plane.envoyStats('^listener_manager')
      t.type(after['listener_manager.listener_modified'], 'number', 'Envoy counts it')
      t.equal(
        after['listener_manager.listener_modified'],
        before['listener_manager.listener_modified'],
        'no edit touched a listener',
      )
      t.equal(after['listener_manager.lds.update_rejected'], 0)
    },
  )

  await t.test('a WebSocket and a gRPC stream live through 100 edits of the routes', async t => {
    const { folder, port } = world
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host: 'ws.test' } })
    const answers: string[] = []
    socket.on('message', data => answers.push((data as Buffer).toString()))
    let socketClosed = false
    socket.on('close', () => (socketClosed = true))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
      'grpc.default_authority': 'grpc.test',
    })
    const stream = client.makeBidiStreamRequest(
      echoMethod.path,
      echoMethod.requestSerialize,
      echoMethod.responseDeserialize,
    )
    const echoed: string[] = []
    let streamError: unknown
    stream.on('data', (bytes: Buffer) => echoed.push(bytes.toString()))
    stream.on('error', error => (streamError = error))
    for (let edit = 0; edit < 100; edit++) {
      const name = edit % 2 === 0 ? 'ws' : 'grpc'
      const filters = [
        {
          type: 'RequestHeaderModifier',
          requestHeaderModifier: { set: [{ name: 'x-edit', value: String(edit) }] },
        },
      ]
      folder.write(
        'streams.yaml',
        httpRoute('ws', ['ws.test'], {
          prefix: '/',
          to: [{ name: 'ws' }],
          ...(name === 'ws' && { filters }),
        }),
        httpRoute('grpc', ['grpc.test'], {
          prefix: '/',
          to: [{ name: 'grpc' }],
          ...(name === 'grpc' && { filters }),
        }),
      )
      await new Promise(resolve => setTimeout(resolve, 60))
      socket.send(`ws ${edit}`)
      stream.write(Buffer.from(`grpc ${edit}`))
    }
    await eventually(
      () => [answers.length, echoed.length],
      ([a, b]) => a === 100 && b === 100,
    )
    t.equal(answers.at(-1), 'ws 99')
    t.equal(echoed.at(-1), 'grpc 99')
    t.notOk(socketClosed)
    t.equal(streamError, undefined)
    socket.terminate()
    stream.cancel()
    client.close()
  })

  await t.test(
    'the control plane is killed and started again: no request fails, and an unchanged proxy is sent nothing',
    async t => {
      const { plane, folder, port } = world
      const updates = () =>
        plane.envoyStats(
          '(lds|cds)\\.update_(success|attempt)$|rds\\..*update_success|warming|control_plane.connected_state',
        )
      const settled = await eventually(updates, stats => stats['control_plane.connected_state'] === 1)
      const envoyBefore = await plane.json<{ clients: { node: string }[] }>('/v1/xds/clients')
      t.equal(envoyBefore.clients.length, 1)
      const load = new Load().start(shots(world))
      await plane.kill()
      await eventually(updates, stats => stats['control_plane.connected_state'] === 0)
      await plane.restart()
      await eventually(updates, stats => stats['control_plane.connected_state'] === 1, 30_000)
      await new Promise(resolve => setTimeout(resolve, 2000))
      const after = await updates()
      const counters = Object.keys(settled).filter(name => name.endsWith('update_success'))
      t.ok(counters.length >= 4, 'clusters, listeners and both route tables are counted')
      for (const name of counters) t.equal(after[name], settled[name], `${name}: nothing was taken in`)
      t.equal(await sent(plane), 0, 'the new control plane sent nothing at all')
      folder.write('h0.test.yaml', shaped('h0.test', { a: 'a2', b: 'b2', swapped: false, header: 777 }))
      await eventually(
        () => send({ port, host: 'h0.test', path: '/a' }),
        answer => answer.headers['x-edit'] === '777',
      )
      t.ok((await sent(plane)) > 0, 'and then what the edit changed')
      const report = await load.stop()
      t.comment(`${report.sent} requests`)
      t.strictSame(report.failed, {}, 'no request failed')
      t.strictSame(report.misrouted, {}, 'no request was misrouted')
    },
  )
})
