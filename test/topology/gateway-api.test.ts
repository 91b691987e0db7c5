/**
 * The Gateway API as a graph: whole graphs as tables, what was decided drawn on them, and what they look like as
 * text. Kinds without types of their own are given as plain objects.
 */
import fc from 'fast-check'
import t from 'tap'
import type { KubeObject } from '../../src/core/index.js'
import { locator } from '../../src/core/index.js'
import type { GatewayListener } from '../../src/kinds/index.js'
import { ids } from '../../src/kinds/index.js'
import type { Decisions, RouteAttachments, RouteBackends } from '../../src/topology/index.js'
import { toDot, toJSON, toMermaid, toTree } from '../../src/topology/index.js'
import {
  created,
  drawn,
  drawnFrom,
  editsEqualScratch,
  faultsOf,
  names,
  short,
  topologyOf,
} from './objects.js'

const gatewayApi = 'gateway.networking.k8s.io'

function object(
  apiVersion: string,
  kind: string,
  name: string,
  spec: object,
  namespace = 'shop',
): KubeObject {
  const whole = { apiVersion, kind, metadata: { namespace, name }, spec }
  return whole
}

function aClass(name: string): KubeObject {
  const whole = {
    apiVersion: `${gatewayApi}/v1`,
    kind: 'GatewayClass',
    metadata: { name },
    spec: { controllerName: 'gatewright.io/gateway-controller' },
  }
  return whole
}

/** Listeners by name; l1 and http on port 80, the others on 443. */
function aGateway(
  name: string,
  gatewayClassName: string,
  ...listeners: (string | GatewayListener)[]
): KubeObject {
  return object(`${gatewayApi}/v1`, 'Gateway', name, {
    gatewayClassName,
    listeners: listeners.map(listener =>
      typeof listener === 'string'
        ? { name: listener, port: ['l1', 'http'].includes(listener) ? 80 : 443, protocol: 'HTTP' }
        : listener,
    ),
  })
}

type RouteKind = 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute' | 'TCPRoute' | 'UDPRoute'

/** Parents as `gateway`, `gateway#listener`, `gateway:port`, `namespace/gateway`; rules as `name: service:port …`. */
function aRoute(kind: RouteKind, name: string, parents: string, ...rules: string[]): KubeObject {
  return object(`${gatewayApi}/v1`, kind, name, {
    parentRefs: parents.split(' ').filter(Boolean).map(parentRef),
    rules: rules.map(rule => {
      const [, ruleName, backends = ''] = /^(?:([^ :]*):(?: |$))?(.*)$/.exec(rule) ?? []
      return {
        ...(ruleName !== undefined && { name: ruleName }),
        backendRefs: backends.split(' ').filter(Boolean).map(backendRef),
      }
    }),
  })
}

function parentRef(text: string): object {
  const [, namespace, name, sectionName, port] =
    /^(?:(.*)\/)?([^#:]*)(?:#([^:]*))?(?::(.*))?$/.exec(text) ?? []
  return {
    ...(namespace !== undefined && { namespace }),
    name,
    ...(sectionName !== undefined && { sectionName }),
    ...(port !== undefined && { port: Number(port) }),
  }
}

function backendRef(text: string): object {
  const [, namespace, name, port] = /^(?:(.*)\/)?([^:]*)(?::(.*))?$/.exec(text) ?? []
  return {
    ...(namespace !== undefined && { namespace }),
    name,
    ...(port !== undefined && { port: Number(port) }),
  }
}

/** Ports as `name:number`, or a number alone. */
function aService(name: string, ports: string, namespace = 'shop'): KubeObject {
  return object(
    'v1',
    'Service',
    name,
    {
      ports: ports.split(' ').map(port => {
        const [number, portName] = port.split(':').reverse()
        return { ...(portName !== undefined && { name: portName }), port: Number(number) }
      }),
    },
    namespace,
  )
}

function aPolicy(name: string, kind: string, target: string, sectionName?: string): KubeObject {
  const group = kind === 'Service' ? '' : gatewayApi
  const targetRef = { group, kind, name: target, ...(sectionName !== undefined && { sectionName }) }
  return object('policies.test/v1', 'TestPolicy', name, { targetRefs: [targetRef] })
}

const collapse = [
  'Listener',
  'HTTPRouteRule',
  'GRPCRouteRule',
  'TLSRouteRule',
  'TCPRouteRule',
  'UDPRouteRule',
  'ServicePort',
]

const oneOfEach = [
  aClass('class'),
  aGateway('gw', 'class', 'l1'),
  aRoute('HTTPRoute', 'http', 'gw', 'svc'),
  aRoute('GRPCRoute', 'grpc', 'gw', 'svc'),
  aRoute('TCPRoute', 'tcp', 'gw', 'svc'),
  aRoute('TLSRoute', 'tls', 'gw', 'svc'),
  aRoute('UDPRoute', 'udp', 'gw', 'svc'),
  aService('svc', 'web:80'),
]

/** The world of many of each; rules carry names so that the tables stay short. */
const many = [
  ...['gc1', 'gc2'].map(aClass),
  aGateway('g1', 'gc1', 'l1', 'l2'),
  aGateway('g2', 'gc1', 'l1'),
  aGateway('g3', 'gc1', 'l1', 'l2'),
  aGateway('g4', 'gc2', 'l1', 'l2'),
  aGateway('g5', 'gc2', 'l1'),
  aRoute('HTTPRoute', 'http1', 'g1', 'r1: s1', 'r2: s2'),
  aRoute('HTTPRoute', 'http2', 'g1#l2 g2#l1', 'r1: s3:80'),
  aRoute('HTTPRoute', 'http3', 'g2', 'r1: s3:80'),
  aRoute('UDPRoute', 'udp1', 'g3', 'r1: s3:443', 'r2: s4:80'),
  aRoute('TLSRoute', 'tls1', 'g3 g4', 'r1: s5', 'r2: s5'),
  aRoute('TCPRoute', 'tcp1', 'g4', 'r1: s5 s6', 'r2: s6:80'),
  aRoute('GRPCRoute', 'grpc1', 'g5', 'r1: s7'),
  aService('s1', 'p1:80 p2:443'),
  aService('s2', 'p1:80'),
  aService('s3', 'p1:80 p2:443'),
  ...['s4', 's5', 's6', 's7'].map(name => aService(name, 'p1:80')),
]

t.test('objects alone', t => {
  t.same(drawnFrom([], { collapse }), {})
  t.same(drawnFrom([aClass('class')], { collapse }), { class: '' })
  t.same(drawnFrom(oneOfEach, { collapse }), {
    class: 'gw',
    gw: 'grpc http tcp tls udp',
    http: 'svc',
    grpc: 'svc',
    tcp: 'svc',
    tls: 'svc',
    udp: 'svc',
    svc: '',
  })
  t.same(drawnFrom(many, { collapse }), {
    gc1: 'g1 g2 g3',
    gc2: 'g4 g5',
    g1: 'http1 http2',
    g2: 'http2 http3',
    g3: 'tls1 udp1',
    g4: 'tcp1 tls1',
    g5: 'grpc1',
    http1: 's1 s2',
    http2: 's3',
    http3: 's3',
    udp1: 's3 s4',
    tls1: 's5',
    tcp1: 's5 s6',
    grpc1: 's7',
    ...Object.fromEntries(['s1', 's2', 's3', 's4', 's5', 's6', 's7'].map(name => [name, ''])),
  })
  t.end()
})

t.test('listeners, rules and ports as nodes', t => {
  t.same(drawnFrom(oneOfEach), {
    class: 'gw',
    gw: 'gw#l1',
    'gw#l1': 'grpc http tcp tls udp',
    ...Object.fromEntries(
      ['grpc', 'http', 'tcp', 'tls', 'udp'].flatMap(name => [
        [name, `${name}#rule-1`],
        [`${name}#rule-1`, 'svc'],
      ]),
    ),
    svc: 'svc#web',
    'svc#web': '',
  })
  t.same(drawnFrom(many), {
    gc1: 'g1 g2 g3',
    gc2: 'g4 g5',
    g1: 'g1#l1 g1#l2',
    g2: 'g2#l1',
    g3: 'g3#l1 g3#l2',
    g4: 'g4#l1 g4#l2',
    g5: 'g5#l1',
    'g1#l1': 'http1',
    'g1#l2': 'http1 http2',
    'g2#l1': 'http2 http3',
    'g3#l1': 'tls1 udp1',
    'g3#l2': 'tls1 udp1',
    'g4#l1': 'tcp1 tls1',
    'g4#l2': 'tcp1 tls1',
    'g5#l1': 'grpc1',
    http1: 'http1#r1 http1#r2',
    http2: 'http2#r1',
    http3: 'http3#r1',
    udp1: 'udp1#r1 udp1#r2',
    tls1: 'tls1#r1 tls1#r2',
    tcp1: 'tcp1#r1 tcp1#r2',
    grpc1: 'grpc1#r1',
    'http1#r1': 's1',
    'http1#r2': 's2',
    'http2#r1': 's3#p1',
    'http3#r1': 's3#p1',
    'udp1#r1': 's3#p2',
    'udp1#r2': 's4#p1',
    'tls1#r1': 's5',
    'tls1#r2': 's5',
    'tcp1#r1': 's5 s6',
    'tcp1#r2': 's6#p1',
    'grpc1#r1': 's7',
    s1: 's1#p1 s1#p2',
    s2: 's2#p1',
    s3: 's3#p1 s3#p2',
    s4: 's4#p1',
    s5: 's5#p1',
    s6: 's6#p1',
    s7: 's7#p1',
    ...Object.fromEntries(
      ['s1#p1', 's1#p2', 's2#p1', 's3#p1', 's3#p2', 's4#p1', 's5#p1', 's6#p1', 's7#p1'].map(id => [id, '']),
    ),
  })
  t.end()
})

t.test('rules by name and by number, for every route kind', t => {
  const named = [
    aRoute('HTTPRoute', 'http', '', 'auth-required:', 'public-access:'),
    aRoute('GRPCRoute', 'grpc', '', 'streaming:'),
    aRoute('TCPRoute', 'tcp', '', 'tcp-primary:', '', 'third:'),
    aRoute('TLSRoute', 'tls', '', 'tls-passthrough:'),
    aRoute('UDPRoute', 'udp', '', 'udp-main:'),
  ]
  const routes = topologyOf(named)
    .view({ collapse: [] })
    .nodes.filter(({ section }) => section !== undefined)
  t.equal(
    names(routes),
    'grpc#streaming http#auth-required http#public-access tcp#rule-2 tcp#tcp-primary tcp#third tls#tls-passthrough udp#udp-main',
  )
  t.end()
})

t.test('policies attach to sections by name', t => {
  const objects = [
    aGateway('gw', 'class', 'http', 'https'),
    aPolicy('policy-1', 'Gateway', 'gw', 'http'),
    aPolicy('policy-2', 'Gateway', 'gw', 'https'),
    aPolicy('policy-3', 'Gateway', 'gw', 'nope'),
    aPolicy('policy-4', 'HTTPRoute', 'nowhere'),
    aPolicy('policy-5', 'Service', 'svc', 'web'),
    aService('svc', 'web:80'),
    object(`${gatewayApi}/v1`, 'BackendTLSPolicy', 'tls', {
      targetRefs: [{ group: '', kind: 'Service', name: 'svc' }],
    }),
    object('policies.test/v1', 'NotAPolicy', 'other', {}),
    aClass('class'),
  ]
  t.same(drawnFrom(objects), {
    class: 'gw',
    gw: 'gw#http gw#https',
    'gw#http': '',
    'gw#https': '',
    'gw#nope': '',
    nowhere: '',
    svc: 'svc#web',
    'svc#web': '',
    'policy-1': 'gw#http',
    'policy-2': 'gw#https',
    'policy-3': 'gw#nope',
    'policy-4': 'nowhere',
    'policy-5': 'svc#web',
    tls: 'svc',
  })
  t.same(
    faultsOf(topologyOf(objects).view({ role: 'policy' })),
    ['policy-3 -target-> gw#nope: broken NotFound', 'policy-4 -target-> nowhere: broken NotFound'],
    'dangling policies are reported',
  )
  t.end()
})

t.test('parentRefs', t => {
  const gateways = [aGateway('gw', 'class', 'http', 'https', 'more')]
  const parents = (refs: string) => {
    const topology = topologyOf([...gateways, aRoute('HTTPRoute', 'route', refs)])
    const view = topology.view({ kind: ['Listener', 'HTTPRoute'] })
    return view.edges.map(({ from, state, fields }) => `${short(from)} ${state} ${fields.join(' ')}`)
  }
  const ref = 'spec.parentRefs'
  t.same(parents('gw:80'), [`gw#http ok ${ref}[0]`], 'by port')
  t.same(parents('gw:443'), [`gw#https ok ${ref}[0]`, `gw#more ok ${ref}[0]`])
  t.same(parents('gw#more:443'), [`gw#more ok ${ref}[0]`], 'by name and port')
  t.same(parents('gw#http:443'), [`gw#http:443 broken ${ref}[0]`], 'both have to be right')
  t.same(parents('gw#nope'), [`gw#nope broken ${ref}[0]`], 'no such listener')
  t.same(parents('gw:81'), [`gw#*:81 broken ${ref}[0]`], 'none on that port')
  t.same(parents('nope'), [`nope broken ${ref}[0]`], 'no such Gateway')
  t.same(parents('nope#http'), [`nope broken ${ref}[0]`])
  t.same(parents('gw#http gw#http'), [`gw#http ok ${ref}[0]`], 'equal ones count once')
  t.same(
    parents('gw gw#https'),
    [`gw#http ok ${ref}[0]`, `gw#https ok ${ref}[0] ${ref}[1]`, `gw#more ok ${ref}[0]`],
    'a Gateway and one of its listeners: one edge for each listener',
  )
  t.end()
})

t.test('a listener that changes its port loses and finds routes', t => {
  const topology = topologyOf([
    aGateway('gw', 'class', { name: 'web', port: 80, protocol: 'HTTP' }),
    aRoute('HTTPRoute', 'on-80', 'gw:80'),
    aRoute('HTTPRoute', 'on-81', 'gw:81'),
    aPolicy('policy', 'Gateway', 'gw', 'web'),
  ])
  const web = `${locator(ids.Gateway, 'shop', 'gw')}#web`
  t.equal(names(topology.children(web)), 'on-80')
  topology.apply([created(aGateway('gw', 'class', { name: 'web', port: 81, protocol: 'HTTP' }))])
  t.equal(names(topology.children(web)), 'on-81')
  t.same(topology.parents(locator(ids.HTTPRoute, 'shop', 'on-80')), [])
  t.end()
})

t.test('no node and no path twice', t => {
  const topology = topologyOf([
    aClass('class'),
    aGateway('gw', 'class', 'http', 'https'),
    aRoute('HTTPRoute', 'route', 'gw gw#https', 'svc:80 svc:80', 'rule-1: svc:80'),
    aService('svc', 'web:80'),
  ])
  const paths = topology.pathsTo(locator(ids.GatewayClass, undefined, 'class'), { kind: 'HTTPRouteRule' })
  t.same(paths.map(names), [
    'class gw gw#http route route#rule-1',
    'class gw gw#http route route#rules[0]',
    'class gw gw#https route route#rule-1',
    'class gw gw#https route route#rules[0]',
  ])
  t.same(
    topology
      .view({ kind: ['HTTPRouteRule', 'ServicePort'] })
      .edges.map(({ from, fields }) => [short(from), fields]),
    [
      ['route#rule-1', ['spec.rules[1].backendRefs[0]']],
      ['route#rules[0]', ['spec.rules[0].backendRefs[0]', 'spec.rules[0].backendRefs[1]']],
    ],
    'two references to one port are one edge with two fields',
  )
  t.end()
})

t.test('backends, mirrors and certificates', t => {
  const route = object(`${gatewayApi}/v1`, 'HTTPRoute', 'route', {
    rules: [
      {
        filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { name: 'svc', port: 80 } } }],
        backendRefs: [
          {
            name: 'svc',
            port: 81,
            filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { name: 'svc', port: 9 } } }],
          },
          { group: 'gatewright.io', kind: 'Backend', name: 'outside' },
          { kind: 'Secret', name: 'cert' },
          { name: 'gone', port: 80 },
        ],
      },
    ],
  })
  const tls = { certificateRefs: [{ name: 'cert' }, { name: 'lost' }] }
  const view = topologyOf([
    route,
    aGateway('gw', 'class', { name: 'https', port: 443, protocol: 'HTTPS', tls }),
    object('v1', 'Secret', 'cert', {}),
    object('v1', 'ConfigMap', 'settings', {}),
    object('gatewright.io/v1alpha1', 'Backend', 'outside', { endpoints: [] }),
    aService('svc', 'web:80 81'),
  ]).view()
  const rows = view.edges.filter(({ link }) => ['backend', 'mirror', 'certificate'].includes(link))
  t.same(
    rows.map(({ from, link, to, state, reason }) =>
      [short(from), link, short(to), state, reason?.reason].filter(Boolean).join(' '),
    ),
    [
      'gw#https certificate cert ok',
      'gw#https certificate lost broken NotFound',
      'route#rule-1 backend outside ok',
      'route#rule-1 backend cert broken InvalidKind',
      'route#rule-1 backend gone broken NotFound',
      'route#rule-1 mirror svc#*:9 broken NotFound',
      'route#rule-1 backend svc#81 ok',
      'route#rule-1 mirror svc#web ok',
    ],
  )
  t.same(
    rows.filter(({ link }) => link === 'mirror').map(({ fields }) => fields),
    [
      ['spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef'],
      ['spec.rules[0].filters[0].requestMirror.backendRef'],
    ],
  )
  t.notOk(
    view.nodes.some(({ kind }) => kind === 'ConfigMap'),
    'kinds that are no part of it are no nodes',
  )
  t.end()
})

const grant = (name: string, from: string, to: object) =>
  object(
    `${gatewayApi}/v1beta1`,
    'ReferenceGrant',
    name,
    { from: [{ group: gatewayApi, kind: from, namespace: 'shop' }], to: [to] },
    'bank',
  )

t.test('grants lead to what they permit', t => {
  const topology = topologyOf([
    aRoute('HTTPRoute', 'route', '', 'bank/svc:80 local:80'),
    aService('svc', 'web:80', 'bank'),
    aService('local', 'web:80'),
    grant('all', 'HTTPRoute', { group: '', kind: 'Service' }),
    grant('named', 'HTTPRoute', { group: '', kind: 'Service', name: 'svc' }),
    grant('other', 'HTTPRoute', { group: '', kind: 'Service', name: 'else' }),
    grant('secrets', 'Gateway', { group: '', kind: 'Secret' }),
    aGateway('gw', 'class', {
      name: 'https',
      port: 443,
      protocol: 'HTTPS',
      tls: { certificateRefs: [{ namespace: 'bank', name: 'cert' }] },
    }),
  ])
  const grants = () => drawn(topology.view({ kind: ['ReferenceGrant', 'HTTPRoute', 'Gateway'] }))
  t.match(grants(), { all: 'route', named: 'route', other: '', secrets: 'gw' })
  topology.apply([created(grant('other', 'HTTPRoute', { group: '', kind: 'Service', name: 'svc' }))])
  t.match(grants(), { other: 'route' }, 'a grant that changes finds its routes')
  topology.apply([created(aRoute('HTTPRoute', 'route', '', 'local:80'))])
  t.match(grants(), { all: '', named: '', other: '' }, 'and loses them')
  t.end()
})

/* What was decided elsewhere, drawn on the graph. */

const listenerId = (name: string) => `${locator(ids.Gateway, 'shop', 'gw')}#${name}`
const routeId = locator(ids.HTTPRoute, 'shop', 'route')
const service = locator(ids.Service, 'bank', 'svc')
const notAllowed = { reason: 'NotAllowedByListeners', message: 'takes no routes from shop' }
const attachments: RouteAttachments = {
  route: routeId,
  parents: [
    {
      position: 0,
      parentRef: { name: 'gw' },
      gateway: locator(ids.Gateway, 'shop', 'gw'),
      listeners: [{ listener: listenerId('http'), hostnames: ['*'] }],
      missed: [{ listener: listenerId('https'), reason: notAllowed }],
    },
  ],
}
const backends: RouteBackends = {
  route: routeId,
  references: [
    {
      path: 'spec.rules[0].backendRefs[0]',
      rule: 0,
      ref: { namespace: 'bank', name: 'svc', port: 80 },
      target: { kind: 'invalid', target: service, reason: 'RefNotPermitted', message: 'no grant in bank' },
    },
  ],
}
const decisions: Decisions = {
  attachment: route => (route === routeId ? attachments : undefined),
  backends: route => (route === routeId ? backends : undefined),
}
const decided = [
  aClass('class'),
  aGateway('gw', 'class', 'http', 'https'),
  aRoute('HTTPRoute', 'route', 'gw', 'bank/svc:80', 'gone:80'),
  aService('svc', 'web:80', 'bank'),
  aPolicy('policy-1', 'HTTPRoute', 'route'),
]

t.test('what was refused is drawn as such, with the reason', t => {
  const topology = topologyOf(decided)
  t.same(faultsOf(topology.view()), ['route#rule-2 -backend-> gone: broken NotFound'])
  t.same(faultsOf(topology.view({}, { decisions })), [
    'gw#https -route-> route: refused NotAllowedByListeners',
    'route#rule-1 -backend-> svc#web: broken RefNotPermitted',
    'route#rule-2 -backend-> gone: broken NotFound',
  ])
  t.same(
    faultsOf(topology.view({ collapse: ['Listener'] }, { decisions })).filter(row => row.startsWith('gw')),
    [],
    'a Gateway of which one listener takes the route takes it',
  )
  t.same(
    names(topology.children(listenerId('https'))),
    'route',
    'the graph itself keeps what the objects say',
  )
  t.end()
})

t.test('views: by kind, namespace and name, below a root, to a depth', t => {
  const topology = topologyOf(decided)
  const shown = (options: Parameters<typeof topology.view>[0]) => names(topology.view(options).nodes)
  t.equal(shown({ kind: 'listener' }), 'gw#http gw#https')
  t.equal(shown({ kind: ['Gateway', 'serviceport'] }), 'gw svc#web')
  t.equal(shown({ kind: ids.Gateway }), 'gw')
  t.equal(shown({ namespace: 'bank' }), 'svc svc#web')
  t.equal(shown({ name: 'gw' }), 'gw gw#http gw#https', 'an object with its sections')
  t.equal(shown({ name: 'https' }), 'gw#https')
  t.same(
    topology
      .view({ root: routeId })
      .nodes.map(({ id }) => short(id))
      .sort(),
    ['gone', 'policy-1', 'route', 'route#rule-1', 'route#rule-2', 'svc#web'],
    'with the policies that target what is shown',
  )
  t.same(
    topology
      .view({ root: listenerId('http'), depth: 1 })
      .nodes.map(({ id }) => short(id))
      .sort(),
    ['gw#http', 'policy-1', 'route'],
  )
  t.equal(shown({ root: locator(ids.Gateway, 'shop', 'other') }), '')
  t.end()
})

const live = {
  decisions,
  health: (id: string) => (id === routeId ? ('warning' as const) : undefined),
}

t.test('as a tree', t => {
  const text = toTree(topologyOf(decided).view({}, live))
  t.equal(
    text,
    [
      'GatewayClass class',
      '└─ Gateway shop/gw',
      '   ├─ Listener shop/gw#http',
      '   │  └─ HTTPRoute shop/route [warning]',
      '   │     │  ~ TestPolicy shop/policy-1',
      '   │     ├─ HTTPRouteRule shop/route#rule-1',
      '   │     │  └─ ServicePort bank/svc#web  ✗ RefNotPermitted: no grant in bank',
      '   │     └─ HTTPRouteRule shop/route#rule-2',
      '   │        └─ service shop/gone (missing)  ✗ NotFound: service:shop/gone does not exist',
      '   └─ Listener shop/gw#https',
      '      └─ HTTPRoute shop/route [warning] ↑  ✗ NotAllowedByListeners: takes no routes from shop',
      '',
    ].join('\n'),
  )
  t.end()
})

t.test('as DOT, Mermaid and JSON', t => {
  const view = topologyOf(decided).view({ kind: ['Listener', 'HTTPRoute', 'TestPolicy'] }, live)
  const [http, https] = [listenerId('http'), listenerId('https')]
  const policy = 'testpolicy.policies.test:shop/policy-1'
  t.equal(
    toDot(view),
    `digraph topology {
  rankdir=LR
  node [fontname="sans-serif", fontsize=10]
  edge [fontname="sans-serif", fontsize=8]
  "${http}" [label="Listener\\nshop/gw#http", shape=box, style=filled, fillcolor="#e5e5e5"]
  "${https}" [label="Listener\\nshop/gw#https", shape=box, style=filled, fillcolor="#e5e5e5"]
  "${routeId}" [label="HTTPRoute\\nshop/route", shape=box, style=filled, fillcolor="#fff3cd"]
  "${policy}" [label="TestPolicy\\nshop/policy-1", shape=note, style=dashed]
  "${http}" -> "${routeId}" [comment="route"]
  "${https}" -> "${routeId}" [comment="route", style=dashed, color=red, fontcolor=red, label="NotAllowedByListeners", tooltip="takes no routes from shop"]
  "${policy}" -> "${routeId}" [comment="target", style=dashed]
}
`,
  )
  t.equal(
    toMermaid(view),
    `flowchart LR
  n0["Listener<br/>shop/gw#35;http"]
  n1["Listener<br/>shop/gw#35;https"]
  n2["HTTPRoute<br/>shop/route"]:::warning
  n3>"TestPolicy<br/>shop/policy-1"]
  n0 --> n2
  n1 -. "NotAllowedByListeners" .-> n2
  n3 -.-> n2
  classDef missing stroke:#d33,color:#d33,stroke-dasharray:4
  classDef warning fill:#fff3cd
  classDef error fill:#f8d7da
  linkStyle 1 stroke:#d33,color:#d33
`,
  )
  t.same(JSON.parse(toJSON(view)), view)
  t.end()
})

t.test('names from users do not break an export', t => {
  const nasty = aRoute('HTTPRoute', 'a"b\\c<d>#e', '', 'x')
  const view = topologyOf([nasty, aPolicy('p', 'Nothing', '')]).view()
  t.match(toDot(view), 'a\\"b\\\\c<d>#e')
  t.match(toMermaid(view), 'a#quot;b\\c#lt;d>#35;e')
  t.end()
})

/* Random edits: few names, so that sections, aliases and grants meet, go and come back. */

const pick = (...texts: readonly string[]) => fc.constantFrom(...texts)
const some = (...texts: readonly string[]) =>
  fc.subarray([...texts], { maxLength: 3 }).map(chosen => chosen.join(' '))
const target = pick('gw', 'gw-2')
const rules = fc.array(
  some('svc', 'svc:80', 'svc:81', 'bank/svc:80', 'two:80').chain(backends =>
    pick(backends, `own: ${backends}`, `rule-2: ${backends}`),
  ),
  { maxLength: 3 },
)
const parents = some('gw', 'gw#l1', 'gw#l2', 'gw:80', 'gw#l1:80', 'gw-2:443')
const anObject: fc.Arbitrary<KubeObject> = fc.oneof(
  pick('class', 'other').map(aClass),
  fc
    .tuple(target, pick('class', 'other'), fc.subarray(['l1', 'l2', 'http']))
    .map(([name, gatewayClass, listeners]) => aGateway(name, gatewayClass, ...listeners)),
  fc
    .tuple(pick('a', 'b'), parents, rules)
    .map(([name, refs, all]) => aRoute('HTTPRoute', name, refs, ...all)),
  fc
    .tuple(pick('svc', 'two'), pick('web:80', '80', '81', 'web:81 more:80', '80 80'), pick('shop', 'bank'))
    .map(([name, ports, namespace]) => aService(name, ports, namespace)),
  fc
    .tuple(pick('g1', 'g2'), pick('HTTPRoute', 'Gateway'), pick('svc', 'two', ''))
    .map(([name, from, to]) =>
      grant(name, from, { group: '', kind: 'Service', ...(to !== '' && { name: to }) }),
    ),
  fc
    .tuple(pick('p1', 'p2'), target, pick('l1', 'http', ''))
    .map(([name, gateway, section]) =>
      aPolicy(name, 'Gateway', gateway, section === '' ? undefined : section),
    ),
)

t.test('any sequence of edits gives the graph that building from scratch gives', t => {
  t.doesNotThrow(() => editsEqualScratch(anObject, {}, 100))
  t.end()
})
