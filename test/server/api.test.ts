import { EventEmitter, once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { setTimeout as later } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Fault } from '../../src/core/index.js'
import { acceptable } from '../../src/server/accept.js'
import { isLoopback, parseAddress } from '../../src/server/address.js'
import { bearerToken, createServer, problemTypes } from '../../src/server/index.js'
import type { ProblemBody, Server, ServerContext, ServerOptions } from '../../src/server/index.js'
import { readSpecification } from '../../src/server/specification.js'
import { badDetails, aWorld, gatewayId, routeId, secretText } from './context.js'
import type { World } from './context.js'

type Answer = Awaited<ReturnType<Server['inject']>>

async function aServer(t: Test, overrides: Partial<ServerContext> = {}, options: ServerOptions = {}) {
  const world = aWorld(overrides)
  const server = await createServer(world.context, options)
  t.teardown(() => server.close())
  return { world, server }
}

/** The body of a problem, held to RFC 9457 and to our table. */
function problem(t: Test, answer: Answer, name: keyof typeof problemTypes): ProblemBody {
  const body = answer.json<ProblemBody>()
  t.match(answer.headers['content-type'], /^application\/problem\+json/, name)
  t.equal(body.type, `urn:gatewright:problem:${name}`)
  t.equal(answer.statusCode, problemTypes[name][0])
  t.equal(body.status, answer.statusCode)
  t.ok(body.title && body.detail)
  t.notMatch(answer.payload, /\.ts|\.js:|node_modules/, 'no stack trace')
  return body
}

const review = (name = 'cart', more: object = {}) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u1',
    kind: { group: 'gateway.networking.k8s.io', version: 'v1', kind: 'HTTPRoute' },
    operation: 'CREATE',
    name,
    object: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name } },
    oldObject: null,
    options: null,
    ...more,
  },
})

const event = (name = 'cart', type = 'MODIFIED') => ({
  type,
  object: { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'shop', resourceVersion: '7' } },
})

const post = (url: string, payload: unknown, type = 'application/json', headers: object = {}) => ({
  method: 'POST' as const,
  url,
  headers: { 'content-type': type, ...headers },
  payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
})

t.test('every operation has a handler, and every handler an operation', async t => {
  const { server } = await aServer(t)
  const { operations } = readSpecification()
  for (const { id, method, path } of operations) {
    const answer = await server.inject({ method: method as 'GET', url: path })
    t.not(answer.statusCode, 404, id)
    t.not(answer.statusCode, 405, id)
    t.ok(answer.statusCode < 500, id)
  }
  t.equal(operations.length, 13)
})

t.test('the examples of openapi.yaml are what its schemas say', t => {
  const document = readSpecification().document as Record<string, unknown>
  const ajv = new Ajv2020({ strict: false })
  ajv.addSchema({ ...document, $id: 'api' })
  let examples = 0
  const visit = (node: unknown, pointer: string): void => {
    if (typeof node !== 'object' || node === null) return
    if ('schema' in node && 'example' in node) {
      examples++
      const valid = ajv.validate({ $ref: `api#${pointer}/schema` }, node.example)
      t.ok(valid, `${pointer}: ${ajv.errorsText()}`)
    }
    for (const [name, part] of Object.entries(node))
      visit(part, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
  visit(document, '')
  t.ok(examples > 12)
  t.end()
})

t.test('the topology', async t => {
  const { server } = await aServer(t)
  const get = (url: string, accept?: string) => server.inject({ url, headers: accept ? { accept } : {} })

  t.test('is given as JSON, whole', async t => {
    const { json, headers } = await get('/v1/topology')
    const graph = json<{ nodes: { id: string; health?: string }[]; edges: { state: string }[] }>()
    t.match(headers['content-type'], /^application\/json/)
    t.equal(graph.nodes[0]?.health, 'ok')
    t.match(graph.edges[0], { from: gatewayId, to: routeId, state: 'broken', reason: { reason: 'R' } })
  })

  t.test('is filtered by what the query says', async t => {
    const query = `kind=Gateway&kind=HTTPRoute&namespace=shop&name=cart&root=${encodeURIComponent(gatewayId)}&depth=2`
    const graph = (await get(`/v1/topology?${query}`)).json<{ nodes: { name: string }[] }>()
    t.same(JSON.parse(graph.nodes[1]?.name ?? ''), {
      kind: ['Gateway', 'HTTPRoute'],
      namespace: 'shop',
      name: 'cart',
      root: gatewayId,
      depth: 2,
    })
  })

  t.test('is given as DOT or Mermaid by Accept or by format', async t => {
    for (const [url, accept, type, text] of [
      ['/v1/topology', 'text/vnd.graphviz', 'text/vnd.graphviz', 'as dot'],
      ['/v1/topology', 'application/json;q=0.1, text/vnd.mermaid', 'text/vnd.mermaid', 'as mermaid'],
      ['/v1/topology?format=dot', 'application/json', 'text/vnd.graphviz', 'as dot'],
    ] as const) {
      const answer = await get(url, accept)
      t.equal(answer.statusCode, 200)
      t.ok(String(answer.headers['content-type']).startsWith(type))
      t.equal(answer.payload, text)
      t.equal(answer.headers.vary, 'accept')
    }
    problem(t, await get('/v1/topology', 'image/png'), 'not-acceptable')
  })

  t.test('gives paths, as many as were asked for', async t => {
    const query = new URLSearchParams({ from: gatewayId, to: routeId, limit: '2' })
    const answer = (await get(`/v1/topology/paths?${query.toString()}`)).json<object>()
    t.match(answer, {
      paths: [
        [gatewayId, routeId],
        [gatewayId, routeId],
      ],
      truncated: true,
    })
  })

  t.test('names what it does not have', async t => {
    const gone = 'service:shop/gone'
    const unknown = problem(t, await get(`/v1/topology?root=${gone}`), 'not-found')
    t.match(unknown.errors, [{ in: 'query', path: 'root' }])
    const paths = problem(t, await get(`/v1/topology/paths?from=${gone}&to=${gone}`), 'not-found')
    t.same(
      paths.errors?.map(({ path }) => path),
      ['from', 'to'],
    )
  })
})

t.test('a query that is not valid names the parameter', async t => {
  const { server } = await aServer(t)
  for (const [url, path] of [
    ['/v1/topology?depth=x', 'depth'],
    ['/v1/topology?depth=-1', 'depth'],
    ['/v1/topology?depth=1', 'depth'],
    ['/v1/topology?root=nonsense', 'root'],
    ['/v1/topology?format=svg', 'format'],
    ['/v1/topology?colour=red', 'colour'],
    ['/v1/topology/paths?to=service:a/b', 'from'],
    ['/v1/topology/paths?from=service:a/b&to=service:a/b&limit=0', 'limit'],
    ['/v1/resources?namespace=', 'namespace'],
    ['/v1/resources?name=a&name=b', 'name'],
    ['/v1/status?kinds=Gateway', 'kinds'],
    ['/v1/xds/resources?type=filter', 'type'],
    ['/healthz?verbose', 'verbose'],
  ] as const) {
    const body = problem(t, await server.inject(url), 'invalid-request')
    t.match(body.errors, [{ in: 'query', path }], url)
    t.ok(body.detail.includes(path))
  }
})

t.test('the objects held are given with their status, and without secrets', async t => {
  const { server } = await aServer(t)
  const all = await server.inject('/v1/resources')
  t.match(all.json(), { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' } })
  t.notMatch(all.payload, secretText)
  const items = all.json<{ items: { kind: string; status?: object; metadata: object }[] }>().items
  t.same(items.map(({ kind }) => kind).sort(), ['ConfigMap', 'Gateway', 'HTTPRoute', 'Secret'])
  t.match(items.find(({ kind }) => kind === 'Gateway')?.status, { conditions: [{ type: 'Programmed' }] })
  t.same(items.find(({ kind }) => kind === 'Secret')?.metadata, {
    name: 'tls',
    namespace: 'shop',
    annotations: { team: 'a' },
  })
  for (const [query, count] of [
    ['kind=gateway', 1],
    ['kind=Gateway&kind=httproute.gateway.networking.k8s.io', 2],
    ['namespace=shop', 3],
    ['namespace=shop&name=cart', 1],
    ['name=nobody', 0],
  ] as const)
    t.equal((await server.inject(`/v1/resources?${query}`)).json<{ items: [] }>().items.length, count, query)
})

t.test('what a schema does not declare never leaves, whoever put it there', async t => {
  const leaky = { id: gatewayId, kind: 'Gateway', name: 'public', token: secretText }
  const { server } = await aServer(t, {
    readiness: () => ({ ready: true, reasons: [], token: secretText }) as never,
    problems: () => [{ severity: 'error', path: '', message: '', rule: '', token: secretText } as never],
    receive: () => ({ accepted: 0, stale: 0, duplicate: 0, rejected: [], token: secretText }) as never,
    topology: { ...aWorld().context.topology, graph: () => ({ nodes: [leaky], edges: [] }) },
    admit: () => ({ allowed: true, patch: secretText }) as never,
  })
  for (const request of [
    '/readyz',
    '/v1/status',
    '/v1/topology',
    post('/webhooks/watch', event()),
    post('/webhooks/admission/validate', review()),
  ]) {
    const answer = await server.inject(request)
    t.ok(answer.statusCode < 300)
    t.notMatch(answer.payload, secretText)
  }
})

t.test('the status is one row per condition, and what is wrong with the files', async t => {
  const { server } = await aServer(t)
  const status = (await server.inject('/v1/status?kind=Gateway')).json<{ conditions: object[] }>()
  t.equal(status.conditions.length, 1)
  t.match(status, {
    conditions: [
      { kind: 'Gateway', namespace: 'infra', name: 'public', type: 'Programmed', status: 'False' },
    ],
    problems: [{ object: routeId, place: { file: 'shop.yaml', line: 3, column: 5 } }],
  })
  t.same((await server.inject('/v1/status?kind=HTTPRoute')).json<{ conditions: [] }>().conditions, [])
})

t.test('xDS', async t => {
  const { server } = await aServer(t)
  t.test('shows the proxies and what they refuse', async t => {
    t.match((await server.inject('/v1/xds/clients')).json(), {
      clients: [
        {
          node: 'envoy-1',
          connectedAt: '1970-01-01T00:00:01.000Z',
          types: {
            listener: { subscribed: '*', refusal: { message: 'no', at: '1970-01-01T00:00:02.000Z' } },
            cluster: { subscribed: '3', state: 'synced' },
          },
        },
      ],
    })
    problem(t, await server.inject('/v1/xds/clients?gateway=gateway:a/b'), 'not-found')
  })
  t.test('shows resources, secrets redacted', async t => {
    const all = await server.inject(`/v1/xds/resources?gateway=${encodeURIComponent(gatewayId)}`)
    t.notMatch(all.payload, secretText)
    t.match(all.json(), {
      resources: [
        { type: 'cluster', name: 'service/shop/cart/80/1', version: 'aa' },
        {
          gateway: gatewayId,
          type: 'secret',
          resource: {
            name: 'shop/tls',
            tls_certificate: {
              private_key: { inline_bytes: '[redacted]' },
              certificate_chain: { inline_bytes: 'cHVibGlj' },
            },
          },
        },
      ],
    })
    const count = async (query: string) =>
      (await server.inject(`/v1/xds/resources?${query}`)).json<{ resources: [] }>().resources.length
    t.equal(await count('type=cluster'), 1)
    t.equal(await count('name=shop/tls'), 1)
    t.equal(await count('type=cluster&name=shop/tls'), 0)
    problem(t, await server.inject('/v1/xds/resources?gateway=gateway:a/b'), 'not-found')
  })
})

t.test('an answer that the caller holds is not sent again', async t => {
  const { world, server } = await aServer(t)
  for (const url of [
    '/v1/topology',
    '/v1/topology?format=dot',
    `/v1/topology/paths?from=${gatewayId}&to=${routeId}`,
    '/v1/resources',
    '/v1/status',
  ]) {
    const first = await server.inject(url)
    const etag = String(first.headers.etag)
    t.match(etag, /^W\/"[\w-]+-\d+-\w+"$/)
    const ask = (tag: string) => server.inject({ url, headers: { 'if-none-match': tag } })
    const again = await ask(`"other", ${etag}`)
    t.equal(again.statusCode, 304, url)
    t.equal(again.payload, '')
    t.equal((await ask('"other"')).statusCode, 200)
    world.store.apply([
      {
        type: 'upsert',
        object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `n${url.length}` } },
      },
    ])
    t.equal((await ask(etag)).statusCode, 200, 'after a change')
  }
  const dot = await server.inject('/v1/topology?format=dot')
  const json = await server.inject({
    url: '/v1/topology',
    headers: { 'if-none-match': String(dot.headers.etag) },
  })
  t.equal(json.statusCode, 200, 'another format is another answer')
  const restarted = await aServer(t)
  const old = String((await restarted.server.inject('/v1/status')).headers.etag)
  t.equal((await server.inject({ url: '/v1/status', headers: { 'if-none-match': old } })).statusCode, 200)
})

t.test('queries wait until the state has settled', async t => {
  let settle = () => {}
  const settled = new Promise<void>(resolve => (settle = resolve))
  const { world, server } = await aServer(t, { settled: () => settled })
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'late' } }
  const answer = server.inject('/v1/resources?kind=Namespace')
  t.equal((await server.inject('/healthz')).statusCode, 200, 'health does not wait')
  world.store.apply([{ type: 'upsert', object }])
  settle()
  t.match((await answer).json(), { items: [{ metadata: { name: 'late' } }] })
})

t.test('a state that does not settle in time is a problem of its own', async t => {
  const { server } = await aServer(t, { settled: () => new Promise(() => {}) }, { timeoutMs: 50 })
  const answer = await server.inject('/v1/topology')
  problem(t, answer, 'timeout')
  t.equal(answer.headers['retry-after'], '1')
})

t.test('admission', async t => {
  const { world, server } = await aServer(t)
  const url = '/webhooks/admission/validate?timeout=10s'

  t.test('answers with the uid of the request', async t => {
    t.match((await server.inject(post(url, review()))).json(), {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'u1', allowed: true, warnings: ['w'] },
    })
    t.match((await server.inject(post(url, review('bad')))).json(), {
      response: { allowed: false, status: { code: 422, message: 'spec: is bad', details: badDetails } },
    })
    const removal = review('cart', { operation: 'DELETE', object: null, oldObject: {} })
    t.equal((await server.inject(post(url, removal))).statusCode, 200)
    t.match(world.reviewed[0], { name: 'cart', object: { kind: 'HTTPRoute' } })
  })

  t.test('names the field of a review that is none', async t => {
    const before = world.reviewed.length
    for (const [body, path] of [
      [{ ...review(), apiVersion: 'admission.k8s.io/v1beta1' }, 'apiVersion'],
      [{ ...review(), request: undefined }, 'request'],
      [review('cart', { uid: '' }), 'request.uid'],
      [review('cart', { uid: 7 }), 'request.uid'],
      [review('cart', { operation: 'PATCH' }), 'request.operation'],
      [review('cart', { object: null }), 'request.object'],
      [review('cart', { object: { apiVersion: 'v1', metadata: {} } }), 'request.object.kind'],
      [review('cart', { kind: { group: '', version: 'v1' } }), 'request.kind.kind'],
      [[], ''],
      ['null', ''],
    ] as const) {
      const answer = problem(t, await server.inject(post(url, body)), 'invalid-request')
      t.match(answer.errors, [{ in: 'body', path }])
    }
    t.equal(world.reviewed.length, before, 'none of them was reviewed')
  })
})

t.test('watch events', t => {
  const url = '/webhooks/watch'
  const cloud = {
    specversion: '1.0',
    id: '1',
    source: 'https://10.0.0.1',
    type: 'dev.knative.apiserver.resource.update',
    data: event().object,
  }

  t.test('are taken one by one, as an array, as lines and as CloudEvents', async t => {
    const { world, server } = await aServer(t)
    const lines = `${JSON.stringify(event('a'))}\n\n${JSON.stringify(event('b'))}\n`
    const ce = {
      'ce-specversion': '1.0',
      'ce-id': '1',
      'ce-source': 'https%3A//10.0.0.1',
      'ce-type': cloud.type,
    }
    for (const [request, expected] of [
      [post(url, event()), [event()]],
      [post(url, event(), 'Application/JSON; charset=utf-8'), [event()]],
      [post(url, [event('a'), event('b', 'DELETED')]), [event('a'), event('b', 'DELETED')]],
      [post(url, []), []],
      [post(url, lines, 'application/x-ndjson'), [event('a'), event('b')]],
      [post(url, cloud, 'application/cloudevents+json'), [cloud]],
      [post(url, [cloud, cloud], 'application/cloudevents-batch+json'), [cloud, cloud]],
      [post(url, cloud.data, 'application/json', ce), [cloud]],
    ] as const) {
      world.received.length = 0
      const answer = await server.inject(request)
      t.match(answer.json(), { accepted: expected.length, rejected: [] })
      t.same(world.received, expected)
    }
    const others = [
      { type: 'BOOKMARK', object: { apiVersion: 'v1', kind: 'Service', metadata: { resourceVersion: '9' } } },
      { type: 'HINT', kind: 'service', key: 'shop/cart', uid: 'u', operation: 'UPDATE', version: '9' },
      { type: 'HINT', kind: 'secret' },
      { type: 'SYNC', syncId: 's', scope: { kind: 'service' }, version: '9', part: 1, of: 1, items: [] },
    ]
    t.equal((await server.inject(post(url, others))).statusCode, 202)
  })

  t.test('that are not well formed change nothing at all', async t => {
    const { world, server } = await aServer(t)
    for (const [body, path] of [
      [{}, 'type'],
      [{ type: 'PATCHED' }, 'type'],
      [{ type: 'ADDED' }, 'object'],
      [
        { type: 'ADDED', object: { apiVersion: 'v1', kind: 'Service', metadata: {} } },
        'object.metadata.name',
      ],
      [[event(), { type: 'DELETED', object: { kind: 'A' } }], '[1].object.apiVersion'],
      [{ type: 'HINT', key: 'service:a/b' }, 'kind'],
      [{ type: 'HINT', kind: 'service', version: 7 }, 'version'],
      [{ ...cloud, type: 'dev.knative.apiserver.ref.update' }, 'data.name'],
      [{ type: 'SYNC', syncId: 's', scope: { kind: 'service', all: true }, part: 1, of: 1 }, 'scope.all'],
      [{ ...cloud, specversion: '0.3' }, 'specversion'],
      [{ ...cloud, data: null }, 'data'],
      ['7', ''],
      [[[event()]], '[0]'],
    ] as const) {
      const answer = problem(t, await server.inject(post(url, body)), 'invalid-request')
      t.match(answer.errors, [{ in: 'body', path }], JSON.stringify(body))
    }
    const line = `${JSON.stringify(event())}\n{"type":`
    const lines = problem(t, await server.inject(post(url, line, 'application/x-ndjson')), 'invalid-body')
    t.match(lines.errors, [{ in: 'body', path: '[1]', message: /line 2/ }])
    t.same(world.received, [])
  })

  t.test('beyond the bound are the relay’s to keep', async t => {
    let store = () => {}
    const stored = new Promise<void>(resolve => (store = resolve))
    const calls = new EventEmitter()
    const receive = () => {
      calls.emit('call')
      return stored.then(() => ({ accepted: 1, stale: 0, duplicate: 0, rejected: [] }))
    }
    const { server } = await aServer(t, { receive }, { maxWaitingEvents: 2 })
    const hold = async () => {
      const called = once(calls, 'call')
      const answer = server.inject(post(url, event()))
      await called
      return { answer }
    }
    const first = await hold()
    const flood = await server.inject(post(url, [event(), event()]))
    problem(t, flood, 'too-many-events')
    t.equal(flood.headers['retry-after'], '1')
    const second = await hold()
    problem(t, await server.inject(post(url, 'not even read')), 'too-many-events')
    store()
    t.equal((await first.answer).statusCode, 202)
    t.equal((await second.answer).statusCode, 202)
    const big = await server.inject(post(url, [event(), event(), event()]))
    t.equal(big.statusCode, 202, 'what is larger than the bound is taken when nothing waits')
  })
  t.end()
})

t.test('reconcile answers what it changed, and takes no body', async t => {
  const { world, server } = await aServer(t)
  const url = '/v1/reconcile'
  t.match((await server.inject({ method: 'POST', url })).json(), { accepted: 1, duplicate: 2, revision: 1 })
  const curl = {
    method: 'POST' as const,
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }
  t.equal((await server.inject(curl)).statusCode, 200, 'as `curl -d ""` sends it')
  problem(t, await server.inject(post(url, {})), 'invalid-request')
  t.equal(world.reconciled, 2)
  const gone = () => Promise.reject(new Fault('DIRECTORY_GONE', 'manifests'))
  const broken = await aServer(t, { reconcile: gone })
  t.match(problem(t, await broken.server.inject({ method: 'POST', url }), 'unavailable').detail, /manifests/)
})

t.test('health, readiness, metrics and the description', async t => {
  const { server } = await aServer(t)
  t.same((await server.inject('/healthz')).json(), { status: 'ok', version: '0.1.0' })
  t.same((await server.inject('/readyz')).json(), { status: 'ready', reasons: [] })
  const degraded = await aServer(t, { readiness: () => ({ ready: true, reasons: ['a.yaml'] }) })
  t.match((await degraded.server.inject('/readyz')).json(), { status: 'degraded', reasons: ['a.yaml'] })
  const held = await aServer(t, { readiness: () => ({ ready: false, reasons: ['a.yaml:3 does not parse'] }) })
  const answer = problem(t, await held.server.inject('/readyz'), 'not-ready')
  t.match(answer.errors, [{ in: 'state', message: 'a.yaml:3 does not parse' }])
  const metrics = await server.inject('/metrics')
  t.match(metrics.headers['content-type'], /^text\/plain/)
  t.match(metrics.payload, /http_request_duration_seconds_count\{operation="getHealth",code="200"\} 1/)
  const description = await server.inject('/openapi.yaml')
  t.match(description.headers['content-type'], /^application\/yaml/)
  t.equal(description.payload, readSpecification().text())
})

t.test('what cannot be answered is a problem, whatever it is', async t => {
  const boom = () => {
    throw new Error(`at /home/me/x.ts:1 ${secretText}`)
  }
  const { server } = await aServer(t, { problems: boom })
  const inject = (request: Parameters<Server['inject']>[0]) => server.inject(request)
  problem(t, await inject('/nowhere'), 'not-found')
  problem(t, await inject('/v1/topology/'), 'not-found')
  const method = await inject({ method: 'DELETE', url: '/v1/topology' })
  problem(t, method, 'method-not-allowed')
  t.equal(method.headers.allow, 'GET, HEAD')
  problem(t, await inject({ method: 'OPTIONS', url: '/v1/reconcile' }), 'method-not-allowed')
  const typed = await inject(post('/webhooks/admission/validate', 'x', 'text/plain'))
  problem(t, typed, 'unsupported-media-type')
  t.equal(typed.headers['accept-post'], 'application/json')
  const lines = post('/webhooks/admission/validate', '{}', 'application/x-ndjson')
  problem(t, await inject(lines), 'unsupported-media-type')
  problem(
    t,
    await inject({ method: 'POST', url: '/webhooks/watch', payload: '{}' }),
    'unsupported-media-type',
  )
  problem(t, await inject({ method: 'POST', url: '/webhooks/watch' }), 'unsupported-media-type')
  problem(t, await inject(post('/webhooks/watch', '{"type":')), 'invalid-body')
  problem(t, await inject(post('/webhooks/watch', '')), 'invalid-body')
  problem(t, await inject(post('/webhooks/watch', '{"__proto__":{"a":1}}')), 'invalid-body')
  problem(t, await inject('/%zz'), 'invalid-body')
  const big = ' '.repeat(3 * 1024 * 1024 + 1)
  problem(t, await inject(post('/webhooks/admission/validate', big)), 'body-too-large')
  t.equal((await inject(post('/webhooks/watch', `${big}[]`))).statusCode, 202, 'a batch may be larger')
  problem(t, await inject(post('/webhooks/watch', ' '.repeat(32 * 1024 * 1024 + 1))), 'body-too-large')
  const internal = await inject('/v1/status')
  t.match(problem(t, internal, 'internal').instance, /^request-\d+$/)
  t.notMatch(internal.payload, secretText)
})

t.test('credentials', async t => {
  const authenticators = [bearerToken('sesame')]
  const { server } = await aServer(t, {}, { authenticators, loopbackExempt: false })
  const get = (url: string, authorization?: string) =>
    server.inject({ url, headers: authorization === undefined ? {} : { authorization } })

  t.test('are asked for everywhere but at open operations', async t => {
    const none = await get('/v1/topology')
    problem(t, none, 'unauthenticated')
    t.equal(none.headers['www-authenticate'], 'Bearer realm="gatewright"')
    for (const wrong of ['Bearer sesam', 'Bearer sesame2', 'Bearer', 'Basic sesame', 'Bearer sesame x'])
      problem(t, await get('/v1/topology', wrong), 'unauthenticated')
    for (const right of ['Bearer sesame', 'bearer sesame'])
      t.equal((await get('/v1/topology', right)).statusCode, 200)
    problem(t, await get('/nowhere'), 'unauthenticated')
    problem(t, await get('/metrics'), 'unauthenticated')
    problem(t, await server.inject(post('/webhooks/watch', event())), 'unauthenticated')
    for (const open of ['/healthz', '/readyz', '/openapi.yaml']) t.equal((await get(open)).statusCode, 200)
    t.equal((await server.inject(post('/webhooks/admission/validate', review()))).statusCode, 200)
  })

  t.test('may be refused for one operation', async t => {
    const { server } = await aServer(
      t,
      {},
      {
        loopbackExempt: false,
        authenticators: [
          {
            offer: 'nothing',
            judge: ({ verb }) =>
              verb === 'post' ? { type: 'forbidden', reason: 'reading only' } : { caller: 'anybody' },
          },
        ],
      },
    )
    t.equal((await server.inject('/v1/topology')).statusCode, 200)
    problem(t, await server.inject({ method: 'POST', url: '/v1/reconcile' }), 'forbidden')
  })

  t.test('that nobody could have are asked for all the same', async t => {
    const { server } = await aServer(t, {}, { loopbackExempt: false })
    problem(t, await server.inject('/v1/topology'), 'forbidden')
  })

  t.test('are needed to listen to more than this machine', async t => {
    const { server } = await aServer(t)
    for (const address of ['0.0.0.0:0', ':0', '[::]:0'])
      await t.rejects(server.listen(address), { code: 'CREDENTIALS_MISSING' })
    const guarded = await aServer(t, {}, { authenticators })
    const url = `http://${(await guarded.server.listen('0.0.0.0:0')).replace('0.0.0.0', '127.0.0.1')}`
    t.equal((await fetch(`${url}/v1/topology`)).status, 401, 'by way of 127.0.0.1 as well')
    const headers = { authorization: 'Bearer sesame' }
    t.equal((await fetch(`${url}/v1/topology`, { headers })).status, 200)
  })
})

t.test('on a real socket', async t => {
  const { world, server } = await aServer(t)
  const address = await server.listen('127.0.0.1:0')
  const port = Number(address.split(':')[1])

  const send = async (headers: object, path = '/v1/status', method = 'GET') => {
    const request = httpRequest({ host: '127.0.0.1', port, path, method, headers: { ...headers } }).end()
    const [response] = (await once(request, 'response')) as [{ statusCode: number; resume(): void }]
    response.resume()
    return response.statusCode
  }

  const raw = async (text: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.end(text)
    let answer = ''
    for await (const part of socket) answer += String(part)
    return answer
  }

  t.test('it answers with the address bound', async t => {
    t.match(address, /^127\.0\.0\.1:\d+$/)
    t.equal((await fetch(`http://${address}/healthz`)).status, 200)
  })

  t.test('an address in use, or none, is named', async t => {
    const other = await aServer(t)
    await t.rejects(other.server.listen(address), { code: 'ADDRESS_IN_USE', message: new RegExp(address) })
    await t.rejects(other.server.listen('nonsense'), { code: 'ADDRESS_UNAVAILABLE' })
    await t.rejects(other.server.listen('127.0.0.1:70000'), { code: 'ADDRESS_UNAVAILABLE' })
  })

  t.test('only this machine’s names are answered to, against DNS rebinding', async t => {
    for (const host of ['localhost', `localhost:${port}`, '127.0.0.1', `127.0.0.1:${port}`, `[::1]:${port}`])
      t.equal(await send({ host }), 200, host)
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      '10.0.0.1',
      '[::2]',
    ])
      t.equal(await send({ host }), 403, host)
    t.equal(await send({ host: 'evil.example' }, '/healthz'), 403)
    t.equal(await send({ host: 'evil.example' }, '/nowhere'), 403)
  })

  t.test('another site’s page gets nothing', async t => {
    const before = world.reconciled
    const host = `127.0.0.1:${port}`
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:1', `https://${host}`])
      t.equal(await send({ host, origin }, '/v1/reconcile', 'POST'), 403, origin)
    t.equal(world.reconciled, before)
    t.equal(await send({ host, origin: `http://${host}` }), 200)
    const { headers } = await fetch(`http://${address}/healthz`)
    t.notOk(headers.get('access-control-allow-origin'))
    t.equal(headers.get('x-content-type-options'), 'nosniff')
  })

  t.test('what is no HTTP is answered with a problem too', async t => {
    t.match(await raw('NONSENSE\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*problem\+json[\s\S]*invalid-request/)
    const long = `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`
    t.match(await raw(long), /^HTTP\/1\.1 431 [\s\S]*header-too-large/)
    t.match(await raw('GET /%zz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'), /problem\+json/)
  })

  t.test('a handler under way is answered before the server has closed', async t => {
    let settle = () => {}
    const settled = new Promise<void>(resolve => (settle = resolve))
    let asked = () => {}
    const arrived = new Promise<void>(resolve => (asked = resolve))
    const waiting = () => {
      asked()
      return settled
    }
    const world = aWorld({ settled: waiting })
    const server = await createServer(world.context)
    const url = `http://${await server.listen('[::1]:0')}`
    const answer = fetch(`${url}/v1/status`)
    await arrived
    const closed = server.close()
    settle()
    t.equal((await answer).status, 200)
    await closed
    await t.rejects(fetch(url))
  })

  t.test('one that never ends is cut off', async t => {
    const world = aWorld({ settled: () => new Promise(() => {}) })
    const server = await createServer(world.context, { closeGraceMs: 20 })
    const answer = fetch(`http://${await server.listen('127.0.0.1:0')}/v1/status`)
    const failed = t.rejects(answer)
    await later(50)
    await server.close()
    await failed
  })
})

t.test('garbage is never our failure, and changes nothing', async t => {
  const { world, server } = await aServer(t)
  const { operations } = readSpecification()
  const types = [
    'application/json',
    'application/x-ndjson',
    'application/cloudevents+json',
    'text/html',
    '',
    ';',
    'a/b;c=',
  ]
  const nearly = fc
    .constantFrom<unknown>(review(), event(), [event()])
    .chain(value => fc.tuple(fc.nat(), fc.jsonValue()).map(([at, other]) => mutated(value, at, other)))
  const request = fc.record({
    operation: fc.constantFrom(...operations),
    method: fc.option(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'), {
      freq: 2,
    }),
    type: fc.constantFrom(...types),
    query: fc.dictionary(
      fc.oneof(fc.constantFrom('kind', 'root', 'depth', 'limit'), fc.string()),
      fc.string(),
      {
        maxKeys: 3,
      },
    ),
    payload: fc.oneof(
      fc.string(),
      fc.json(),
      nearly.map(value => JSON.stringify(value)),
    ),
    headers: fc.dictionary(
      fc.constantFrom('accept', 'if-none-match', 'ce-specversion', 'ce-type', 'authorization'),
      fc.string({ unit: 'grapheme-ascii' }).map(text => text.trim()),
    ),
  })
  const tried = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(request, async ({ operation, method, type, query, payload, headers }) => {
      const before = count(world)
      const search = new URLSearchParams(query).toString()
      const answer = await server.inject({
        method: (method ?? operation.method) as 'GET',
        url: `${operation.path}?${search}`,
        headers: { ...headers, ...(type !== '' && { 'content-type': type }) },
        payload,
      })
      const { statusCode } = answer
      tried.set(statusCode, (tried.get(statusCode) ?? 0) + 1)
      const said = `${statusCode} ${operation.path} ${answer.payload}`
      if (statusCode >= 500) throw new Error(`our failure: ${said}`)
      if (statusCode < 400) return
      if (count(world) !== before) throw new Error(`refused, and yet something changed: ${said}`)
      if (!String(answer.headers['content-type']).startsWith('application/problem+json'))
        throw new Error(said)
    }),
    { numRuns: 1_000 },
  )
  t.ok([200, 400, 404, 405, 415].filter(code => tried.has(code)).length >= 4, JSON.stringify([...tried]))
})

function count({ received, reviewed, reconciled, store }: World): number {
  return received.length + reviewed.length + reconciled + store.snapshot().revision
}

/** The value with its `at`th part replaced. */
function mutated(value: unknown, at: number, other: unknown): unknown {
  let seen = 0
  const total = (JSON.stringify(value).match(/[:,[]/g) ?? []).length
  const target = at % total
  return JSON.parse(JSON.stringify(value), (_key, part: unknown) =>
    seen++ === target ? other : part,
  ) as unknown
}

t.test('Accept is read as RFC 9110 says', t => {
  const offered = ['application/json', 'text/vnd.graphviz']
  for (const [header, chosen] of [
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['text/*', 'text/vnd.graphviz'],
    ['text/vnd.graphviz, */*;q=0.1', 'text/vnd.graphviz'],
    ['application/json;q=0, */*', 'text/vnd.graphviz'],
    ['image/png', undefined],
    ['*/*;q=0', undefined],
    ['text/vnd.graphviz;q=nonsense', undefined],
  ] as const)
    t.equal(acceptable(header, offered), chosen, header ?? 'none')
  t.end()
})

t.test('addresses', t => {
  t.same(parseAddress('127.0.0.1:80'), { host: '127.0.0.1', port: 80 })
  t.same(parseAddress('[::1]:0'), { host: '::1', port: 0 })
  t.same(parseAddress(':80'), { host: '::', port: 80 })
  for (const bad of ['', '80', 'a', '::1:80', 'a:b', '[::1]']) t.throws(() => parseAddress(bad))
  for (const host of ['localhost', 'LOCALHOST', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
    t.ok(isLoopback(host))
  for (const host of ['', '0.0.0.0', '::', '10.0.0.1', '127.evil', 'localhost.evil'])
    t.notOk(isLoopback(host))
  t.end()
})
