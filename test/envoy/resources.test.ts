import { equals, fromBinary, fromJson, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import t from 'tap'
import { descriptorOf, registry, typeNameOf } from '../../src/envoy/descriptors.js'
import { secretVersionOf, versionOf } from '../../src/envoy/hash.js'
import { decode, typeUrls, type Resource } from '../../src/envoy/index.js'
import { chunksOf } from '../../src/envoy/routes.js'
import { decodeSecrets } from '../../src/envoy/decode.js'
import type { Rule } from '../../src/model/index.js'
import { GATEWAY, aCluster, aModel, aPath, aRule, anAddress, forwardTo } from './planes.js'

const say = ({ type, bytes }: Resource) => decode(typeUrls[type], bytes)
const CART = 'service/shop/cart/80/11111111'
const PAY = 'service/shop/pay/80/22222222'
const OTHER = 'gateway.gateway.networking.k8s.io:shop/other'

const cart = aRule('0/0', { match: aPath('PathPrefix', '/cart/'), action: forwardTo(CART) })
const pay = aRule('1/0', { match: aPath('Exact', '/pay'), action: forwardTo(PAY) })

/** Two hosts, two backends, a certificate. */
function aShop(options = {}) {
  return aModel(options)
    .http(80, { 'shop.example.com': [cart, pay], '*': [] })
    .https(443, { 'shop/cert': ['shop.example.com'] })
    .certificate('shop/cert', 'PUBLIC CHAIN', 'PRIVATE KEY')
    .cluster(aCluster(CART), aCluster(PAY))
    .endpoints('service/shop/cart/80', anAddress('10.0.0.1', 8080))
    .endpoints('service/shop/pay/80', anAddress('10.0.0.2', 8080))
}

t.test('what is placed where', t => {
  const shop = aShop()
  shop.settle()
  t.same(
    [...shop.placed.keys()].sort(),
    [
      'cluster|service/shop/cart/80/11111111',
      'cluster|service/shop/pay/80/22222222',
      'endpoint|service/shop/cart/80',
      'endpoint|service/shop/pay/80',
      'listener|shop/public/443',
      'listener|shop/public/80',
      'route|shop/public/443/shop-cert',
      'route|shop/public/80',
      'secret|shop/cert',
    ].map(key => `${GATEWAY}|${key}`),
  )
  for (const resource of shop.resources()) t.match(resource.version, /^[0-9a-f]{16}$/, resource.name)
  t.end()
})

t.test('a listener says who serves it, and waits for its routes and certificates', t => {
  const shop = aShop({ listenerAddress: '127.0.0.1' })
  shop.settle()
  const listener = say(shop.get('listener', 'shop/public/443')) as {
    filter_chains: Record<string, unknown>[]
  }
  t.match(listener, {
    name: 'shop/public/443',
    address: { socket_address: { address: '127.0.0.1', port_value: 443 } },
    listener_filters: [{ name: 'envoy.filters.listener.tls_inspector' }],
    filter_chains: [
      {
        name: 'shop/public/443/shop-cert',
        filter_chain_match: { server_names: ['shop.example.com'] },
        filters: [
          {
            typed_config: {
              rds: {
                config_source: { ads: {}, resource_api_version: 'V3', initial_fetch_timeout: '0s' },
                route_config_name: 'shop/public/443/shop-cert',
              },
              http_filters: [
                { name: 'envoy.filters.http.cors', disabled: true },
                { name: 'envoy.filters.http.router' },
              ],
            },
          },
        ],
        transport_socket: {
          typed_config: {
            common_tls_context: {
              tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
              tls_certificate_sds_secret_configs: [
                { name: 'shop/cert', sds_config: { ads: {}, initial_fetch_timeout: '0s' } },
              ],
              alpn_protocols: ['h2', 'http/1.1'],
            },
          },
        },
      },
    ],
  })
  t.equal(listener.filter_chains.length, 1)
  t.end()
})

t.test('a route table holds its hosts in order, and a route the name of its rule', t => {
  const shop = aShop()
  shop.settle()
  t.match(say(shop.get('route', 'shop/public/80')), {
    name: 'shop/public/80',
    ignore_port_in_host_matching: true,
    virtual_hosts: [
      { name: '*', domains: ['*'] },
      {
        name: 'shop.example.com',
        domains: ['shop.example.com'],
        retry_policy: { retry_on: 'connect-failure,refused-stream,reset-before-request', num_retries: 2 },
        routes: [
          {
            name: cart.id,
            match: { path_separated_prefix: '/cart' },
            route: { cluster: CART, timeout: '0s' },
          },
          { name: pay.id, match: { path: '/pay' }, route: { cluster: PAY } },
        ],
      },
    ],
  })
  const empty = aModel().routes('shop/public/81', {})
  empty.settle()
  t.same(say(empty.get('route', 'shop/public/81')), {
    name: 'shop/public/81',
    ignore_port_in_host_matching: true,
  })
  t.end()
})

t.test('the fields of a route', t => {
  const routeOf = (rule: Rule) => {
    const model = aModel().routes('r', { '*': [rule] })
    model.settle()
    const { virtual_hosts } = say(model.get('route', 'r')) as {
      virtual_hosts: [{ routes: [Record<string, unknown>] }]
    }
    return virtual_hosts[0].routes[0]
  }
  const forward = (more: Parameters<typeof forwardTo>[1]) =>
    routeOf(aRule('x', { action: forwardTo(CART, more) }))['route']
  t.match(forward({ requestTimeoutMs: 1500 }), { timeout: '1.500s' })
  const idle = (more: Parameters<typeof forwardTo>[1]) =>
    (forward(more) as { idle_timeout?: string }).idle_timeout
  t.match(forward({ requestTimeoutMs: 600_000 }), { timeout: '600s', idle_timeout: '600s' })
  t.equal(idle({ backendTimeoutMs: 600_000 }), '600s', 'silence cuts nothing before its time')
  t.equal(idle({ requestTimeoutMs: 0 }), '0s', 'nor at all where none is wanted')
  t.equal(idle({ requestTimeoutMs: 10_000, backendTimeoutMs: 0 }), undefined)
  t.equal(idle({}), undefined)
  t.match(forward({ backendTimeoutMs: 250 }), {
    timeout: '0s',
    retry_policy: { num_retries: 2, per_try_timeout: '0.250s' },
  })
  const mirrored = (numerator: number, denominator: number) =>
    forward({ mirrors: [{ cluster: PAY, numerator, denominator }] })
  t.match(mirrored(42, 100), {
    request_mirror_policies: [{ runtime_fraction: { default_value: { numerator: 42 } } }],
  })
  t.match(mirrored(1, 3), {
    request_mirror_policies: [
      { runtime_fraction: { default_value: { numerator: 333333, denominator: 'MILLION' } } },
    ],
  })
  t.notMatch(mirrored(5, 5), { request_mirror_policies: [{ runtime_fraction: {} }] })
  const split = forward({ backends: [{ weight: 9, cluster: CART }, { weight: 1 }] })
  t.match(split, {
    weighted_clusters: {
      clusters: [
        { name: CART, weight: 9 },
        { name: 'gatewright/invalid-backend', weight: 1 },
      ],
    },
    cluster_not_found_response_code: 'INTERNAL_SERVER_ERROR',
  })
  t.match(
    routeOf(
      aRule('x', { match: { method: 'GET', queryParams: [{ name: 'q', type: 'Exact', value: '1' }] } }),
    ),
    {
      match: {
        prefix: '/',
        headers: [{ name: ':method', string_match: { exact: 'GET' } }],
        query_parameters: [{ name: 'q', string_match: { exact: '1' } }],
      },
      direct_response: { status: 404 },
    },
  )
  t.end()
})

t.test('a cluster keeps its name and has few ways to differ', t => {
  const named = { kind: 'dns', hosts: [{ host: 'api.example.net', port: 443, weight: 1 }] } as const
  const model = aModel()
    .cluster(aCluster(CART), aCluster('service/shop/grpc/80/3', { protocol: 'h2c' }))
    .cluster(aCluster('backend/shop/a.b/-/4', { endpoints: named }))
  model.settle()
  t.match(model.get('cluster', CART), { edsName: 'service/shop/cart/80', warms: undefined })
  t.match(say(model.get('cluster', CART)), {
    name: CART,
    type: 'EDS',
    eds_cluster_config: { service_name: 'service/shop/cart/80' },
    lb_policy: 'LEAST_REQUEST',
  })
  t.match(JSON.stringify(say(model.get('cluster', 'service/shop/grpc/80/3'))), /http2_protocol_options/)
  t.match(model.get('cluster', 'backend/shop/a.b/-/4'), { edsName: undefined, warms: true })
  t.match(say(model.get('cluster', 'backend/shop/a.b/-/4')), {
    alt_stat_name: 'backend/shop/a_b/-/4',
    cluster_type: { typed_config: { respect_dns_ttl: true } },
  })
  t.end()
})

t.test('endpoints: by zone, and those that drain only behind those that serve', t => {
  const model = aModel()
    .cluster(aCluster(CART))
    .endpoints(
      'service/shop/cart/80',
      anAddress('10.0.0.1', 1, { zone: 'b' }),
      anAddress('10.0.0.2', 1, { zone: 'a', state: 'draining' }),
      anAddress('10.0.0.3', 1, { zone: 'b', weight: 3 }),
      anAddress('10.0.0.4', 1),
    )
  model.settle()
  const { endpoints } = say(model.get('endpoint', 'service/shop/cart/80')) as {
    endpoints: Record<string, unknown>[]
  }
  t.same(
    endpoints.map(({ locality, priority, lb_endpoints }) => [
      locality,
      priority,
      (lb_endpoints as unknown[]).length,
    ]),
    [
      [undefined, undefined, 1],
      [{ zone: 'b' }, undefined, 2],
      [{ zone: 'a' }, 1, 1],
    ],
  )
  model.endpoints('service/shop/cart/80', anAddress('10.0.0.2', 1, { state: 'draining' }))
  model.settle()
  t.notMatch(say(model.get('endpoint', 'service/shop/cart/80')), { endpoints: [{ priority: 1 }] })
  model.model.endpoints.delete('service/shop/cart/80')
  model.settle()
  t.same(
    say(model.get('endpoint', 'service/shop/cart/80')),
    { cluster_name: 'service/shop/cart/80' },
    'unknown is answered, as none',
  )
  t.end()
})

t.test('a host with many rules is the same host: only how it is put together differs', t => {
  const hostOf = (count: number) => {
    const rules = Array.from({ length: count }, (_, i) => aRule(`${i}/0`, { match: aPath('Exact', `/${i}`) }))
    const model = aModel().routes('r', { 'a.example.com': rules })
    model.settle()
    return say(model.get('route', 'r')) as { virtual_hosts: { routes: unknown[] }[] }
  }
  const [few, many] = [hostOf(31), hostOf(32)]
  t.equal(many.virtual_hosts[0]?.routes.length, 32)
  t.same(many.virtual_hosts[0]?.routes.slice(0, 31), few.virtual_hosts[0]?.routes)
  const but = ({ virtual_hosts: [host] }: typeof few) => ({ ...host, routes: [] })
  t.same(but(many), but(few))
  t.end()
})

t.test('a table of many hosts holds them all in order, and an edit joins a part of it', t => {
  const names = Array.from({ length: 1000 }, (_, i) => `h${i}.example.com`)
  const table = (hosts: readonly string[]) =>
    Object.fromEntries(hosts.map(host => [host, [aRule(`${host}/0`)]]))
  const model = aModel().http(80, table(names))
  model.settle()
  const hostsOf = () =>
    (say(model.get('route', 'shop/public/80')) as { virtual_hosts: { name: string }[] }).virtual_hosts.map(
      ({ name }) => name,
    )
  t.same(hostsOf(), [...names].sort())
  const before = chunksOf([...names].sort())
  const after = chunksOf([...names, 'h5000.example.com'].sort())
  t.ok(before.length > 5 && before.length < 50, `${before.length} chunks`)
  const moved = after.filter(chunk => !before.some(other => other.join() === chunk.join()))
  t.ok(moved.length <= 2, 'a new host moves its own chunk, or cuts it in two')
  model.http(80, table(['h5000.example.com', ...names.slice(1)]))
  t.same(model.settle(), [`${GATEWAY}|route|shop/public/80`])
  const fresh = aModel().http(80, table(['h5000.example.com', ...names.slice(1)]))
  fresh.settle()
  t.equal(model.get('route', 'shop/public/80').version, fresh.get('route', 'shop/public/80').version)
  t.end()
})

t.test('an edit touches what it must and nothing else', t => {
  const shop = aShop()
  shop.settle()
  const at = (...keys: string[]) => keys.map(key => `${GATEWAY}|${key}`)

  t.test('rules that swap places, and a rule that changes: routes only', t => {
    shop.http(80, { 'shop.example.com': [pay, cart], '*': [] })
    t.same(shop.settle(), at('route|shop/public/80'))
    shop.http(80, {
      'shop.example.com': [
        pay,
        { ...cart, requestHeaders: { set: [{ name: 'a', value: 'b' }], add: [], remove: [] } },
      ],
      '*': [],
    })
    t.same(shop.settle(), at('route|shop/public/80'))
    t.end()
  })
  t.test('CORS on first use: routes only', t => {
    const cors = {
      allowOrigins: ['*'],
      allowCredentials: false,
      allowMethods: [],
      allowHeaders: [],
      exposeHeaders: [],
      maxAgeSeconds: 5,
    }
    shop.http(80, { 'shop.example.com': [{ ...cart, cors }], '*': [] })
    t.same(shop.settle(), at('route|shop/public/80'))
    t.end()
  })
  t.test('a value equal to the one before: nothing', t => {
    shop.http(80, { 'shop.example.com': [structuredClone(cart)], '*': [] })
    shop.settle()
    shop.http(80, { 'shop.example.com': [structuredClone(cart)], '*': [] })
    shop.cluster(aCluster(CART))
    t.same(shop.settle(), [])
    t.end()
  })
  t.test('an address: its endpoints, at every Gateway that uses them, encoded once', t => {
    shop.cluster(aCluster(CART, { gateway: OTHER }))
    t.same(shop.settle(), [`${OTHER}|cluster|${CART}`, `${OTHER}|endpoint|service/shop/cart/80`])
    shop.endpoints('service/shop/cart/80', anAddress('10.0.0.9', 8080))
    const moved = [`${OTHER}|endpoint|service/shop/cart/80`, ...at('endpoint|service/shop/cart/80')]
    t.same(shop.settle(), moved)
    t.equal(shop.get('endpoint', 'service/shop/cart/80'), shop.get('endpoint', 'service/shop/cart/80', OTHER))
    t.end()
  })
  t.test('a renewed certificate: the secret only', t => {
    const before = shop.get('listener', 'shop/public/443').version
    shop.certificate('shop/cert', 'PUBLIC CHAIN 2', 'PRIVATE KEY 2')
    t.same(shop.settle(), at('secret|shop/cert'))
    t.equal(shop.get('listener', 'shop/public/443').version, before)
    t.end()
  })
  t.test('a cluster that goes takes its endpoints along', t => {
    shop.model.clusters.delete(`${GATEWAY}|${PAY}`)
    t.same(shop.settle(), at(`cluster|${PAY}`, 'endpoint|service/shop/pay/80'))
    t.end()
  })
  t.test('a port: its listener and its routes', t => {
    shop.http(8080, { '*': [] })
    t.same(shop.settle(), at('listener|shop/public/8080', 'route|shop/public/8080'))
    t.end()
  })
  t.end()
})

t.test('versions say what the content is, on every replica', t => {
  const versions = (shop: ReturnType<typeof aShop>) => {
    shop.settle()
    return shop.resources().map(({ type, name, version }) => `${type} ${name} ${version}`)
  }
  const one = versions(aShop())
  const roundabout = aShop().http(80, { 'shop.example.com': [pay], 'x.example.com': [cart] })
  roundabout.settle()
  t.same(versions(roundabout.http(80, { '*': [], 'shop.example.com': [cart, pay] })), one, 'by another way')
  t.not(versions(aShop().http(80, { 'shop.example.com': [pay, cart], '*': [] })).join(), one.join())
  t.equal(versionOf(Buffer.from('abc')), 'ba7816bf8f01cfea')
  t.end()
})

t.test('the version of a secret is keyed, and its text is shown nowhere', t => {
  const [plain, keyed] = [aShop(), aShop({ versionKey: 'k' })]
  plain.settle()
  keyed.settle()
  const secret = keyed.get('secret', 'shop/cert')
  t.not(secret.version, plain.get('secret', 'shop/cert').version)
  t.not(secret.version, versionOf(secret.bytes))
  t.equal(secret.version, secretVersionOf(secret.bytes, 'k'))
  t.same(say(secret), {
    name: 'shop/cert',
    tls_certificate: {
      certificate_chain: { inline_string: 'PUBLIC CHAIN' },
      private_key: { inline_string: '[redacted]' },
    },
  })
  t.notMatch(JSON.stringify([...keyed.model.certificates.entries()]), /PRIVATE/)
  t.end()
})

t.test('the library reads every resource as it was meant, and writes the same', t => {
  const shop = aShop()
  shop.settle()
  for (const { type, name, bytes } of shop.resources()) {
    const descriptor = descriptorOf(typeNameOf(typeUrls[type]))
    const again = toBinary(
      descriptor,
      fromJson(descriptor, decodeSecrets(typeUrls[type], bytes) as never, { registry: registry() }),
    )
    t.ok(equals(descriptor, fromBinary(descriptor, again), fromBinary(descriptor, bytes)), name)
    t.equal(again.length, bytes.length)
  }
  t.end()
})

t.test('after any edits the resources are those of a fresh build', t => {
  const hostNames = ['*', 'a.example.com', 'b.example.com', '*.example.com']
  const clusterNames = [CART, PAY, 'service/shop/x/80/33333333']
  type Shop = ReturnType<typeof aModel>
  const edit = fc.oneof(
    fc
      .tuple(fc.constantFrom(80, 81), fc.uniqueArray(fc.constantFrom(...hostNames)), fc.nat(3))
      .map(([port, hosts, turn]) => (shop: Shop) => {
        const rules = [cart, pay, aRule('2/0')].slice(turn)
        shop.http(port, Object.fromEntries(hosts.map(host => [host, rules])))
      }),
    fc
      .tuple(fc.constantFrom(...clusterNames), fc.constantFrom(GATEWAY, OTHER), fc.boolean())
      .map(([name, gateway, there]) => (shop: Shop) => {
        if (there) shop.cluster(aCluster(name, { gateway }))
        else shop.model.clusters.delete(`${gateway}|${name}`)
      }),
    fc.tuple(fc.constantFrom(...clusterNames), fc.nat(2)).map(([name, count]) => (shop: Shop) => {
      const addresses = Array.from({ length: count }, (_, i) => anAddress(`10.0.0.${i + 1}`, 80))
      shop.endpoints(name.slice(0, -9), ...addresses)
    }),
    fc
      .tuple(fc.subarray(['shop/a', 'shop/b']), fc.constantFrom('', '2'))
      .map(([names, renewal]) => (shop: Shop) => {
        shop.https(443, Object.fromEntries(names.map(name => [name, [`${name.slice(5)}.example.com`]])))
        for (const name of names) shop.certificate(name, `chain${renewal}`, 'key')
      }),
  )
  const all = (shop: Shop) => {
    shop.settle()
    return [...shop.placed.entries()]
      .map(([key, { resource }]) => `${key} ${resource.version} ${versionOf(resource.bytes)}`)
      .sort()
  }
  fc.assert(
    fc.property(fc.array(fc.array(edit, { maxLength: 3 }), { maxLength: 8 }), flushes => {
      const live = aModel()
      const fresh = aModel()
      for (const edits of flushes) {
        for (const change of edits) {
          change(live)
          change(fresh)
        }
        live.settle()
      }
      t.same(all(live), all(fresh))
    }),
    { numRuns: 100 },
  )
  t.end()
})
