import t from 'tap'
import { locatorOf, section } from '../../src/core/index.js'
import {
  covers,
  intersect,
  meetingHostnames,
  mostSpecific,
  selects,
  widerHostnames,
} from '../../src/kinds/index.js'
import type { GatewayListener, HTTPRoute, ParentReference } from '../../src/kinds/index.js'
import {
  aBackend,
  aClass,
  aGateway,
  aGrant,
  aListener,
  aNamespace,
  aRoute,
  aRule,
  aService,
  aWorld,
} from './world.js'

t.test('hostnames', t => {
  t.equal(covers('*.shop.test', 'a.b.shop.test'), true, 'a wildcard takes any number of labels')
  t.equal(covers('*.shop.test', 'shop.test'), false, 'but not none')
  t.equal(covers('*.shop.test', 'workshop.test'), false, 'and whole labels only')
  t.equal(covers('*', 'a.test'), true)
  const meetings: readonly [string, string, string | undefined][] = [
    ['a.test', 'a.test', 'a.test'],
    ['*.test', 'a.test', 'a.test'],
    ['a.test', '*.test', 'a.test'],
    ['*.test', '*.a.test', '*.a.test'],
    ['*', '*.a.test', '*.a.test'],
    ['*.a.test', 'a.test', undefined],
    ['a.test', 'b.test', undefined],
  ]
  for (const [listener, route, meeting] of meetings) {
    t.equal(intersect(listener, route), meeting, `${listener} meets ${route} in ${meeting ?? 'nothing'}`)
    t.equal(intersect(route, listener), meeting, 'either way')
  }
  t.strictSame(meetingHostnames('*.test', ['B.test', 'a.test', 'other', '*.test', 'a.test']), [
    '*.test',
    'a.test',
    'b.test',
  ])
  t.strictSame(meetingHostnames(undefined, undefined), ['*'])
  t.strictSame(meetingHostnames('a.test', []), ['a.test'])
  t.equal(mostSpecific(['*', '*.test', '*.a.test', 'b.a.test'], 'c.a.test'), '*.a.test')
  t.equal(
    mostSpecific(['*.test', 'a.test'], 'a.test'),
    'a.test',
    'exact goes before a wildcard of equal length',
  )
  t.equal(mostSpecific(['*.test'], 'a.example'), undefined)
  t.strictSame(widerHostnames('a.b.test'), ['*.b.test', '*.test', '*'])
  t.strictSame(widerHostnames('*.b.test'), ['*.test', '*'])
  t.strictSame(widerHostnames('*'), [])
  t.end()
})

t.test('label selectors', t => {
  const labels = { team: 'web', stage: 'live' }
  t.equal(selects({}, labels), true, 'an empty selector takes all')
  t.equal(selects({ matchLabels: { team: 'web', stage: 'test' } }, labels), false, 'all labels must be equal')
  const expression = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', key: string, values?: string[]) =>
    selects({ matchExpressions: [{ key, operator, ...(values && { values }) }] }, labels)
  t.equal(expression('In', 'team', ['web', 'app']), true)
  t.equal(expression('In', 'none', ['web']), false)
  t.equal(expression('NotIn', 'team', ['web']), false)
  t.equal(expression('NotIn', 'none', ['web']), true, 'NotIn takes objects without the label')
  t.equal(expression('Exists', 'team'), true)
  t.equal(expression('DoesNotExist', 'team'), false)
  t.end()
})

// ---- Attachment ----

const shop = [aClass(), aService('web')]

function attach(
  listeners: readonly GatewayListener[],
  route: HTTPRoute,
  more: Parameters<typeof aWorld>[0] = [],
) {
  const world = aWorld([...shop, aGateway('public', listeners), route, ...more])
  return world.references.attachments.get(locatorOf(route))?.parents ?? []
}
const web = (options: Parameters<typeof aRoute>[2] = {}) => aRoute('web', [aRule('/', 'web')], options)
const through = (parentRef: ParentReference) => web({ parentRefs: [parentRef] })

t.test('attachment', t => {
  const two = [aListener('http', 80), aListener('alternate', 8080)]
  const attached = (route: HTTPRoute, listeners = two) =>
    attach(listeners, route).map(parent =>
      parent.listeners.map(({ listener }) => listener.replace(/^.*#/, '')),
    )
  t.strictSame(attached(web()), [['alternate', 'http']], 'the whole Gateway: all its listeners')
  t.strictSame(attached(through({ name: 'public', sectionName: 'http' })), [['http']])
  t.strictSame(attached(through({ name: 'public', port: 8080 })), [['alternate']])
  t.strictSame(
    attached(through({ name: 'public', port: 8080, sectionName: 'http' })),
    [[]],
    'both must be right',
  )
  t.strictSame(attached(through({ name: 'elsewhere' })), [], 'a Gateway that is not there')
  t.strictSame(
    attached(through({ group: '', kind: 'Service', name: 'public' })),
    [],
    'a parent of another kind',
  )
  t.strictSame(
    attached(web({ parentRefs: [{ name: 'public' }, { name: 'public' }] })),
    [['alternate', 'http']],
    'equal parentRefs count once',
  )
  t.end()
})

t.test('why a route does not attach', t => {
  const refused = (
    listener: Partial<GatewayListener>,
    route = web(),
    more: Parameters<typeof aWorld>[0] = [],
  ) => attach([aListener('http', 80, listener)], route, more)[0]?.refused?.reason
  const theirs = web({ namespace: 'blog' })
  const namespaces = (from: 'All' | 'Same' | 'Selector' | 'None', matchLabels?: Record<string, string>) => ({
    allowedRoutes: { namespaces: { from, ...(matchLabels && { selector: { matchLabels } }) } },
  })
  t.equal(refused({}), undefined)
  t.equal(refused({}, through({ name: 'public', sectionName: 'missing' })), 'NoMatchingParent')
  t.equal(refused({}, through({ name: 'public', port: 81 })), 'NoMatchingParent')
  t.equal(refused({ hostname: 'a.test' }, web({ hostnames: ['b.test'] })), 'NoMatchingListenerHostname')
  t.equal(refused({ allowedRoutes: { kinds: [{ kind: 'TCPRoute' }] } }), 'NotAllowedByListeners')
  t.equal(refused({ protocol: 'TLS' }), 'NotAllowedByListeners', 'a protocol that carries no HTTPRoute')
  t.equal(refused({}, theirs), 'NotAllowedByListeners', 'Same is the default')
  t.equal(refused(namespaces('None')), 'NotAllowedByListeners')
  t.equal(refused(namespaces('All'), theirs), undefined)
  t.equal(
    refused(namespaces('Selector', { team: 'web' }), theirs),
    'NotAllowedByListeners',
    'a namespace without labels',
  )
  t.equal(
    refused(namespaces('Selector', { team: 'web' }), theirs, [aNamespace('blog', { team: 'web' })]),
    undefined,
  )
  t.equal(
    refused(namespaces('Selector', { 'kubernetes.io/metadata.name': 'blog' }), theirs),
    undefined,
    'the name is a label, even of a namespace that nobody listed',
  )
  t.equal(
    refused(namespaces('Selector')),
    'NotAllowedByListeners',
    'Selector without a selector takes nothing',
  )
  t.end()
})

t.test('of several listeners the one that came nearest gives the reason', t => {
  const listeners = [
    aListener('other', 80, { hostname: 'a.test' }),
    aListener('closed', 81, { allowedRoutes: { namespaces: { from: 'None' } } }),
  ]
  const [parent] = attach(listeners, web({ hostnames: ['b.test'] }))
  t.equal(parent!.refused!.reason, 'NoMatchingListenerHostname')
  t.strictSame(
    parent!.missed.map(({ reason }) => reason.reason),
    ['NoMatchingListenerHostname', 'NotAllowedByListeners'],
  )
  t.end()
})

// ---- Listeners ----

t.test('listeners that conflict', t => {
  const refusals = (...listeners: readonly GatewayListener[]) => {
    const world = aWorld([aClass(), aGateway('public', listeners)])
    const gateway = locatorOf(aGateway('public', []))
    return listeners.map(
      ({ name }) => world.references.listeners.get(section(gateway, name))?.refused?.reason,
    )
  }
  const https = (name: string, more: Partial<GatewayListener> = {}) =>
    aListener(name, 80, { protocol: 'HTTPS', ...more })
  t.strictSame(refusals(aListener('a', 80), aListener('b', 81)), [undefined, undefined])
  t.strictSame(refusals(aListener('a', 80), aListener('b', 80, { hostname: 'b.test' })), [
    undefined,
    undefined,
  ])
  t.strictSame(
    refusals(aListener('a', 80), aListener('b', 80)),
    ['HostnameConflict', 'HostnameConflict'],
    'nobody wins',
  )
  t.strictSame(
    refusals(aListener('a', 80, { hostname: 'A.test' }), aListener('b', 80, { hostname: 'a.test' })),
    ['HostnameConflict', 'HostnameConflict'],
  )
  t.strictSame(refusals(aListener('a', 80), https('b', { hostname: 'b.test' })), [
    'ProtocolConflict',
    'ProtocolConflict',
  ])
  t.strictSame(
    refusals(aListener('a', 80), aListener('b', 80, { protocol: 'TCP' })),
    [undefined, 'UnsupportedProtocol'],
    'a listener that binds nothing conflicts with nothing',
  )
  t.end()
})

t.test('only Gateways of our classes count, and a class may become ours', t => {
  const world = aWorld([
    aClass('gatewright', 'example.test/other'),
    aGateway('public', [aListener('http', 80)]),
    web(),
  ])
  t.equal(world.references.gateways.size, 0)
  t.equal(world.references.attachments.size, 0)
  world.put(aClass())
  t.equal(world.references.gateways.size, 1)
  t.equal(world.references.attachments.size, 1)
  t.end()
})

// ---- Backends and grants ----

function target(route: HTTPRoute, ...objects: Parameters<typeof aWorld>[0] & object) {
  const world = aWorld([aClass(), aGateway('public', [aListener('http', 80)]), route, ...objects])
  const [reference] = world.references.backends.get(locatorOf(route))!.references
  return reference!.target
}
const to = (ref: object) => aRoute('web', [{ backendRefs: [{ name: 'cart', port: 8080, ...ref }] }])
const reasonOf = (...args: Parameters<typeof target>) => {
  const found = target(...args)
  return found.kind === 'invalid' ? found.reason : found.kind
}

t.test('where a backendRef leads', t => {
  t.strictSame(
    target(
      to({}),
      aService('cart', { ports: [{ name: 'h2', port: 8080, appProtocol: 'kubernetes.io/h2c' }] }),
    ),
    {
      kind: 'service',
      target: 'service:shop/cart',
      port: 8080,
      portName: 'h2',
      appProtocol: 'kubernetes.io/h2c',
    },
  )
  t.equal(
    reasonOf(to({ group: 'gatewright.io', kind: 'Backend' }), aBackend('cart', { endpoints: [] })),
    'backend',
  )
  t.equal(reasonOf(to({})), 'BackendNotFound')
  t.equal(reasonOf(to({ port: 1 }), aService('cart')), 'BackendNotFound', 'a port that is not there')
  t.equal(reasonOf(to({ port: undefined }), aService('cart')), 'BackendNotFound', 'no port')
  t.equal(reasonOf(to({ kind: 'ConfigMap' }), aService('cart')), 'InvalidKind')
  t.equal(reasonOf(to({ group: 'example.test' }), aService('cart')), 'InvalidKind')
  t.equal(reasonOf(to({}), aService('cart', { type: 'ExternalName' })), 'UnsupportedValue')
  t.equal(
    reasonOf(to({}), aService('cart', { ports: [{ port: 8080, protocol: 'UDP' }] })),
    'UnsupportedProtocol',
  )
  t.equal(
    reasonOf(to({}), aService('cart', { ports: [{ port: 8080, appProtocol: 'https' }] })),
    'UnsupportedProtocol',
  )
  t.end()
})

t.test('a reference across namespaces needs a grant that says exactly that', t => {
  const route = to({ namespace: 'stock' })
  const cart = aService('cart', {}, 'stock')
  const from = [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'shop' }]
  const service = [{ group: '', kind: 'Service' }]
  const with_ = (namespace: string, spec: Parameters<typeof aGrant>[2]) =>
    reasonOf(route, cart, aGrant('g', namespace, spec))
  t.equal(reasonOf(route, cart), 'RefNotPermitted')
  t.equal(reasonOf(route), 'RefNotPermitted', 'whether the other namespace has such a Service is not told')
  t.equal(with_('stock', { from, to: service }), 'service')
  t.equal(with_('stock', { from, to: [{ group: '', kind: 'Service', name: 'cart' }] }), 'service')
  t.equal(with_('stock', { from, to: [{ group: '', kind: 'Service', name: 'web' }] }), 'RefNotPermitted')
  t.equal(with_('stock', { from, to: [{ group: '', kind: 'Secret' }] }), 'RefNotPermitted')
  t.equal(with_('shop', { from, to: service }), 'RefNotPermitted', 'a grant counts in its own namespace')
  t.equal(with_('stock', { from: [{ ...from[0]!, namespace: 'blog' }], to: service }), 'RefNotPermitted')
  t.equal(with_('stock', { from: [{ ...from[0]!, kind: 'Gateway' }], to: service }), 'RefNotPermitted')
  t.end()
})
