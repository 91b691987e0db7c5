/** The composition roots on a cluster, whole: what comes in by each way, what goes to the peers, and who says what. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ClusterAccess } from '../src/cli/index.js'
import { startedWith } from '../src/closing.js'
import { credentialsOf } from '../src/credentials.js'
import { silentLog, type KubeObject } from '../src/core/index.js'
import { ids } from '../src/kinds/index.js'
import { start as startRelay } from '../src/relay.js'
import { start } from '../src/run.js'
import { start as startWebhook } from '../src/webhook.js'
import { ApiServer } from './support/api-server.js'
import { selfSigned, type KeyPair } from './support/certificates.js'
import { eventually } from './support/load.js'

const gatewayClass = anObject('gateway.networking.k8s.io/v1', 'GatewayClass', undefined, 'ours', {
  spec: { controllerName: 'gatewright.io/gateway-controller' },
})
const aRoute = (name: string) =>
  anObject('gateway.networking.k8s.io/v1', 'HTTPRoute', 'shop', name, {
    spec: { parentRefs: [{ name: 'public' }], rules: [{ backendRefs: [{ name: 'cart', port: 80 }] }] },
  })
const aService = (port: number) => anObject('v1', 'Service', 'shop', 'cart', { spec: { ports: [{ port }] } })
const aSecret = (name: string, { chain, key }: KeyPair) =>
  anObject('v1', 'Secret', 'shop', name, {
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': btoa(chain), 'tls.key': btoa(key) },
  })
const gateway = anObject('gateway.networking.k8s.io/v1', 'Gateway', 'shop', 'public', {
  spec: {
    gatewayClassName: 'ours',
    listeners: [
      { name: 'http', port: 8080, protocol: 'HTTP' },
      { name: 'https', port: 8443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'wanted' }] } },
    ],
  },
})

function anObject(
  apiVersion: string,
  kind: string,
  namespace: string | undefined,
  name: string,
  more: object,
): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) }, ...more }
}

/** An API server with a Gateway, and a kubeconfig for it. */
async function aCluster(t: Test) {
  const api = await ApiServer.start()
  t.teardown(() => api.close())
  for (const object of [gatewayClass, gateway, aService(80), aRoute('first')]) api.put(object)
  const pair = selfSigned('shop.test')
  for (const name of ['wanted', 'unwanted']) api.put(aSecret(name, pair))
  const hour = 3_600_000
  const access = (peers: readonly string[] = []): ClusterAccess => ({
    ...{ api: { kubeconfig: api.kubeconfig }, periodMs: hour, peers, peerCredentials: {} },
  })
  return { api, access, pair }
}

const http = '127.0.0.1:0'

async function aReplica(t: Test, from: ClusterAccess, more: { ops?: string } = {}) {
  const running = await start({
    from,
    http,
    xds: http,
    listenerAddress: '127.0.0.1',
    log: silentLog,
    ...more,
  })
  t.teardown(() => running.close())
  return running
}

async function ask(address: string, path: string, body?: unknown): Promise<{ status: number; body: string }> {
  const sent = body !== undefined && {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  }
  const answer = await fetch(`http://${address}${path}`, { ...sent })
  return { status: answer.status, body: await answer.text() }
}

/** The names of the objects of a kind that a replica holds. */
async function held(address: string, kind: string): Promise<string[]> {
  const { body } = await ask(address, `/v1/resources?kind=${kind}`)
  const { items } = JSON.parse(body) as { items: KubeObject[] }
  return items.map(({ metadata }) => metadata.name).sort()
}

const until = <T>(what: () => Promise<T>, is: (answer: T) => boolean) => eventually(what, is, 20_000)

const review = (object: KubeObject, more: object = {}) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u',
    kind: { group: 'gateway.networking.k8s.io', version: 'v1', kind: object.kind },
    ...{ operation: 'CREATE', namespace: 'shop', name: object.metadata.name, object, ...more },
  },
})

t.test('a replica holds what a cluster has, and of Secrets only those that a Gateway names', async t => {
  const { api, access, pair } = await aCluster(t)
  const replica = await aReplica(t, access())
  await replica.ready()
  t.same(await held(replica.http, 'HTTPRoute'), ['first'])
  t.same(await held(replica.http, 'Secret'), ['wanted'])
  const { body } = await ask(
    replica.http,
    '/v1/xds/resources?gateway=gateway.gateway.networking.k8s.io:shop/public',
  )
  t.match(body, /"type":"secret","name":"[^"]*wanted/, 'published together with its certificate')
  const secretLists = api.requests.filter(({ path }) => path.endsWith('/secrets'))
  const whole = secretLists.filter(({ accept }) => !accept.includes('PartialObjectMetadata'))
  t.ok(
    whole.every(({ query }) => query['fieldSelector'] === 'metadata.name=wanted'),
    'others were never read',
  )
  for (const path of ['/v1/resources', '/v1/xds/resources', '/metrics', '/v1/status'])
    t.notMatch((await ask(replica.http, path)).body, btoa(pair.key).slice(100, 160))
})

t.test('what is admitted is read back here and by every peer; a dry run and a denial are not', async t => {
  const { api, access } = await aCluster(t)
  const peer = await aReplica(t, access())
  const webhook = await startWebhook({ from: access([peer.http]), http, log: silentLog })
  t.teardown(() => webhook.close())
  await peer.ready()
  const path = '/webhooks/admission/validate'
  const listsOf = (name: string) =>
    api.requests.filter(({ query }) => query['fieldSelector'] === `metadata.name=${name}`).length

  const dry = await ask(webhook.http, path, review(aRoute('dry'), { dryRun: true }))
  t.match(dry.body, /"allowed":true/)
  const bad = aRoute('bad')
  Object.assign(bad['spec' as keyof KubeObject] as object, { hostnames: ['not a host'] })
  t.match((await ask(webhook.http, path, review(bad))).body, /"allowed":false/)

  api.put(aRoute('second'))
  t.match((await ask(webhook.http, path, review(aRoute('second')))).body, /"allowed":true/)
  await until(
    () => held(peer.http, 'HTTPRoute'),
    names => names.includes('second'),
  )
  t.ok(listsOf('second') >= 2, 'by the webhook side for its own store, and by its peer')
  t.equal(listsOf('dry') + listsOf('bad'), 0)
})

t.test(
  'a webhook side reviews from the start, joins other objects later, and serves nothing else',
  async t => {
    const { api, access } = await aCluster(t)
    api.fail(ids.HTTPRoute, 'hang')
    const webhook = await startWebhook({ from: access(), http, ops: http, log: silentLog })
    t.teardown(() => webhook.close())
    const asked = () => ask(webhook.http, '/webhooks/admission/validate', review(aRoute('x')))
    t.match((await asked()).body, /other objects were not looked at/)
    api.heal(ids.HTTPRoute)
    t.equal((await ask(webhook.http, '/v1/topology')).status, 404)
    t.match((await ask(webhook.http, '/v1/topology')).body, /--role webhook/)
    t.equal((await ask(webhook.http, '/metrics')).status, 404, 'metrics are on their own port')
    t.equal((await ask(webhook.ops ?? '', '/metrics')).status, 200)
    t.equal((await ask(webhook.ops ?? '', '/webhooks/watch', { type: 'BOOKMARK', object: {} })).status, 404)
    api.remove(`${ids.Service}:shop/cart`)
    api.dropWatches()
    await webhook.reconcile()
    await until(asked, ({ body }) => /Service shop\/cart does not exist/.test(body))
    const secrets = api.requests.filter(({ path }) => /secrets|configmaps|endpointslices/.test(path))
    t.same(secrets, [], 'what no review asks about is not read')
  },
)

t.test('a kind that cannot be listed is named, and stays; the rest goes on', async t => {
  const { api, access } = await aCluster(t)
  const replica = await aReplica(t, access())
  await replica.ready()
  api.fail(ids.HTTPRoute, 403)
  api.remove(`${ids.HTTPRoute}:shop/first`)
  api.put(aService(81))
  await replica.reconcile()
  const { status, body } = await ask(replica.http, '/readyz')
  t.equal(status, 200)
  t.match(body, /"degraded".*httproute\.gateway\.networking\.k8s\.io stays as it was/s)
  t.same(await held(replica.http, 'HTTPRoute'), ['first'])
  api.heal(ids.HTTPRoute)
  await replica.reconcile()
  t.same(await held(replica.http, 'HTTPRoute'), [])
  t.match((await ask(replica.http, '/readyz')).body, /"ready"/)
})

t.test('nothing is published, and readiness says why, until every kind has been listed', async t => {
  const { api, access } = await aCluster(t)
  api.fail(ids.Service, 500)
  const replica = await aReplica(t, access())
  const { status, body } = await ask(replica.http, '/readyz')
  t.equal(status, 503)
  t.match(body, /service has not been listed yet/)
  t.same(JSON.parse((await ask(replica.http, '/v1/xds/resources')).body), { resources: [] })
  api.heal(ids.Service)
  await replica.reconcile()
  await replica.ready()
  t.equal((await ask(replica.http, '/readyz')).status, 200)
})

t.test('everything is stopped, in reverse, although stopping one of it fails', async t => {
  const stopped: string[] = []
  const started = startedWith(closing => {
    closing.add(() => stopped.push('first'))
    closing.add(() => Promise.reject(new Error('it would not stop')))
    closing.add(() => stopped.push('last'))
    return Promise.resolve(closing)
  })
  await t.rejects(
    started.then(closing => closing.close()),
    { message: 'it would not stop' },
  )
  t.same(stopped, ['last', 'first'])
  const failed = startedWith(closing => {
    closing.add(() => Promise.reject(new Error('it would not stop')))
    return Promise.reject(new Error('it would not start'))
  })
  await t.rejects(failed, { message: 'it would not start' })
})

t.test('in a pod its own token is shown, unless something else is named', t => {
  const file = '/var/run/secrets/kubernetes.io/serviceaccount/token'
  t.same(credentialsOf({ inCluster: true }, { caFile: 'ca' }), { caFile: 'ca', tokenFile: file })
  t.same(credentialsOf({ inCluster: true }, { hmacFile: 'key' }), { hmacFile: 'key' })
  t.same(credentialsOf({ inCluster: false }, {}), {})
  t.end()
})

t.test('a relay brings what no review tells of', async t => {
  const { api, access } = await aCluster(t)
  const directory = mkdtempSync(join(tmpdir(), 'gatewright-serving-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const hmacFile = join(directory, 'key')
  writeFileSync(hmacFile, 'a key of both\n')
  const replica = await start({
    ...{ from: access(), http, xds: http, ops: http, listenerAddress: '127.0.0.1', log: silentLog, hmacFile },
  })
  t.teardown(() => replica.close())
  await replica.ready()
  const relay = await startRelay({
    ...{
      api: { kubeconfig: api.kubeconfig },
      targets: [`http://${replica.http}`],
      credentials: { hmacFile },
    },
    ...{ ops: http, log: silentLog },
  })
  t.teardown(() => relay.close())
  await until(
    () => ask(relay.ops, '/readyz'),
    ({ status }) => status === 200,
  )
  api.put(aService(81))
  api.remove(`${ids.HTTPRoute}:shop/first`)
  await until(
    () => held(replica.http, 'HTTPRoute'),
    names => names.length === 0,
  )
  await until(
    () => ask(replica.http, '/v1/resources?kind=Service'),
    ({ body }) => body.includes('"port":81'),
  )
  t.match((await ask(relay.ops, '/metrics')).body, /gatewright_relay_posts_total/)
  t.equal((await ask(relay.ops, '/v1/topology')).status, 404)
})
