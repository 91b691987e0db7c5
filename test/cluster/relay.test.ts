import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { createMetrics, kindId, systemClock } from '../../src/core/index.js'
import type { Clock, KindId, KubeObject } from '../../src/core/index.js'
import { ids } from '../../src/kinds/index.js'
import { connect, type KubeClient } from '../../src/kube/index.js'
import { createServer, hmac } from '../../src/server/index.js'
import { createReceiver, startRelay } from '../../src/sources/index.js'
import type { Credentials, Hint, RelayOptions } from '../../src/sources/index.js'
import { createStore, type Store } from '../../src/store/index.js'
import { aWorld } from '../server/context.js'
import { selfSigned } from '../support/certificates.js'

const { GATEWRIGHT_TEST_KUBECONFIG: KUBECONFIG } = process.env
const skip = KUBECONFIG === undefined && 'GATEWRIGHT_TEST_KUBECONFIG names no cluster'
const suffix = randomUUID().slice(0, 8)
const namespace = `relay-${suffix}`
const meshes = kindId('gateway.networking.x-k8s.io', 'XMesh')
const followed = [ids.Service, ids.EndpointSlice]

/** What takes the relay a second takes a tenth of it: absent kinds are looked for every 1.5 s. */
const hurried: Clock = {
  now: () => systemClock.now(),
  after: (ms, run) => systemClock.after(ms / 10, run),
}

/** While it runs, so does everything else. */
function kubectl(args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile('kubectl', args, (error, output, reason) => {
      if (error) reject(new Error(`kubectl ${args.join(' ')}: ${reason}`, { cause: error }))
      else resolve(output)
    })
    child.stdin?.end(input)
  })
}

const apply = (...objects: readonly object[]) =>
  kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
const remove = (kind: string, ...names: readonly string[]) =>
  kubectl(['delete', kind, '-n', namespace, '--wait=true', ...names])

const service = (name: string, port = 80) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { ports: [{ port }] },
})
const endpoints = (name: string, address: string) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, namespace, labels: { 'kubernetes.io/service-name': 'a' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: [address] }],
  ports: [{ name: '', port: 8080 }],
})

/** Credentials of the relay, and the other side of them. */
interface Trust {
  readonly credentials: Credentials
  readonly tls: { readonly certFile: string; readonly keyFile: string }
}

function aTrust(test: Test): Trust {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-relay-'))
  test.teardown(() => rmSync(folder, { recursive: true }))
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const { chain, key } = selfSigned('replica.test')
  const certFile = write('cert', chain)
  return {
    credentials: { hmacFile: write('hmac', randomUUID()), caFile: certFile, serverName: 'replica.test' },
    tls: { certFile, keyFile: write('key', key) },
  }
}

/** A serving replica: the real server, by HTTPS, that takes signed messages alone; its receiver; its store. */
class Replica {
  readonly store: Store = createStore()
  readonly hints: Hint[] = []
  /** All that was taken, as text. */
  readonly told: string[] = []
  address = ''
  #wake = (): void => undefined

  static async start(test: Test, { credentials, tls }: Trust): Promise<Replica> {
    const replica = new Replica()
    const receiver = createReceiver({ store: replica.store, onHint: hint => replica.hints.push(hint) })
    const { context } = aWorld({
      receive: async messages => {
        replica.told.push(...messages.map(message => JSON.stringify(message)))
        const received = await receiver.receive(messages)
        replica.#wake()
        return received
      },
    })
    const server = await createServer(context, {
      ...{ tls, loopbackExempt: false },
      relayAuthenticators: [await hmac(credentials.hmacFile ?? '')],
    })
    replica.address = await server.listen('127.0.0.1:0')
    test.teardown(async () => {
      receiver.close()
      await server.close()
    })
    return replica
  }

  versions(kind: KindId): readonly string[] {
    return versionsOf(this.store.snapshot().list(kind))
  }

  /** Asked again whenever something has come. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const end = Date.now() + 20_000
    while (!isSo()) {
      if (Date.now() > end) throw new Error(`it never came about: ${what}`)
      await new Promise<void>(resolve => {
        const stop = systemClock.after(200, resolve)
        this.#wake = () => {
          stop()
          resolve()
        }
      })
    }
  }
}

function versionsOf(objects: readonly unknown[]): readonly string[] {
  return (objects as readonly KubeObject[])
    .filter(({ metadata }) => [undefined, namespace].includes(metadata.namespace))
    .map(({ metadata: { name, uid, resourceVersion } }) => `${name} ${uid ?? ''} ${resourceVersion ?? ''}`)
    .sort()
}

async function untilEqual(client: KubeClient, replicas: readonly Replica[]): Promise<void> {
  for (const kind of followed) {
    const list = await client.list(kind)
    const wanted = list === 'absent' ? [] : versionsOf(list.items)
    for (const replica of replicas)
      await replica.until(
        `${kind} as the API server has them`,
        () => replica.versions(kind).join() === wanted.join(),
      )
  }
}

interface World {
  readonly client: KubeClient
  readonly replicas: readonly Replica[]
  readonly relay: ReturnType<typeof startRelay>
  /** A counter of the relay, over all its labels. */
  readonly count: (name: string) => Promise<number>
}

async function aWorldOf(
  test: Test,
  client: KubeClient,
  options: Partial<RelayOptions> & { readonly replicas?: number } = {},
): Promise<World> {
  const { replicas: wanted = 1, ...more } = options
  const trust = aTrust(test)
  const replicas = await Promise.all(Array.from({ length: wanted }, () => Replica.start(test, trust)))
  const metrics = createMetrics()
  const relay = startRelay({
    ...{ client, kinds: followed, clock: hurried, metrics, credentials: trust.credentials },
    targets: replicas.map(({ address }) => `https://${address}`),
    ...more,
  })
  test.teardown(() => relay.close())
  const count = async (name: string) => {
    const lines = (await metrics.text())
      .split('\n')
      .filter(line => line.startsWith(`gatewright_relay_${name}`))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  return { client, replicas, relay, count }
}

/** Watches of this client end after a second each. */
function restless(client: KubeClient): KubeClient {
  return Object.create(client, {
    list: { value: client.list.bind(client) },
    watch: {
      value: (kind: KindId, options: Parameters<KubeClient['watch']>[1]) =>
        client.watch(kind, { ...options, timeoutMs: 1_000 }),
    },
  }) as KubeClient
}

const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'xmeshes.gateway.networking.x-k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'unapproved, a stand-in for tests' },
  },
  spec: {
    group: 'gateway.networking.x-k8s.io',
    scope: 'Cluster',
    names: { kind: 'XMesh', plural: 'xmeshes', singular: 'xmesh' },
    versions: [
      {
        name: 'v1alpha1',
        ...{ served: true, storage: true },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

/** A client whose right to list and watch Services is given and taken. */
async function aWeakClient(test: Test) {
  const name = namespace
  const cluster = JSON.parse(await kubectl(['config', 'view', '--raw', '--minify', '-o', 'json'])) as {
    clusters: object[]
  }
  await kubectl(['create', 'serviceaccount', 'relay', '-n', namespace])
  await kubectl(['create', 'clusterrole', name, '--verb=list,watch', '--resource=services'])
  const token = (await kubectl(['create', 'token', 'relay', '-n', namespace])).trim()
  const [{ name: clusterName } = { name: '' }] = cluster.clusters as { name: string }[]
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-relay-'))
  const kubeconfig = join(folder, 'kubeconfig')
  const context = { name: 'weak', context: { cluster: clusterName, user: 'weak' } }
  const users = [{ name: 'weak', user: { token } }]
  writeFileSync(
    kubeconfig,
    JSON.stringify({ ...cluster, users, contexts: [context], 'current-context': 'weak' }),
  )
  const client = await connect({ kubeconfig })
  test.teardown(async () => {
    client.close()
    rmSync(folder, { recursive: true })
    await kubectl(['delete', 'clusterrole,clusterrolebinding', name, '--ignore-not-found'])
  })
  const subject = `--serviceaccount=${namespace}:relay`
  return {
    client,
    grant: () => kubectl(['create', 'clusterrolebinding', name, `--clusterrole=${name}`, subject]),
    deny: () => kubectl(['delete', 'clusterrolebinding', name]),
  }
}

/** What a replica answers to a message that shows nothing. */
function statusOfUnsigned(address: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    // Who the replica is does not matter to whoever shows nothing.
    const options = { method: 'POST', headers, rejectUnauthorized: false }
    const call = request(`https://${address}/webhooks/watch`, options, answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
    call.on('error', reject)
    call.end('{"type":"HINT","kind":"service"}')
  })
}

// For the whole file; machines are busy.
t.setTimeout(180_000)

void t.test('a relay of a real API server', { skip, timeout: 180_000 }, async t => {
  const client = await connect()
  await kubectl(['create', 'namespace', namespace])
  t.teardown(async () => {
    client.close()
    await kubectl(['delete', 'namespace', namespace, '--wait=false'])
  })
  await apply(service('a'), service('b'), endpoints('a-1', '10.0.0.1'))

  await t.test('every replica has what is there and each change, signed, by HTTPS', async t => {
    const { replicas, relay } = await aWorldOf(t, client, { replicas: 2 })
    await untilEqual(client, replicas)
    for (const { address } of replicas) t.equal(await statusOfUnsigned(address), 401)
    let slowest = 0
    const changes: readonly (() => Promise<unknown>)[] = [
      () => apply(service('c')),
      () => apply(service('a', 81), endpoints('a-2', '10.0.0.2')),
      () => remove('endpointslice', 'a-1'),
      () => remove('service', 'b'),
      () => apply(service('b', 82)),
    ]
    for (const change of changes) {
      await change()
      const since = performance.now()
      await untilEqual(client, replicas)
      slowest = Math.max(slowest, performance.now() - since)
    }
    t.ok(slowest < 2000, `a change is there within ${Math.round(slowest)} ms`)
    t.ok(relay.ready())
    t.strictSame(relay.degraded(), [])
  })

  await t.test('watches that end go on from where they were, and nothing is listed again', async t => {
    const { replicas, count } = await aWorldOf(t, restless(client))
    const [replica] = replicas
    await untilEqual(client, replicas)
    for (let i = 0; i < 8; i++) {
      await apply(service('a', 90 + i), service(`d-${i}`))
      if (i % 2 === 1) await remove('service', `d-${i}`, `d-${i - 1}`)
    }
    await untilEqual(client, replicas)
    t.ok((await count('watch_restarts')) > 3, 'they did end')
    t.equal(await count('relists'), followed.length)
    t.equal(replica?.told.filter(text => text.includes('"SYNC"')).length, followed.length)
  })

  await t.test(
    'of Secrets and ConfigMaps it is told that they changed, and nothing that they hold',
    async t => {
      const hidden = randomUUID()
      const secret = (more: object) => ({
        ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace }, stringData: more },
      })
      await apply(secret({ key: hidden }))
      const { replicas } = await aWorldOf(t, client, { kinds: [ids.Secret, ids.ConfigMap] })
      const [replica] = replicas
      if (replica === undefined) return
      await replica.until('a hint of each kind', () => replica.hints.length >= 2)
      t.strictSame(replica.hints.map(({ kind }) => kind).sort(), ['configmap', 'secret'])
      await apply(secret({ key: hidden, other: hidden }))
      await remove('secret', 's')
      const key = `secret:${namespace}/s`
      const ofIt = () => replica.hints.filter(hint => hint.key === key)
      await replica.until('hints of the Secret', () => ofIt().some(({ operation }) => operation === 'DELETE'))
      t.ok(ofIt().every(({ uid, version }) => uid !== undefined && /^\d+$/.test(version ?? '')))
      const encoded = Buffer.from(hidden).toString('base64')
      t.notOk(replica.told.some(text => text.includes(hidden) || text.includes(encoded)))
      t.strictSame(replica.store.snapshot().list(ids.Secret), [])
    },
  )

  await t.test(
    'a kind that is installed later is taken up, and one that is taken away is told of',
    async t => {
      if ((await client.list(meshes)) !== 'absent') {
        t.pass('somebody has installed it already')
        return
      }
      const { replicas, relay } = await aWorldOf(t, client, { kinds: [meshes] })
      const [replica] = replicas
      if (replica === undefined) return
      await replica.until('readiness', () => relay.ready())
      t.strictSame(relay.degraded(), [], 'an absent kind is nothing wrong')
      await apply(crd)
      t.teardown(() => kubectl(['delete', 'crd', crd.metadata.name, '--ignore-not-found']))
      await kubectl(['wait', '--for=condition=Established', `crd/${crd.metadata.name}`])
      const mesh = {
        apiVersion: 'gateway.networking.x-k8s.io/v1alpha1',
        kind: 'XMesh',
        metadata: { name: suffix },
      }
      await replica.until('its first list', () => replica.told.some(text => text.includes('"SYNC"')))
      await apply({ ...mesh, spec: { controllerName: 'a.test/b' } })
      await replica.until('the object', () => replica.versions(meshes).length === 1)
      await kubectl(['delete', 'crd', crd.metadata.name])
      await replica.until('that it is gone', () => replica.versions(meshes).length === 0)
      await replica.until('a hint of the kind', () => replica.hints.some(({ key }) => key === undefined))
    },
  )

  await t.test('a verb that is taken away is told of, and its return is enough', async t => {
    const { client: weak, grant, deny } = await aWeakClient(t)
    await grant()
    const { replicas, relay } = await aWorldOf(t, restless(weak), { kinds: [ids.Service] })
    const [replica] = replicas
    if (replica === undefined) return
    await replica.until('the Services', () => replica.versions(ids.Service).length > 0)
    const before = replica.versions(ids.Service)
    await deny()
    await replica.until('trouble', () => relay.degraded().length > 0)
    t.match(relay.degraded(), [{ source: 'service', message: /forbidden/ }])
    t.strictSame(replica.versions(ids.Service), before, 'what was told stays')
    await apply(service('meanwhile'))
    await grant()
    await replica.until('what was missed', () =>
      replica.versions(ids.Service).some(text => text.startsWith('meanwhile')),
    )
    await replica.until('peace', () => relay.degraded().length === 0)
  })
})
