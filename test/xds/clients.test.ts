/** Clients that nobody here wrote: Envoy over every protocol and service, and grpc-js's own xDS client. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as ask } from 'node:http'
import { request as askTls } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import * as grpc from '@grpc/grpc-js'
import { createMetrics } from '../../src/core/index.js'
import type { Resource, ResourceType } from '../../src/envoy/index.js'
import { findEnvoy } from '../../src/provision/index.js'
import { createXds } from '../../src/xds/index.js'
import type { TypeState, XdsOptions, XdsServer } from '../../src/xds/index.js'
import { echoMethod, freePort, startBackend, startGrpcEcho } from '../support/backends.js'
import { selfSigned } from '../support/certificates.js'
import type { Protocol } from '../support/xds-client.js'
import { aPublication, aResource } from '../support/xds-resources.js'

const gateway = 'gateway.gateway.networking.k8s.io:shop/public'
const types: readonly ResourceType[] = ['cluster', 'endpoint', 'listener', 'route', 'secret']

interface Variant {
  readonly protocol: Protocol
  readonly separate: boolean
}

/** Where a resource names another's source, Envoy is told how to reach it. */
function sourceOf({ protocol, separate }: Variant): object {
  if (!separate) return { ads: {}, resource_api_version: 'V3' }
  return { resource_api_version: 'V3', api_config_source: grpcSource(protocol) }
}

const grpcSource = (protocol: Protocol) => ({
  api_type: protocol === 'delta' ? 'DELTA_GRPC' : 'GRPC',
  transport_api_version: 'V3',
  set_node_on_first_message_only: true,
  grpc_services: [{ envoy_grpc: { cluster_name: 'xds' } }],
})

const socket = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } })

function bootstrapOf(variant: Variant, xdsPort: number): object {
  const http2 = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'
  const source = sourceOf(variant)
  return {
    node: { id: 'an-envoy', cluster: gateway },
    admin: { address: socket(0) },
    dynamic_resources: {
      ...(variant.separate ? {} : { ads_config: grpcSource(variant.protocol) }),
      cds_config: source,
      lds_config: source,
    },
    static_resources: {
      clusters: [
        {
          name: 'xds',
          type: 'STATIC',
          load_assignment: {
            cluster_name: 'xds',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: socket(xdsPort) } }] }],
          },
          typed_extension_protocol_options: {
            [http2]: {
              '@type': `type.googleapis.com/${http2}`,
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
        },
      ],
    },
  }
}

const router = {
  name: 'envoy.filters.http.router',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
}

/** What one Gateway has, written for one variant of Envoy. */
function resourcesFor(variant: Variant) {
  const source = sourceOf(variant)
  const managerOf = (route: string) => ({
    '@type':
      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    stat_prefix: 'web',
    rds: { config_source: source, route_config_name: route },
    http_filters: [router],
  })
  const tls = 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext'
  const sds = { tls_certificate_sds_secret_configs: [{ name: 'cert', sds_config: source }] }
  const transport = {
    name: 'envoy.transport_sockets.tls',
    typed_config: { '@type': `type.googleapis.com/${tls}`, common_tls_context: sds },
  }
  return {
    cluster: (name: string, more: object = {}) =>
      aResource(
        'cluster',
        name,
        { name, type: 'EDS', connect_timeout: '1s', eds_cluster_config: { eds_config: source }, ...more },
        { edsName: name },
      ),
    endpoints: (name: string, port: number) =>
      aResource('endpoint', name, {
        cluster_name: name,
        endpoints: [{ lb_endpoints: [{ endpoint: { address: socket(port) } }] }],
      }),
    listener: (name: string, port: number, secure: boolean) =>
      aResource('listener', name, {
        name,
        address: socket(port),
        filter_chains: [
          {
            filters: [{ name: 'http', typed_config: managerOf('web') }],
            ...(secure && { transport_socket: transport }),
          },
        ],
      }),
    route: (cluster: string) =>
      aResource('route', 'web', {
        name: 'web',
        virtual_hosts: [
          { name: 'all', domains: ['*'], routes: [{ match: { prefix: '/' }, route: { cluster } }] },
        ],
      }),
    certificate: () => {
      const { chain, key } = selfSigned('shop.test')
      const text = { certificate_chain: { inline_string: chain }, private_key: { inline_string: key } }
      return aResource('secret', 'cert', { name: 'cert', tls_certificate: text })
    },
  }
}

/** Resolves once the server has seen what is waited for; rejects after 20 s. */
function until(server: XdsServer, what: string, seen: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      undo()
      reject(new Error(`not within 20 s: ${what}; ${JSON.stringify(server.clients())}`))
    }, 20_000)
    const look = () => {
      if (!seen()) return
      clearTimeout(timer)
      undo()
      resolve()
    }
    const undo = server.subscribe(look)
    look()
  })
}

/** The state of a type, on whichever stream it is. */
const stateOf = (server: XdsServer, type: ResourceType): TypeState | undefined =>
  server.clients().find(client => client.types[type])?.types[type]

const allSynced = (server: XdsServer) => types.every(type => stateOf(server, type)?.state === 'synced')

async function startEnvoy(t: Test, bootstrap: object): Promise<{ output: () => string }> {
  const directory = mkdtempSync(join(tmpdir(), 'gatewright-envoy-'))
  const config = join(directory, 'bootstrap.json')
  writeFileSync(config, JSON.stringify(bootstrap))
  const log = join(directory, 'log')
  const child = spawn(
    await findEnvoy(),
    ['-c', config, '--disable-hot-restart', '--concurrency', '1', '--log-path', log, '-l', 'warning'],
    { stdio: 'ignore' },
  )
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(directory, { recursive: true, force: true })
  })
  return { output: () => readFileSync(log, 'utf8') }
}

/** Status and body of one request on a connection of its own. */
function get(port: number, secure = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', agent: false, rejectUnauthorized: false }
    const call = (secure ? askTls : ask)(options, response => {
      let body = ''
      response.on('data', (part: Buffer) => (body += part.toString()))
      response.on('end', () => resolve(`${response.statusCode ?? 0} ${body}`))
    })
    call.on('error', reject)
    call.end()
  })
}

async function aServer(t: Test, options: XdsOptions = {}) {
  const metrics = createMetrics()
  const server = createXds({ metrics, removalDelayMs: 300, ...options })
  const address = await server.listen('127.0.0.1:0')
  t.teardown(() => server.close())
  const publish = (
    resources: readonly Resource[],
    removed: readonly (readonly [ResourceType, string])[] = [],
  ) => server.publish([aPublication(gateway, resources, removed)])
  return { server, metrics, publish, port: Number(address.split(':')[1]) }
}

const variants: readonly Variant[] = [
  { protocol: 'delta', separate: false },
  { protocol: 'sotw', separate: false },
  { protocol: 'delta', separate: true },
  { protocol: 'sotw', separate: true },
]

for (const variant of variants) {
  const named = `${variant.protocol}, ${variant.separate ? 'separate services' : 'ADS'}`
  t.test(`Envoy, ${named}: is served, moved without a lost request, refuses and heals`, async t => {
    const { server, metrics, publish, port: xdsPort } = await aServer(t)
    const [one, two] = await Promise.all([startBackend('one'), startBackend('two')])
    t.teardown(() => Promise.all([one.close(), two.close()]))
    const [port, securePort] = [await freePort(), await freePort()]
    const make = resourcesFor(variant)
    publish([
      ...[make.cluster('one'), make.endpoints('one', one.port), make.route('one'), make.certificate()],
      ...[make.listener('web', port, false), make.listener('secure', securePort, true)],
    ])
    await startEnvoy(t, bootstrapOf(variant, xdsPort))
    await until(server, 'all types are acknowledged', () => allSynced(server))
    t.equal(await get(port), '200 one')
    t.equal(await get(securePort, true), '200 one', 'with the certificate of its secret')

    const answers = new Map<string, number>()
    const load = { moving: true }
    const loaded = (async () => {
      while (load.moving) {
        const answer = await get(port).catch((error: unknown) => String(error))
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
      }
    })()
    for (let turn = 0; turn < 6; turn++) {
      const [to, from, backend] = turn % 2 ? (['one', 'two', one] as const) : (['two', 'one', two] as const)
      const before = stateOf(server, 'route')?.sentNonce
      publish(
        [make.cluster(to), make.endpoints(to, backend.port), make.route(to)],
        [
          ['cluster', from],
          ['endpoint', from],
        ],
      )
      await until(server, `route to ${to}`, () => {
        return stateOf(server, 'route')?.sentNonce !== before && stateOf(server, 'route')?.state === 'synced'
      })
      t.equal(await get(port), `200 ${to}`)
      await until(server, `${from} is removed`, () => allSynced(server))
    }
    load.moving = false
    await loaded
    t.same(
      [...answers.keys()].sort(),
      ['200 one', '200 two'],
      `no request was lost: ${JSON.stringify([...answers])}`,
    )
    t.notMatch(await metrics.text(), /phase_timeouts_total\{/, 'no phase had to be cut short')

    publish([make.cluster('bad', { lb_policy: 'CLUSTER_PROVIDED' }), make.endpoints('bad', 1)])
    await until(server, 'the bad cluster is refused', () => stateOf(server, 'cluster')?.state === 'refused')
    t.match(stateOf(server, 'cluster')?.refusal, {
      message: /LB policy|CLUSTER_PROVIDED|cluster/i,
      resources: ['bad'],
    })
    t.equal(await get(port), '200 one', 'what was good still serves')
    publish([make.cluster('bad')])
    await until(server, 'it heals', () => allSynced(server))
  })
}

t.test(
  'Envoy, delta: comes back to another control plane with the same state, and is sent nothing',
  async t => {
    const variant = { protocol: 'delta', separate: false } as const
    const first = await aServer(t)
    const backend = await startBackend('one')
    t.teardown(() => backend.close())
    const port = await freePort()
    const make = resourcesFor(variant)
    const world = [
      make.cluster('one'),
      make.endpoints('one', backend.port),
      make.route('one'),
      make.certificate(),
    ]
    const all = [...world, make.listener('web', port, false), make.listener('secure', await freePort(), true)]
    first.publish(all)
    await startEnvoy(t, bootstrapOf(variant, first.port))
    await until(first.server, 'all types are acknowledged', () => allSynced(first.server))
    await first.server.close()
    const metrics = createMetrics()
    const second = createXds({ metrics })
    t.teardown(() => second.close())
    second.publish([aPublication(gateway, [...all].reverse())])
    await second.listen(`127.0.0.1:${first.port}`)
    await until(second, 'it is back', () => allSynced(second))
    t.notMatch(await metrics.text(), /xds_responses_total\{/, 'no response')
    t.equal(await get(port), '200 one')
  },
)

t.test("grpc-js's own xDS client calls a service through an API listener", async t => {
  const { server, publish, port } = await aServer(t)
  const echo = await startGrpcEcho()
  t.teardown(() => echo.close())
  const ads = { ads: {}, resource_api_version: 'V3' }
  const manager = {
    '@type':
      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    rds: { config_source: ads, route_config_name: 'echo' },
    http_filters: [router],
  }
  const echoRoute = (cluster: string) =>
    aResource('route', 'echo', {
      name: 'echo',
      virtual_hosts: [
        { name: 'all', domains: ['*'], routes: [{ match: { prefix: '/' }, route: { cluster } }] },
      ],
    })
  const cluster = (name: string) =>
    aResource(
      'cluster',
      name,
      { name, type: 'EDS', lb_policy: 'ROUND_ROBIN', eds_cluster_config: { eds_config: ads } },
      { edsName: name },
    )
  const endpoints = (name: string) =>
    aResource('endpoint', name, {
      cluster_name: name,
      endpoints: [
        {
          locality: { region: 'here', zone: 'here' },
          load_balancing_weight: 1,
          lb_endpoints: [{ endpoint: { address: socket(echo.port) }, load_balancing_weight: 1 }],
        },
      ],
    })
  publish([
    aResource('listener', 'echo', { name: 'echo', api_listener: { api_listener: manager } }),
    ...[echoRoute('one'), cluster('one'), endpoints('one')],
  ])
  process.env['GRPC_XDS_BOOTSTRAP_CONFIG'] = JSON.stringify({
    xds_servers: [
      { server_uri: `127.0.0.1:${port}`, channel_creds: [{ type: 'insecure' }], server_features: ['xds_v3'] },
    ],
    node: { id: 'a-grpc-client', cluster: gateway, locality: { region: 'here', zone: 'here', sub_zone: '' } },
  })
  const { register } = await import('@grpc/grpc-js-xds')
  register()
  const client = new grpc.Client('xds:///echo', grpc.credentials.createInsecure())
  t.teardown(() => client.close())
  const { path, requestSerialize, responseDeserialize } = echoMethod
  const call = () =>
    new Promise<string>((resolve, reject) => {
      const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, {
        deadline: Date.now() + 10_000,
      })
      stream.on('data', (bytes: Buffer) => {
        resolve(bytes.toString())
        stream.end()
      })
      stream.on('error', reject)
      stream.write(Buffer.from('hello'))
    })
  t.match(await call(), /hello/)
  publish([echoRoute('two'), cluster('two'), endpoints('two')])
  await until(server, 'the client asks for the other cluster', () => {
    return server
      .clients()
      .some(one => one.types.cluster?.state === 'synced' && one.types.cluster.sentNonce !== '1')
  })
  t.match(await call(), /hello/)
})
