import { inspect } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { createEngine } from '../../src/collections/index.js'
import { locatorOf } from '../../src/core/index.js'
import { controllerName, type HTTPRouteFilter, type HTTPRouteRule } from '../../src/kinds/index.js'
import {
  durationMs,
  modelText,
  secretText,
  type GatewayAddress,
  type ObjectStatus,
  type Rule,
} from '../../src/model/index.js'
import { other, shop } from './pairs.js'
import {
  aBackend,
  aClass,
  aGateway,
  aListener,
  aRoute,
  aRule,
  aSecret,
  aSecureListener,
  aService,
  aSlice,
  aWorld,
  valuesOf,
  type World,
} from './world.js'

const plain = aGateway('public', [aListener('http', 80)])
const base = [aClass(), plain, aService('cart'), aService('web')]
const cart = { backendRefs: [{ name: 'cart', port: 8080 }] }

const rulesOf = (world: World, host = '*'): readonly Rule[] =>
  valuesOf(world.model.hosts).find(each => each.host === host)!.rules
const planned = (...rules: readonly HTTPRouteRule[]) => aWorld([...base, aRoute('cart', rules)])
const actionOf = (rule: HTTPRouteRule) => rulesOf(planned(rule))[0]?.action

type Kind = ObjectStatus['kind']
function statusOf<K extends Kind>(world: World, kind: K, name: string): Extract<ObjectStatus, { kind: K }> {
  const found = [...world.model.statuses.entries()].find(
    ([key, each]) => each.kind === kind && key.endsWith(name),
  )
  return found![1] as Extract<ObjectStatus, { kind: K }>
}
const told = (conditions: readonly { type: string; status: string; reason: string }[]) =>
  Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]))
const routeTold = (world: World, name = 'cart') =>
  told(statusOf(world, 'HTTPRoute', `/${name}`).parents[0]!.conditions)
const gatewayTold = (world: World) => told(statusOf(world, 'Gateway', '/public').conditions)
const listenerTold = (world: World, name: string) => {
  const listener = statusOf(world, 'Gateway', '/public').listeners.find(each => each.name === name)!
  return { attachedRoutes: listener.attachedRoutes, ...told(listener.conditions) }
}

// ---- Rules ----

t.test('durations are those of GEP-2257', t => {
  t.equal(durationMs('1h2m3s4ms'), 3_723_004)
  t.equal(durationMs('0s'), 0)
  t.equal(durationMs('1m1m'), 120_000, 'parts may repeat')
  for (const bad of ['', '1', '1.5s', '-1s', '1d', '100000s', '1s1s1s1s1s', '1 s'])
    t.equal(durationMs(bad), undefined, bad)
  fc.assert(
    fc.property(
      fc.record({ h: fc.nat(99999), m: fc.nat(99999), s: fc.nat(99999), ms: fc.nat(99999) }),
      ({ h, m, s, ms }) => durationMs(`${h}h${m}m${s}s${ms}ms`) === ((h * 60 + m) * 60 + s) * 1000 + ms,
    ),
  )
  t.end()
})

t.test('weights', t => {
  const two = (first: number, second: number, name = 'web') =>
    actionOf({
      backendRefs: [
        { name: 'cart', port: 8080, weight: first },
        { name, port: 8080, weight: second },
      ],
    })
  const shares = (action: Rule['action'] | undefined) =>
    action?.kind === 'forward'
      ? action.backends.map(({ weight, cluster }) => [weight, cluster?.split('/')[2]])
      : action
  t.strictSame(shares(two(9, 1)), [
    [9, 'cart'],
    [1, 'web'],
  ])
  t.strictSame(shares(two(0, 1)), [[1, 'web']])
  t.strictSame(
    shares(two(3, 1, 'missing')),
    [
      [3, 'cart'],
      [1, undefined],
    ],
    'the share of an invalid reference has no cluster',
  )
  t.strictSame(two(0, 0), { kind: 'fixed', status: 500 })
  t.strictSame(two(0, 1, 'missing'), { kind: 'fixed', status: 500 })
  t.strictSame(actionOf({}), { kind: 'fixed', status: 500 }, 'no backend at all')
  t.end()
})

t.test('redirect ports', t => {
  const port = (
    listenerPort: number,
    protocol: 'HTTP' | 'HTTPS',
    requestRedirect: NonNullable<HTTPRouteFilter['requestRedirect']>,
  ) => {
    const listener =
      protocol === 'HTTP' ? aListener('l', listenerPort) : aSecureListener('l', 'tls', { port: listenerPort })
    const rule = { filters: [{ type: 'RequestRedirect', requestRedirect }] }
    const world = aWorld([
      aClass(),
      aGateway('public', [listener]),
      aSecret('tls', shop),
      aRoute('cart', [rule]),
    ])
    const action = rulesOf(world)[0]!.action
    return action.kind === 'redirect' ? action.port : 'none'
  }
  const hostname = 'new.test'
  t.equal(port(80, 'HTTP', { hostname }), undefined)
  t.equal(port(443, 'HTTPS', { hostname }), undefined)
  t.equal(port(8080, 'HTTP', { hostname }), 8080, 'no scheme: the port of the listener')
  t.equal(port(8443, 'HTTPS', { hostname }), 8443)
  t.equal(port(8080, 'HTTP', { hostname, scheme: 'https' }), undefined, 'a scheme: its well-known port')
  t.equal(port(8080, 'HTTP', { hostname, scheme: 'https', port: 443 }), undefined)
  t.equal(port(80, 'HTTP', { hostname, scheme: 'https', port: 8443 }), 8443)
  t.equal(port(443, 'HTTPS', { hostname, port: 80 }), 80, '80 is not well-known for https')
  t.equal(port(443, 'HTTPS', { hostname, scheme: 'http' }), undefined)
  t.equal(port(80, 'HTTP', { scheme: 'https' }), undefined)
  t.equal(
    port(8080, 'HTTP', { scheme: 'https' }),
    443,
    'a Host header with the port of the listener would keep it',
  )
  t.end()
})

t.test('filters', t => {
  const modifier = (requestHeaderModifier: object) => ({
    filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier }],
  })
  const [rule] = rulesOf(
    planned({
      ...cart,
      ...modifier({
        set: [
          { name: 'X-A', value: '1' },
          { name: 'x-a', value: '2' },
          { name: 'HOST', value: 'inner.test' },
        ],
        add: [{ name: 'X-B', value: '3' }],
        remove: ['X-C', 'x-c'],
      }),
    }),
  )
  t.strictSame(rule!.requestHeaders, {
    set: [{ name: 'x-a', value: '1' }],
    add: [{ name: 'x-b', value: '3' }],
    remove: ['x-c'],
  })
  t.strictSame(
    rule!.action.kind === 'forward' && rule!.action.rewrite,
    { hostname: 'inner.test' },
    'Host is rewritten',
  )
  const mirror = (more: object) => ({
    type: 'RequestMirror',
    requestMirror: { backendRef: { name: 'web', port: 8080 }, ...more },
  })
  const shares = [
    {},
    { percent: 20 },
    { percent: 0 },
    { fraction: { numerator: 1, denominator: 3 } },
    { fraction: { numerator: 5 } },
  ]
  const action = actionOf({ ...cart, filters: shares.map(mirror) })
  t.strictSame(action?.kind === 'forward' && action.mirrors.map(each => [each.numerator, each.denominator]), [
    [100, 100],
    [20, 100],
    [1, 3],
    [5, 100],
  ])
  const timeouts = actionOf({ ...cart, timeouts: { request: '0s', backendRequest: '1500ms' } })
  t.match(timeouts, { kind: 'forward', requestTimeoutMs: 0, backendTimeoutMs: 1500 })
  t.end()
})

t.test('a rule that cannot do what it says answers 500, says so, and leaves its neighbour alone', t => {
  const redirect = { type: 'RequestRedirect', requestRedirect: { hostname: 'a.test' } }
  const rewrite = { type: 'URLRewrite', urlRewrite: { hostname: 'a.test' } }
  const prefix = {
    type: 'URLRewrite',
    urlRewrite: { path: { type: 'ReplacePrefixMatch' as const, replacePrefixMatch: '/x' } },
  }
  const headers = (change: object) => ({ type: 'RequestHeaderModifier', requestHeaderModifier: change })
  const filtered = (...filters: readonly object[]) => ({ ...cart, filters: filters as HTTPRouteFilter[] })
  const bad: readonly [string, HTTPRouteRule, string][] = [
    ['an unknown filter', filtered({ type: 'Teleport' }), 'UnsupportedValue'],
    [
      'an extension',
      filtered({ type: 'ExtensionRef', extensionRef: { group: 'g', kind: 'K', name: 'n' } }),
      'UnsupportedValue',
    ],
    ['a filter that stands twice', filtered(rewrite, rewrite), 'IncompatibleFilters'],
    ['redirect and rewrite', { filters: [redirect, rewrite] }, 'IncompatibleFilters'],
    ['redirect and backends', filtered(redirect), 'IncompatibleFilters'],
    [
      'a prefix replaced that is not matched',
      { ...filtered(prefix), matches: [{ path: { type: 'Exact', value: '/' } }] },
      'UnsupportedValue',
    ],
    ['a header removed that proxies need', filtered(headers({ remove: ['Host'] })), 'UnsupportedValue'],
    ['a name that is none', filtered(headers({ set: [{ name: 'a b', value: '1' }] })), 'UnsupportedValue'],
    [
      'a line end in a value',
      filtered(headers({ add: [{ name: 'a', value: '1\r\nx: y' }] })),
      'UnsupportedValue',
    ],
    [
      'a line end in a path',
      filtered({
        type: 'URLRewrite',
        urlRewrite: { path: { type: 'ReplaceFullPath', replaceFullPath: '/\n' } },
      }),
      'UnsupportedValue',
    ],
    [
      'a status that is none',
      { filters: [{ type: 'RequestRedirect', requestRedirect: { statusCode: 200 } }] },
      'UnsupportedValue',
    ],
    ['a duration that is none', { ...cart, timeouts: { request: '1 hour' } }, 'UnsupportedValue'],
    [
      'a backend that would redirect',
      { backendRefs: [{ name: 'cart', port: 8080, filters: [redirect] }] },
      'UnsupportedValue',
    ],
  ]
  for (const [what, rule, reason] of bad) {
    const world = planned(rule, aRule('/good', 'web'))
    const broken = rulesOf(world).find(({ id }) => id.endsWith('#rule-1/0'))
    t.strictSame(broken?.action, { kind: 'fixed', status: 500 }, what)
    t.equal(rulesOf(world).find(({ id }) => id.endsWith('#rule-2/0'))?.action.kind, 'forward')
    t.match(routeTold(world), { Accepted: 'True Accepted', PartiallyInvalid: `True ${reason}` })
    const alone = planned(rule)
    t.strictSame(rulesOf(alone)[0]?.action, { kind: 'fixed', status: 500 }, `${what}, alone`)
    t.equal(routeTold(alone)['Accepted'], `False ${reason}`)
    t.equal(routeTold(alone)['PartiallyInvalid'], undefined)
    t.equal(listenerTold(alone, 'http').attachedRoutes, 0)
  }
  t.end()
})

t.test('a rule that cannot match is dropped, and the message begins as the specification wants it', t => {
  const regex = (value: string) => ({ path: { type: 'RegularExpression' as const, value } })
  const header = (value: string) => ({ headers: [{ name: 'x', type: 'RegularExpression' as const, value }] })
  for (const match of [
    regex('('),
    regex('(?=x)'),
    regex('\\1'),
    header('*'),
    { path: { value: 'no-slash' } },
  ]) {
    const world = planned({ ...cart, matches: [{}, match] }, aRule('/good', 'web'))
    t.strictSame(
      rulesOf(world).map(({ id }) => id.replace(/^.*#/, '')),
      ['rule-2/0'],
      JSON.stringify(match),
    )
    const { conditions } = statusOf(world, 'HTTPRoute', '/cart').parents[0]!
    t.match(conditions.find(({ type }) => type === 'PartiallyInvalid')!.message, /^Dropped Rule/)
  }
  t.equal(
    rulesOf(planned({ ...cart, matches: [regex('/(?i)a(?P<n>b)')] })).length,
    1,
    'what only RE2 knows is taken',
  )
  t.end()
})

t.test('rules keep their names and ids', t => {
  const ids = (...rules: readonly HTTPRouteRule[]) =>
    rulesOf(planned(...rules)).map(({ id }) => id.replace(/^.*#/, ''))
  const two = [aRule('/a', 'cart', { name: 'first' }), aRule('/b', 'cart')] as const
  t.strictSame(ids(...two), ['first/0', 'rule-2/0'])
  t.strictSame(ids({ ...cart, matches: [{ path: { value: '/b' } }, { path: { value: '/a' } }] }), [
    'rule-1/0',
    'rule-1/1',
  ])
  t.end()
})

// ---- Clusters and endpoints ----

t.test('clusters are named by backend and settings, and shared', t => {
  const world = aWorld([
    ...base,
    aGateway('private', [aListener('http', 80)]),
    aRoute('a', [aRule('/a', 'cart'), aRule('/b', 'cart')], {
      parentRefs: [{ name: 'public' }, { name: 'private' }],
    }),
    aRoute('b', [aRule('/c', 'cart')]),
  ])
  const names = () =>
    [...world.model.clusters.entries()].map(([, { gateway, name }]) => [gateway.replace(/^.*\//, ''), name])
  const [[, name]] = names() as [[string, string]]
  t.match(name, /^service\/shop\/cart\/8080\/[0-9a-f]{8}$/)
  t.strictSame(names(), [
    ['public', name],
    ['private', name],
  ])
  t.strictSame([...world.model.endpoints.keys()], ['service/shop/cart/8080'])
  world.put(aRoute('a', [aRule('/b', 'cart'), aRule('/new', 'web'), aRule('/a', 'cart')]))
  t.ok(
    names().some(([, each]) => each === name),
    'rules in another order rename nothing',
  )
  world.put(aService('cart', { ports: [{ name: 'http', port: 8080, appProtocol: 'kubernetes.io/h2c' }] }))
  t.notOk(
    names().some(([, each]) => each === name),
    'another protocol is another cluster',
  )
  t.ok(world.model.endpoints.has('service/shop/cart/8080'), 'with the same endpoints')
  t.end()
})

t.test('a route that is attached nowhere uses nothing', t => {
  const world = aWorld([
    ...base,
    aRoute('cart', [aRule('/', 'cart')], { parentRefs: [{ name: 'public', port: 81 }] }),
  ])
  t.equal(world.model.clusters.size, 0)
  t.equal(world.model.endpoints.size, 0)
  t.strictSame(rulesOf(world), [])
  t.end()
})

t.test('a Backend is endpoints when it has addresses only, and else resolved by the proxy', t => {
  const legacy = { backendRefs: [{ group: 'gatewright.io', kind: 'Backend', name: 'legacy' }] }
  const world = aWorld([aClass(), plain, aRoute('cart', [legacy])])
  const cluster = () => valuesOf(world.model.clusters)[0]
  t.equal(routeTold(world)['ResolvedRefs'], 'False BackendNotFound')
  world.put(
    aBackend('legacy', {
      endpoints: [
        { host: '192.0.2.1', port: 80 },
        { host: '2001:db8::1', port: 81, weight: 0 },
      ],
    }),
  )
  t.match(cluster(), { endpoints: { kind: 'eds', name: 'backend/shop/legacy/-' } })
  t.strictSame(valuesOf(world.model.endpoints)[0]!.addresses, [
    { address: '192.0.2.1', port: 80, state: 'healthy' },
  ])
  world.put(
    aBackend('legacy', {
      endpoints: [
        { host: '192.0.2.1', port: 80 },
        { host: 'legacy.test', port: 81 },
      ],
      protocol: 'h2c',
    }),
  )
  t.match(cluster(), {
    protocol: 'h2c',
    endpoints: { kind: 'dns', hosts: [{ host: '192.0.2.1' }, { host: 'legacy.test' }] },
  })
  t.equal(world.model.endpoints.size, 0)
  t.end()
})

t.test('endpoints', t => {
  const world = aWorld([...base, aRoute('cart', [aRule('/', 'cart')])])
  const addresses = () => world.model.endpoints.get('service/shop/cart/8080')!.addresses
  t.strictSame(addresses(), [], 'a Service without slices')
  const draining = { ready: false, serving: true, terminating: true }
  world.put(
    aSlice('cart-1', 'cart', [
      { addresses: ['10.0.0.3'], conditions: draining },
      { addresses: ['10.0.0.2', '10.0.0.99'], zone: 'east' },
      { addresses: ['10.0.0.4'], conditions: { ready: false } },
      { addresses: ['10.0.0.7'], conditions: { ready: false, serving: false, terminating: true } },
    ]),
    aSlice('cart-2', 'cart', [
      { addresses: ['10.0.0.3'] },
      { addresses: ['10.0.0.5'], conditions: { ready: true, terminating: true } },
    ]),
    aSlice('cart-3', 'cart', [{ addresses: ['10.0.0.6'] }], { ports: [{ name: 'admin', port: 1 }] }),
    aSlice('cart-4', 'cart', [{ addresses: ['cart.test'] }], { addressType: 'FQDN' }),
    aSlice('web-1', 'web', [{ addresses: ['10.0.1.1'] }]),
  )
  t.strictSame(addresses(), [
    { address: '10.0.0.2', port: 9090, zone: 'east', state: 'healthy' },
    { address: '10.0.0.3', port: 9090, state: 'healthy' },
    { address: '10.0.0.5', port: 9090, state: 'draining' },
  ])
  t.strictSame([...world.model.endpoints.keys()], ['service/shop/cart/8080'], 'only what a route refers to')
  world.remove('httproute.gateway.networking.k8s.io:shop/cart')
  t.equal(world.model.endpoints.size, 0)
  t.end()
})

// ---- Ports and certificates ----

const secure = aGateway('public', [
  aSecureListener('any', 'tls'),
  aSecureListener('wild', 'tls', { hostname: '*.shop.test' }),
  aSecureListener('exact', 'tls-2', { hostname: 'a.shop.test' }),
])

t.test('an HTTPS port has a chain per listener, most specific first', t => {
  const world = aWorld([aClass(), secure, aSecret('tls', shop), aSecret('tls-2', other)])
  const [port] = valuesOf(world.model.ports)
  t.strictSame(
    port!.chains.map(({ routeTable, serverNames, certificates }) => [routeTable, serverNames, certificates]),
    [
      ['shop/public/443/exact', ['a.shop.test'], ['shop/tls-2']],
      ['shop/public/443/wild', ['*.shop.test'], ['shop/tls']],
      ['shop/public/443/any', [], ['shop/tls']],
    ],
  )
  t.match(listenerTold(world, 'wild'), {
    OverlappingTLSConfig: 'True OverlappingHostnames',
    Programmed: 'True Programmed',
  })
  t.strictSame([...world.model.wanted.keys()], ['secret:shop/tls', 'secret:shop/tls-2'])
  t.end()
})

t.test(
  'a request that came by the wrong connection is answered 421, and 404 where nobody has the host',
  t => {
    const narrow = aGateway('public', secure.spec.listeners.slice(1))
    const world = aWorld([
      aClass(),
      narrow,
      aService('cart'),
      aSecret('tls', shop),
      aSecret('tls-2', other),
      aRoute('cart', [cart]),
    ])
    const answers = (table: string) =>
      valuesOf(world.model.hosts)
        .filter(({ routeTable }) => routeTable === table)
        .map(({ host, rules }) => [
          host,
          rules[0]?.action.kind === 'fixed' ? rules[0].action.status : rules[0]?.action.kind,
        ])
        .sort()
    t.strictSame(answers('shop/public/443/wild'), [
      ['*.shop.test', 'forward'],
      ['a.shop.test', 421],
    ])
    t.strictSame(answers('shop/public/443/exact'), [
      ['*.shop.test', 421],
      ['a.shop.test', 'forward'],
    ])
    t.end()
  },
)

t.test('a port that must verify the certificates of its clients is not served to everybody', t => {
  const validation = { caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'clients' }] }
  const served = (frontend: object) => {
    const gateway = aGateway('public', [aListener('http', 80), ...secure.spec.listeners], {
      tls: { frontend },
    })
    const world = aWorld([aClass(), gateway, aSecret('tls', shop), aSecret('tls-2', other)])
    const exact: Record<string, string | number> = listenerTold(world, 'exact')
    return [valuesOf(world.model.ports).map(({ port }) => port), exact['Accepted']]
  }
  t.strictSame(served({ default: {} }), [[80, 443], 'True Accepted'])
  t.strictSame(served({ default: { validation } }), [[80], 'False UnsupportedValue'])
  t.strictSame(served({ default: { validation }, perPort: [{ port: 443, tls: {} }] }), [
    [80, 443],
    'True Accepted',
  ])
  t.strictSame(served({ default: {}, perPort: [{ port: 443, tls: { validation } }] }), [
    [80],
    'False UnsupportedValue',
  ])
  t.end()
})

t.test('a Secret that is no key pair takes down its listener only', t => {
  const bad: readonly [string, { crt: string; key: string } | undefined, RegExp][] = [
    ['missing', undefined, /does not exist/],
    ['empty', { crt: '', key: shop.key }, /no tls.crt/],
    ['without a key', { crt: shop.crt, key: '' }, /no tls.key/],
    ['no certificate', { crt: 'Hello', key: shop.key }, /no certificate/],
    ['no key', { crt: shop.crt, key: 'world' }, /no private key/],
    ['another key', { crt: shop.crt, key: other.key }, /another certificate/],
    [
      'a broken second certificate',
      { crt: `${shop.crt}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`, key: shop.key },
      /no certificate/,
    ],
  ]
  for (const [what, pair, message] of bad) {
    const world = aWorld([
      aClass(),
      secure,
      aSecret('tls', shop),
      aRoute('cart', [cart]),
      ...(pair ? [aSecret('tls-2', pair)] : []),
    ])
    t.strictSame(
      valuesOf(world.model.ports)[0]!.chains.map(({ listeners }) => listeners),
      [['wild'], ['any']],
      what,
    )
    t.match(listenerTold(world, 'exact'), {
      Accepted: 'True Accepted',
      Programmed: 'False Invalid',
      ResolvedRefs: 'False InvalidCertificateRef',
      attachedRoutes: 1,
    })
    t.match(listenerTold(world, 'any'), { Programmed: 'True Programmed', ResolvedRefs: 'True ResolvedRefs' })
    t.match(gatewayTold(world), {
      Accepted: 'True Accepted',
      Programmed: 'True Programmed',
      ResolvedRefs: 'False ListenersNotResolved',
    })
    const text = statusOf(world, 'Gateway', '/public')
      .listeners[2]!.conditions.map(each => each.message)
      .join()
    t.match(text, message)
    world.put(aSecret('tls-2', other))
    t.equal(valuesOf(world.model.ports)[0]!.chains.length, 3, 'and it heals')
  }
  t.end()
})

t.test('a secret text shows itself to nobody who prints it', t => {
  const secret = secretText('hunter2')
  t.equal(secret.reveal(), 'hunter2')
  const world = aWorld([aClass(), secure, aSecret('tls', shop), aSecret('tls-2', other)])
  const [certificate] = valuesOf(world.model.certificates)
  for (const printed of [
    JSON.stringify({ secret }),
    inspect({ secret }),
    String(secret),
    inspect(certificate, { depth: 9, showHidden: true }),
  ]) {
    t.match(printed, /\[redacted\]/)
    t.notMatch(printed, /hunter2|PRIVATE KEY/)
  }
  t.notMatch(JSON.stringify(modelText(world.model)), /PRIVATE KEY|BEGIN CERTIFICATE/)
  t.end()
})

// ---- Status ----

t.test('the status of a Gateway', t => {
  const gateway = (
    listeners: Parameters<typeof aGateway>[1],
    more = {},
    addresses = [{ type: 'IPAddress', value: '127.0.0.1' }],
  ) => aWorld([aClass(), aGateway('public', listeners, more)], { addresses })
  const http = aListener('http', 80)
  const tcp = aListener('tcp', 81, { protocol: 'TCP' })
  t.match(gatewayTold(gateway([http])), { Accepted: 'True Accepted', Programmed: 'True Programmed' })
  t.match(gatewayTold(gateway([http], {}, [])), {
    Accepted: 'True Accepted',
    Programmed: 'False AddressNotAssigned',
  })
  t.match(gatewayTold(gateway([http, tcp])), {
    Accepted: 'True ListenersNotValid',
    Programmed: 'True Programmed',
  })
  t.match(gatewayTold(gateway([tcp])), { Accepted: 'False ListenersNotValid', Programmed: 'False Invalid' })
  const wants = (type: string, value: string) => gateway([http], { addresses: [{ type, value }] })
  t.match(gatewayTold(wants('IPAddress', '127.0.0.1')), { Programmed: 'True Programmed' })
  t.match(gatewayTold(wants('IPAddress', '192.0.2.1')), {
    Accepted: 'True Accepted',
    Programmed: 'False AddressNotUsable',
  })
  t.match(gatewayTold(wants('example.test/vip', 'blue')), {
    Accepted: 'False UnsupportedAddress',
    Programmed: 'False Invalid',
  })
  const tuned = gateway([http], { infrastructure: { parametersRef: { group: 'g', kind: 'K', name: 'n' } } })
  t.match(gatewayTold(tuned), { Accepted: 'False InvalidParameters', Programmed: 'False Invalid' })
  t.equal(tuned.model.ports.size, 0, 'a Gateway that is not accepted binds nothing')
  const parametersRef = { group: 'g', kind: 'K', name: 'n' }
  const tunedClass = { ...aClass(), spec: { controllerName, parametersRef } }
  const ofTunedClass = gateway([http]).put(tunedClass)
  t.match(gatewayTold(ofTunedClass), { Accepted: 'False InvalidParameters', Programmed: 'False Invalid' })
  t.equal(ofTunedClass.model.ports.size, 0, 'nor does one whose class is not')
  t.match(gatewayTold(ofTunedClass.put(aClass())), { Accepted: 'True Accepted' }, 'until it is')
  t.match(listenerTold(gateway([http, aListener('more', 80)]), 'more'), {
    Accepted: 'False HostnameConflict',
    Programmed: 'False Invalid',
    Conflicted: 'True HostnameConflict',
  })
  t.end()
})

t.test('supported kinds', t => {
  const kinds = (kinds: readonly { kind: string }[]) => {
    const world = aWorld([
      aClass(),
      aGateway('public', [aListener('http', 80, { allowedRoutes: { kinds } })]),
    ])
    return [
      statusOf(world, 'Gateway', '/public').listeners[0]!.supportedKinds.map(({ kind }) => kind),
      told(statusOf(world, 'Gateway', '/public').listeners[0]!.conditions)['ResolvedRefs'],
    ]
  }
  t.strictSame(kinds([]), [['HTTPRoute'], 'True ResolvedRefs'])
  t.strictSame(kinds([{ kind: 'HTTPRoute' }, { kind: 'TCPRoute' }]), [
    ['HTTPRoute'],
    'False InvalidRouteKinds',
  ])
  t.strictSame(kinds([{ kind: 'TCPRoute' }]), [[], 'False InvalidRouteKinds'])
  t.end()
})

t.test('the status of a route has an entry for each of its parents that is ours', t => {
  const parentRefs = [{ name: 'public' }, { name: 'foreign' }, { name: 'public', sectionName: 'missing' }]
  const world = aWorld([
    ...base,
    aClass('foreign', 'example.test/other'),
    {
      ...aGateway('foreign', [aListener('http', 80)]),
      spec: { gatewayClassName: 'foreign', listeners: [aListener('http', 80)] },
    },
    aRoute('cart', [aRule('/', 'missing')], { parentRefs }),
  ])
  const { parents } = statusOf(world, 'HTTPRoute', '/cart')
  t.strictSame(
    parents.map(({ parentRef, conditions }) => [parentRef, told(conditions)]),
    [
      [parentRefs[0], { Accepted: 'True Accepted', ResolvedRefs: 'False BackendNotFound' }],
      [parentRefs[2], { Accepted: 'False NoMatchingParent', ResolvedRefs: 'False BackendNotFound' }],
    ],
  )
  t.ok(parents.every(each => each.conditions.every(({ observedGeneration }) => observedGeneration === 1)))
  t.end()
})

t.test('the addresses of a Gateway may come from a collection', t => {
  const engine = createEngine()
  const addresses = engine.source<readonly GatewayAddress[]>('addresses')
  const world = aWorld([aClass(), plain], { addresses }, engine)
  t.equal(gatewayTold(world)['Programmed'], 'False AddressNotAssigned')
  const assigned = [{ type: 'Hostname', value: 'lb.test' }]
  addresses.set(locatorOf(plain), assigned)
  engine.flush()
  t.equal(gatewayTold(world)['Programmed'], 'True Programmed')
  t.strictSame(statusOf(world, 'Gateway', '/public').addresses, assigned)
  t.end()
})

t.test('a GatewayClass is told what is supported, in order of name', t => {
  const { supportedFeatures } = statusOf(aWorld([aClass()]), 'GatewayClass', 'gatewright')
  const names = supportedFeatures.map(({ name }) => name)
  t.strictSame(names, [...names].sort())
  t.ok(names.includes('HTTPRoute'))
  t.end()
})
