import { randomUUID } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { kindId, type KubeObject } from '../../src/core/index.js'
import { connect, KubeError, type KubeClient, type KubeList, type WatchEvent } from '../../src/kube/index.js'

const { GATEWRIGHT_TEST_KUBECONFIG: KUBECONFIG } = process.env
const namespace = `kube-client-${randomUUID().slice(0, 8)}`
const services = kindId('', 'Service')
const secrets = kindId('', 'Secret')
const configMaps = kindId('', 'ConfigMap')
const backends = kindId('gatewright.io', 'Backend')

const kubectl = (args: readonly string[], input?: string): string =>
  execFileSync('kubectl', args, {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(input !== undefined && { input }),
  })
const apply = (...objects: readonly object[]): string =>
  kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))

const aConfigMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { of: 'kube-client' } },
  data,
})

async function listed(client: KubeClient, ...asked: Parameters<KubeClient['list']>): Promise<KubeList> {
  const list = await client.list(...asked)
  if (list === 'absent') throw new Error(`${asked[0]} is absent`)
  return list
}

const names = ({ items }: KubeList) => items.map(item => (item as KubeObject).metadata.name)

async function untilItEnds(watch: AsyncIterable<WatchEvent>): Promise<readonly WatchEvent[]> {
  const events: WatchEvent[] = []
  for await (const event of watch) events.push(event)
  return events
}

const { signal } = new AbortController()
const skip = KUBECONFIG === undefined && 'GATEWRIGHT_TEST_KUBECONFIG names no cluster'

void t.test('against a real API server', { skip, timeout: 180_000 }, async t => {
  const client = await connect()
  kubectl(['create', 'namespace', namespace])
  t.teardown(() => {
    client.close()
    kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })
  apply(...['a', 'b', 'c', 'd', 'e'].map(name => aConfigMap(name, { text: 'whole' })))

  const { version: idle } = await listed(client, services)
  await t.test('a watch on which nothing happens ends in time', async t => {
    const events = await untilItEnds(client.watch(services, { version: idle, timeoutMs: 3000, signal }))
    // What other tests leave behind may go just now.
    const isOurs = (event: WatchEvent) =>
      event.type !== 'BOOKMARK' && (event.object as KubeObject).metadata.namespace === namespace
    t.strictSame(events.filter(isOurs), [])
  })

  // A minute long, so beside the others, which change ConfigMaps: without a change there is no bookmark.
  const { version: start } = await listed(client, configMaps)
  const minute = untilItEnds(client.watch(configMaps, { version: start, timeoutMs: 80_000, signal }))

  await t.test('a list comes by page, in part, and as metadata', async t => {
    const all = await listed(client, configMaps, { namespace, pageSize: 2, labelSelector: 'of=kube-client' })
    t.strictSame(names(all), ['a', 'b', 'c', 'd', 'e'])
    t.match(all.items[0], { apiVersion: 'v1', kind: 'ConfigMap', data: { text: 'whole' } })
    t.match(all.version, /^\d+$/)
    t.strictSame(names(await listed(client, configMaps, { namespace, name: 'c' })), ['c'])
    const none = await listed(client, configMaps, { namespace, name: 'none' })
    t.strictSame(names(none), [])
    t.match(none.version, /^\d+$/)
    const metadata = await listed(client, configMaps, { namespace, name: 'c', metadataOnly: true })
    t.match(metadata.items, [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace } }])
    t.notMatch(JSON.stringify(metadata), /whole/)
    t.ok((await listed(client, services)).items.length > 0, 'the API server has its own Service')
  })

  await t.test('a watch tells every change since a version, of metadata too', async t => {
    const { version } = await listed(client, configMaps)
    apply(aConfigMap('new'))
    apply(aConfigMap('new', { text: 'grün 漢字 😀' }))
    kubectl(['delete', 'configmap', 'new', '-n', namespace])
    for (const metadataOnly of [false, true]) {
      const giveUp = new AbortController()
      const events: WatchEvent[] = []
      for await (const event of client.watch(configMaps, { version, metadataOnly, signal: giveUp.signal })) {
        if (event.type === 'BOOKMARK' || (event.object as KubeObject).metadata.namespace !== namespace)
          continue
        events.push(event)
        if (event.type === 'DELETED') giveUp.abort()
      }
      t.match(events, [
        { type: 'ADDED' },
        { type: 'MODIFIED' },
        { type: 'DELETED', object: { kind: 'ConfigMap', metadata: { name: 'new' } } },
      ])
      t.equal(JSON.stringify(events).includes('漢字'), !metadataOnly)
    }
  })

  await t.test('a watch from a version that is still to come is told nothing, and no 410', async t => {
    const { version } = await listed(client, configMaps)
    const later = String(Number(version) + 1_000_000)
    const watch = untilItEnds(client.watch(configMaps, { version: later, timeoutMs: 3000, signal }))
    apply(aConfigMap('unseen'))
    const events = await watch
    t.strictSame(
      events.filter(({ type }) => type !== 'BOOKMARK'),
      [],
    )
  })

  await t.test('a token is reviewed, and what its bearer may do', async t => {
    kubectl(['create', 'serviceaccount', 'caller', '-n', namespace])
    const token = kubectl(['create', 'token', 'caller', '-n', namespace]).trim()
    const caller = await client.reviewToken(token)
    t.match(caller, { username: `system:serviceaccount:${namespace}:caller`, uid: String })
    t.ok(caller?.groups.includes('system:serviceaccounts'))
    t.equal(await client.reviewToken(`${token}x`), undefined)
    t.equal(await client.reviewToken(token, ['somebody-else']), undefined)
    const meant = kubectl(['create', 'token', 'caller', '-n', namespace, '--audience', 'gatewright']).trim()
    t.match(await client.reviewToken(meant, ['gatewright']), { username: caller?.username ?? '' })
    if (caller === undefined) return
    t.equal(await client.whyNotAllowed(caller, { path: '/version', verb: 'get' }), undefined)
    t.match(
      await client.whyNotAllowed(caller, { path: '/v1/reconcile', verb: 'post' }),
      /may not post \/v1\/reconcile/,
    )
  })

  await t.test('Secrets are listed without what they hold', async t => {
    apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace },
      stringData: { key: 'hidden' },
    })
    const list = await listed(client, secrets, { namespace, metadataOnly: true })
    t.strictSame(names(list), ['s'])
    for (const item of list.items)
      t.strictSame(Object.keys(item as object).sort(), ['apiVersion', 'kind', 'metadata'])
  })

  await t.test('a kind is absent until its CRD is there', async t => {
    if ((await client.list(backends)) !== 'absent') return void t.pass('somebody has installed it already')
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'backends.gatewright.io' },
      spec: {
        group: 'gatewright.io',
        scope: 'Namespaced',
        names: { kind: 'Backend', plural: 'backends', singular: 'backend' },
        versions: [
          {
            name: 'v1alpha1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    }
    apply(crd)
    t.teardown(() => kubectl(['delete', 'crd', crd.metadata.name]))
    kubectl(['wait', '--for=condition=Established', `crd/${crd.metadata.name}`])
    // Established comes a moment before the resource is served: until then it is absent, or a failure.
    let list: KubeList | 'absent' = 'absent'
    for (let tries = 0; tries < 50 && list === 'absent'; tries++) {
      kubectl(['get', 'crd', crd.metadata.name])
      list = await client.list(backends).catch((error: unknown) => {
        if (error instanceof KubeError && error.code === 404) return 'absent'
        throw error
      })
    }
    t.match(list, { items: [], version: /^\d+$/ })
  })

  await t.test('a watch has a bookmark each minute, and ends in time', async t => {
    const events = await minute
    t.ok(events.some(({ type, version }) => type === 'BOOKMARK' && /^\d+$/.test(version)))
  })
})
