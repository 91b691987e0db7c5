import { createServer } from 'node:net'
import t from 'tap'
import { freePort, startBackend, type TestBackend } from '../support/backends.js'
import { ControlPlane } from '../support/control-plane.js'
import { startSlowDns } from '../support/dns.js'
import { eventually, Load, send } from '../support/load.js'
import { backend, gateway, gatewayClass, httpRoute, ManifestFolder } from '../support/manifests.js'

interface Stage {
  readonly folder: ManifestFolder
  readonly plane: ControlPlane
  readonly port: number
  readonly a: TestBackend
  readonly b: TestBackend
}

/** One Gateway, one route to backend a, and an Envoy that serves it. */
async function onStage(
  t: { teardown(undo: () => unknown): void },
  ...flags: readonly string[]
): Promise<Stage> {
  const [a, b, port, folder] = [
    await startBackend('a'),
    await startBackend('b'),
    await freePort(),
    new ManifestFolder(),
  ]
  folder.write('gateway.yaml', gatewayClass(), gateway({ name: 'http', port }))
  folder.write('backends.yaml', backend('a', a.port), backend('b', b.port))
  folder.write('route.yaml', routeTo('a'))
  const plane = await ControlPlane.start(folder.path, ...flags)
  t.teardown(async () => {
    await plane.stop()
    await a.close()
    await b.close()
    folder.remove()
  })
  await eventually(
    () => send({ port, host: 'r.test', path: '/' }),
    ({ body }) => body === 'a',
    30_000,
  )
  return { folder, plane, port, a, b }
}

const routeTo = (name: string) => httpRoute('r', ['r.test'], { prefix: '/', to: [{ name }] })

interface Report {
  readonly conditions: readonly {
    name: string
    part?: string
    type: string
    status: string
    reason: string
    message: string
  }[]
}

async function programmed(plane: ControlPlane, gatewayName = 'public') {
  const { conditions } = await plane.json<Report>(`/v1/status?kind=Gateway&name=${gatewayName}`)
  const found = conditions.find(({ part, type }) => part === undefined && type === 'Programmed')
  if (!found) throw new Error('the Gateway has no condition Programmed')
  return found
}

t.test('a route goes over to a backend whose name takes 2 s to resolve: no request is lost', async t => {
  const dns = await startSlowDns(2000)
  t.teardown(() => dns.close())
  const { folder, port, b } = await onStage(t, '--dns', dns.address)
  const load = new Load().start([
    { port, host: 'r.test', path: '/', wrong: (_, body) => (['a', 'b'].includes(body) ? undefined : body) },
  ])
  const before = Date.now()
  folder.write('slow.yaml', backend('slow', b.port, 'slow.backend.test'))
  folder.write('route.yaml', routeTo('slow'))
  await eventually(
    () => send({ port, host: 'r.test', path: '/' }),
    ({ body }) => body === 'b',
    15_000,
  )
  const took = Date.now() - before
  const report = await load.stop()
  t.comment(`${report.sent} requests; the route went over after ${took} ms`)
  t.ok(dns.asked() > 0, 'Envoy asked the slow server')
  t.ok(took >= 2000, 'not before the name was resolved')
  t.strictSame(report.failed, {}, 'no request failed')
  t.strictSame(report.misrouted, {})
})

t.test(
  'what an Envoy refuses is in the status in its own words, hurts nothing else and is not sent again until it changes',
  async t => {
    const { folder, plane, port } = await onStage(t)
    const taken = createServer()
    const other = await new Promise<number>(resolve => {
      taken.listen(0, '127.0.0.1', () => resolve((taken.address() as { port: number }).port))
    })
    const both = gateway({ name: 'http', port }, { name: 'more', port: other })
    folder.write('gateway.yaml', gatewayClass(), both)
    const refused = await eventually(
      () => programmed(plane),
      ({ status, reason }) => status === 'False' && reason === 'Invalid',
    )
    t.match(refused.message, /Address already in use|cannot bind/i, 'in the words of Envoy')
    t.equal((await send({ port, host: 'r.test', path: '/' })).body, 'a', 'the other listener serves')
    const refusals = async () => {
      const lines = (await plane.get('/metrics'))
        .split('\n')
        .filter(line => line.startsWith('gatewright_xds_nacks_total{'))
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
    }
    const count = await refusals()
    t.ok(count > 0, 'the refusal is counted')
    folder.write('route.yaml', routeTo('b'))
    await eventually(
      () => send({ port, host: 'r.test', path: '/' }),
      ({ body }) => body === 'b',
    )
    t.pass('routes still change')
    t.equal(await refusals(), count, 'nothing that was refused is sent again')
    await new Promise(resolve => taken.close(resolve))
    folder.write('gateway.yaml', gatewayClass(), gateway({ name: 'http', port }))
    await eventually(
      () => programmed(plane),
      ({ status }) => status === 'True',
    )
    folder.write('gateway.yaml', gatewayClass(), both)
    await eventually(
      () => send({ port: other, host: 'r.test', path: '/' }),
      ({ body }) => body === 'b',
    )
    t.equal((await programmed(plane)).status, 'True', 'and it heals')
  },
)

t.test('two Gateways do not share a port: the second is refused it, and the first goes on alone', async t => {
  const { folder, plane, port } = await onStage(t)
  const second = gateway({ name: 'http', port }) as { metadata: object }
  folder.write('second.yaml', { ...second, metadata: { name: 'second', namespace: 'shop' } })
  const refused = await eventually(
    () => programmed(plane, 'second'),
    ({ status, reason }) => status === 'False' && reason === 'Invalid',
  )
  t.match(refused.message, /Address already in use|cannot bind/i)
  t.equal((await programmed(plane)).status, 'True')
  for (let i = 0; i < 50; i++) t.equal((await send({ port, host: 'r.test', path: '/' })).body, 'a')
})
