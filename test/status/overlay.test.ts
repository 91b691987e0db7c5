import fc from 'fast-check'
import t from 'tap'
import { manualClock } from '../../src/core/index.js'
import type { KubeObject } from '../../src/core/index.js'
import type { Condition } from '../../src/kinds/index.js'
import type { ObjectStatus } from '../../src/model/index.js'
import {
  createStatusBook,
  objectList,
  passes,
  statusList,
  statusOf,
  statusTable,
} from '../../src/status/index.js'
import type { Runtime, Status } from '../../src/status/index.js'
import type { ClientState, TypeState } from '../../src/xds/index.js'

const gatewayId = 'gateway.gateway.networking.k8s.io:infra/public'

const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: '',
  observedGeneration: 3,
})

const accepted = condition('Accepted', 'True', 'Accepted')

function aGateway(...extra: Condition[]): ObjectStatus {
  return {
    kind: 'Gateway',
    addresses: [{ type: 'IPAddress', value: '127.0.0.1' }],
    conditions: [accepted, ...extra],
    listeners: [
      { name: 'http', supportedKinds: [], attachedRoutes: 2, conditions: [accepted] },
      {
        name: 'https',
        supportedKinds: [],
        attachedRoutes: 0,
        conditions: [accepted, condition('Programmed', 'False', 'Invalid')],
      },
    ],
  }
}

const synced: TypeState = { protocol: 'delta', subscribed: '*', sentNonce: '7', state: 'synced' }

const refused = (message: string, ...resources: string[]): TypeState => ({
  ...synced,
  state: 'refused',
  refusal: { message, at: 5, resources },
})

const aProxy = (id: number, types: ClientState['types'] = { listener: synced }): ClientState => ({
  id,
  node: `envoy-${id}`,
  gateway: gatewayId,
  address: '127.0.0.1:1',
  connectedAt: 0,
  types,
})

const running = (...proxies: ClientState[]): Runtime => ({ published: true, proxies })

const find = (conditions: readonly Condition[] | undefined, type: string) =>
  conditions?.find(each => each.type === type)

const programmed = (status: Status) => find(status.conditions, 'Programmed')

const listener = (status: Status, name: string) =>
  find(status.listeners?.find(each => each.name === name)?.conditions, 'Programmed')

t.test('a Gateway is programmed when it is published, has an address and no proxy refuses', t => {
  const status = statusOf(aGateway(), running(aProxy(1), aProxy(2)), { now: 1_000 })
  t.match(programmed(status), { status: 'True', reason: 'Programmed', observedGeneration: 3 })
  t.match(listener(status, 'http'), { status: 'True', reason: 'Programmed' })
  t.match(
    listener(status, 'https'),
    { status: 'False', reason: 'Invalid' },
    'what the model refuses stays refused',
  )
  t.equal(status.listeners?.[0]?.attachedRoutes, 2)
  t.end()
})

t.test('a Gateway waits', t => {
  const unpublished = statusOf(aGateway(), { published: false, proxies: [aProxy(1)] }, { now: 0 })
  t.match(programmed(unpublished), { status: 'False', reason: 'Pending', message: /not been published/ })
  const alone = statusOf(aGateway(), running(), { now: 0 })
  t.match(programmed(alone), { status: 'False', reason: 'Pending', message: /no proxy is connected/ })
  t.match(listener(alone, 'http'), { status: 'False', reason: 'Pending' })
  const homeless = statusOf({ ...aGateway(), addresses: [] } as ObjectStatus, running(aProxy(1)), { now: 0 })
  t.match(programmed(homeless), { status: 'False', reason: 'AddressNotAssigned' })
  const addressed: Runtime = { ...running(aProxy(1)), addresses: [{ type: 'IPAddress', value: '10.0.0.9' }] }
  const housed = statusOf({ ...aGateway(), addresses: [] } as ObjectStatus, addressed, { now: 0 })
  t.match(programmed(housed), { status: 'True' })
  t.same(housed.addresses, [{ type: 'IPAddress', value: '10.0.0.9' }])
  t.end()
})

t.test("a refusal is shown in Envoy's words, without keys, and heals", t => {
  const pem = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'
  const proxies = [aProxy(1), aProxy(2, { listener: refused(`bad filter ${pem} here`, 'infra/public/80') })]
  const bad = statusOf(aGateway(), running(...proxies), { now: 0 })
  t.equal(
    programmed(bad)?.message,
    '1 of 2 proxies refuse listener infra/public/80, what was there stays in use: bad filter [redacted] here',
  )
  t.match(programmed(bad), { status: 'False', reason: 'Invalid' })
  t.match(listener(bad, 'http'), { status: 'False', reason: 'Invalid' })
  const cut = statusOf(
    aGateway(),
    running(aProxy(1, { secret: refused('-----BEGIN RSA-----\nAAAA', 's') })),
    {
      now: 0,
    },
  )
  t.notMatch(JSON.stringify(cut), /AAAA/, 'a block that was cut off is left out as well')
  const well = statusOf(aGateway(), running(aProxy(1), aProxy(2)), { previous: bad, now: 9_000 })
  t.match(programmed(well), { status: 'True', lastTransitionTime: '1970-01-01T00:00:09Z' })
  t.end()
})

t.test('the text of a refusal does not depend on the order of the proxies', t => {
  const proxies = [
    aProxy(1, { route: refused('r', 'b', 'a') }),
    aProxy(2, { cluster: refused('c', 'x') }),
    aProxy(3),
  ]
  const texts = [proxies, [...proxies].reverse()].map(
    some => programmed(statusOf(aGateway(), running(...some), { now: 0 }))?.message,
  )
  t.equal(texts[0], '2 of 3 proxies refuse cluster x, what was there stays in use: c')
  t.equal(texts[1], texts[0])
  t.end()
})

t.test('a Programmed=False of the model outlives happy proxies', t => {
  const status = statusOf(aGateway(condition('Programmed', 'False', 'NoResources')), running(aProxy(1)), {
    now: 0,
  })
  t.match(programmed(status), { status: 'False', reason: 'NoResources' })
  t.equal(status.conditions?.filter(({ type }) => type === 'Programmed').length, 1)
  t.end()
})

t.test('times move only when a status does', t => {
  const clock = manualClock(1_700_000_000_999)
  const book = createStatusBook(clock)
  t.equal(book.update(gatewayId, aGateway(), running()), true)
  const first = book.get(gatewayId)
  t.equal(programmed(first!)?.lastTransitionTime, '2023-11-14T22:13:20Z', 'whole seconds')
  clock.advance(60_000)
  t.equal(book.update(gatewayId, aGateway(), running()), false)
  t.equal(book.get(gatewayId), first, 'equal = the same object')
  t.equal(book.update(gatewayId, aGateway(), { published: false, proxies: [] }), true, 'another message')
  t.equal(programmed(book.get(gatewayId)!)?.lastTransitionTime, '2023-11-14T22:13:20Z', 'but still False')
  t.equal(book.update(gatewayId, aGateway(), running(aProxy(1))), true)
  t.equal(programmed(book.get(gatewayId)!)?.lastTransitionTime, '2023-11-14T22:14:20Z')
  t.equal(find(book.get(gatewayId)?.conditions, 'Accepted')?.lastTransitionTime, '2023-11-14T22:13:20Z')
  t.equal(book.forget(gatewayId), true)
  t.equal(book.forget(gatewayId), false)
  t.equal(book.get(gatewayId), undefined)
  t.end()
})

t.test('parents of a route keep their own times, whatever their order', t => {
  const parent = (name: string, status: Condition['status']) => ({
    parentRef: { name },
    controllerName: 'gatewright.io/gateway-controller',
    conditions: [condition('Accepted', status, 'Accepted')],
  })
  const model = (...parents: ReturnType<typeof parent>[]): ObjectStatus => ({ kind: 'HTTPRoute', parents })
  const runtime = running()
  const first = statusOf(model(parent('a', 'True'), parent('b', 'True')), runtime, { now: 0 })
  const next = statusOf(model(parent('b', 'True'), parent('a', 'False')), runtime, {
    previous: first,
    now: 5_000,
  })
  t.same(
    next.parents?.map(({ conditions }) => conditions[0]?.lastTransitionTime),
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:05Z'],
  )
  t.end()
})

t.test('recomputing changes nothing, for any state of proxies', t => {
  const state = fc.constantFrom<TypeState>(synced, refused('no', 'x'), { ...synced, state: 'waiting' })
  const proxies = fc.array(
    state.map((listener, n = 0) => aProxy(n, { listener })),
    { maxLength: 4 },
  )
  fc.assert(
    fc.property(proxies, fc.boolean(), fc.nat(), fc.nat(), (some, published, now, later) => {
      const first = statusOf(aGateway(), { published, proxies: some }, { now })
      const again = statusOf(aGateway(), { published, proxies: some }, { previous: first, now: now + later })
      const refuses = some.some(({ types }) => types.listener?.state === 'refused')
      const wanted = published && some.length > 0 && !refuses ? 'True' : 'False'
      t.equal(again, first)
      t.equal(programmed(first)?.status, wanted)
    }),
  )
  t.end()
})

t.test('objects are shown as rows and as a List', t => {
  const object = (kind: string, name: string, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace: 'shop' },
    ...more,
  })
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"k":"c2VjcmV0"}}',
    team: 'a',
  }
  const secret = object('Secret', 'tls', {
    metadata: { name: 'tls', namespace: 'shop', annotations, managedFields: [{ manager: 'kubectl' }] },
    type: 'kubernetes.io/tls',
    data: { k: 'c2VjcmV0' },
    stringData: { k: 'c2VjcmV0' },
  })
  const map = object('ConfigMap', 'map', { data: { a: 'b' } })
  const service = object('Service', 'cart', { status: { loadBalancer: {} } })
  const status = statusOf(aGateway(), running(), { now: 0 })
  const lookup = (locator: string) => (locator === 'service:shop/cart' ? status : undefined)

  const all = objectList([secret, map, service], lookup)
  t.notMatch(JSON.stringify(all), /c2VjcmV0|managedFields/)
  t.same(all.items[0]?.metadata.annotations, { team: 'a' })
  t.match(all.items[1], { data: { a: 'b' } })
  t.same(statusList([secret, map, service], lookup).items, [{ ...service, status }])

  const rows = statusTable([secret, service], lookup)
  t.same(
    rows.map(row => [row.kind, row.name, row.part, row.type, row.status]),
    [
      ['Service', 'cart', undefined, 'Accepted', 'True'],
      ['Service', 'cart', undefined, 'Programmed', 'False'],
      ['Service', 'cart', 'listener http', 'Accepted', 'True'],
      ['Service', 'cart', 'listener http', 'Programmed', 'False'],
      ['Service', 'cart', 'listener https', 'Accepted', 'True'],
      ['Service', 'cart', 'listener https', 'Programmed', 'False'],
    ],
  )
  const route: Status = {
    parents: [
      {
        parentRef: { name: 'public', namespace: 'infra', sectionName: 'https', port: 8443 },
        controllerName: 'c',
        conditions: [accepted],
      },
    ],
  }
  t.equal(statusTable([service], () => route)[0]?.part, 'parent Gateway infra/public#https:8443')
  t.end()
})

t.test('a filter takes a kind by any of its names', t => {
  const locator = 'httproute.gateway.networking.k8s.io:shop/cart'
  for (const kind of ['HTTPRoute', 'httproute', 'httproute.gateway.networking.k8s.io'])
    t.ok(passes({ kind: ['Gateway', kind], namespace: 'shop', name: 'cart' }, locator), kind)
  t.notOk(passes({ kind: ['http'] }, locator))
  t.notOk(passes({ namespace: 'other' }, locator))
  t.notOk(passes({ name: 'other' }, locator))
  t.ok(passes({}, locator))
  t.end()
})
