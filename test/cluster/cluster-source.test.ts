/** The cluster source on a real API server: what is there, what changes, and what fails. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync, mkdtempSync, writeFileSync } from 'node:fs'
import { connect as dial, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createMetrics, kindId } from '../../src/core/index.js'
import type { KindId, Locator } from '../../src/core/index.js'
import { ids } from '../../src/kinds/index.js'
import { connect, type KubeClient } from '../../src/kube/index.js'
import { createCluster } from '../../src/sources/index.js'
import type { ClusterOptions, Wanted } from '../../src/sources/index.js'
import { createStore } from '../../src/store/index.js'

const { GATEWRIGHT_TEST_KUBECONFIG: KUBECONFIG } = process.env
const skip = KUBECONFIG === undefined && 'GATEWRIGHT_TEST_KUBECONFIG names no cluster'
const namespace = `cluster-source-${randomUUID().slice(0, 8)}`
const xBackends = kindId('gateway.networking.x-k8s.io', 'XBackend')

/** While it runs, so does everything else. */
function kubectl(args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile('kubectl', args, { maxBuffer: 2 ** 26 }, (error, output, reason) => {
      if (error) reject(new Error(`kubectl ${args.join(' ')}: ${reason}`, { cause: error }))
      else resolve(output)
    })
    child.stdin?.end(input)
  })
}

const apply = (object: object, ...options: readonly string[]) =>
  kubectl(['apply', '-f', '-', ...options], JSON.stringify(object))
const remove = (kind: string, name: string) => kubectl(['delete', kind, name, '-n', namespace, '--wait=true'])

const aService = (name: string, port = 80) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { ports: [{ port }] },
})
const aSecret = (name: string, text: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  data: { text: btoa(text) },
})
const serviceKey = (name: string): Locator => `${ids.Service}:${namespace}/${name}`
const secretKey = (name: string): Locator => `${ids.Secret}:${namespace}/${name}`

/** What is referenced, as the test says. */
function wantedOf(...first: readonly Locator[]) {
  const keys = new Set(first)
  const listeners = new Set<Parameters<Wanted['subscribe']>[0]>()
  const wanted: Wanted = {
    has: key => keys.has(key),
    keys: () => keys,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const toggle = (key: Locator) => {
    const went = keys.delete(key)
    if (!went) keys.add(key)
    for (const listener of listeners) listener(went ? { came: [], went: [key] } : { came: [key], went: [] })
  }
  return { wanted, toggle }
}

interface Setting extends Partial<Omit<ClusterOptions, 'client' | 'store' | 'wanted'>> {
  readonly referenced?: readonly Locator[]
}

function aWorld(t: Test, client: KubeClient, { referenced = [], ...options }: Setting = {}) {
  const store = createStore({ freeze: true })
  const { wanted, toggle } = wantedOf(...referenced)
  const kinds = [ids.Service, ids.Secret]
  const cluster = createCluster({ client, store, kinds, wanted, periodMs: 3_600_000, ...options })
  t.teardown(() => cluster.close())
  const port = (name: string) => {
    const held = store.snapshot().get(serviceKey(name)) as
      { spec?: { ports: { port: number }[] } } | undefined
    return held?.spec?.ports[0]?.port
  }
  const text = (name: string) => {
    const held = store.snapshot().get(secretKey(name)) as { data?: { text: string } } | undefined
    return held?.data && atob(held.data.text)
  }
  /** Resolves as soon as it is so; asked again whenever something has come. Resolves with the ms that it took. */
  const until = (what: string, isSo: () => boolean) =>
    new Promise<number>((resolve, reject) => {
      const since = performance.now()
      const undo: (() => void)[] = []
      const end = () =>
        undo.forEach(each => {
          each()
        })
      const timer = setTimeout(() => {
        end()
        reject(new Error(`it never came about: ${what}`))
      }, 30_000)
      const look = () => {
        if (!isSo()) return
        clearTimeout(timer)
        setImmediate(end)
        resolve(performance.now() - since)
      }
      undo.push(store.subscribe(look), cluster.subscribe(look))
    })
  const complete = () => until('complete', () => cluster.complete())
  return { store, cluster, toggle, port, text, until, complete }
}

/** A way to the API server that can be cut. */
async function aWay(t: Test) {
  const config = JSON.parse(await kubectl(['config', 'view', '--raw', '--minify', '-o', 'json'])) as Config
  const server = new URL(config.clusters[0]?.cluster.server ?? '')
  const sockets = new Set<Socket>()
  const way = createServer(near => {
    const far = dial(Number(server.port), server.hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => sockets.delete(from))
      from.pipe(to)
    }
  })
  const open = (port: number) => new Promise<void>(resolve => way.listen(port, server.hostname, resolve))
  await open(0)
  const { port } = way.address() as AddressInfo
  const clusters = config.clusters.map(({ name, cluster }) => ({
    name,
    cluster: { ...cluster, server: `https://${server.hostname}:${port}` },
  }))
  const cut = () => {
    way.close()
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(cut)
  return { kubeconfig: aKubeconfig(t, { ...config, clusters }), cut, mend: () => open(port) }
}

interface Config {
  readonly clusters: readonly { readonly name: string; readonly cluster: { readonly server: string } }[]
}

function aKubeconfig(t: Test, config: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-cluster-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'kubeconfig')
  writeFileSync(file, JSON.stringify(config))
  return file
}

/** Who may list the kinds that it is granted. */
async function aWeakKubeconfig(t: Test) {
  const config = JSON.parse(await kubectl(['config', 'view', '--raw', '--minify', '-o', 'json'])) as Config
  await kubectl(['create', 'serviceaccount', 'weak', '-n', namespace])
  const token = (await kubectl(['create', 'token', 'weak', '-n', namespace])).trim()
  const context = { name: 'weak', context: { cluster: config.clusters[0]?.name, user: 'weak' } }
  const users = [{ name: 'weak', user: { token } }]
  const role = (kind: KindId) => `${namespace}-${kind}`
  const kinds: KindId[] = [ids.Service, ids.Secret]
  for (const kind of kinds)
    await kubectl(['create', 'clusterrole', role(kind), '--verb=list', `--resource=${kind}s`])
  t.teardown(async () => {
    for (const kind of kinds)
      await kubectl(['delete', 'clusterrole,clusterrolebinding', role(kind), '--ignore-not-found'])
  })
  const subject = `--serviceaccount=${namespace}:weak`
  return {
    kubeconfig: aKubeconfig(t, { ...config, users, contexts: [context], 'current-context': 'weak' }),
    grant: (kind: KindId) =>
      kubectl(['create', 'clusterrolebinding', role(kind), `--clusterrole=${role(kind)}`, subject]),
    deny: (kind: KindId) => kubectl(['delete', 'clusterrolebinding', role(kind)]),
  }
}

async function aClient(t: Test, kubeconfig?: string): Promise<KubeClient> {
  const client = await connect({ ...(kubeconfig !== undefined && { kubeconfig }) })
  t.teardown(() => client.close())
  return client
}

/** What kubectl says that there is: names and versions. */
async function real(resource: string): Promise<readonly string[]> {
  const path =
    '{range .items[*]}{.metadata.namespace}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}'
  const text = await kubectl(['get', resource, '-A', '-o', `jsonpath=${path}`])
  return text
    .split('\n')
    .filter(line => line !== '')
    .sort()
}

async function eventually(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 30_000; !(await isSo());) {
    if (performance.now() > end) throw new Error(`it never came about: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'xbackends.gateway.networking.x-k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'unapproved, a stand-in for tests' },
  },
  spec: {
    group: 'gateway.networking.x-k8s.io',
    scope: 'Namespaced',
    names: { kind: 'XBackend', plural: 'xbackends', singular: 'xbackend' },
    versions: [
      {
        name: 'v1alpha1',
        ...{ served: true, storage: true },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}
const anXBackend = {
  apiVersion: 'gateway.networking.x-k8s.io/v1alpha1',
  kind: 'XBackend',
  metadata: { name: 'x', namespace },
  spec: { type: 'ExternalHostname', externalHostname: { hostname: 'example.test' }, port: { port: 80 } },
}

// For the whole file; machines are busy.
t.setTimeout(240_000)

void t.test('the source of a real cluster', { skip, timeout: 240_000 }, async t => {
  await kubectl(['create', 'namespace', namespace])
  t.teardown(() => kubectl(['delete', 'namespace', namespace, '--wait=false']))
  await apply(aService('a', 1))
  await apply(aSecret('tls', 'hidden'))
  await apply(aSecret('other', 'nobody asks for it'))

  await t.test('everything that is there is valid and taken, Secrets only where referenced', async t => {
    const kinds = Object.values(ids)
    const referenced = [secretKey('tls'), secretKey('missing')]
    const { store, cluster, text, complete } = aWorld(t, await aClient(t), { kinds, referenced })
    await complete()
    t.strictSame(cluster.degraded(), [])
    t.match(await cluster.reconcile(), { rejected: [], degraded: [], resets: [] })
    const held = (kind: KindId) =>
      store
        .snapshot()
        .list(kind)
        .map(
          ({ metadata: { namespace = '', name, resourceVersion = '' } }) =>
            `${namespace}/${name} ${resourceVersion}`,
        )
        .sort()
    for (const [kind, resource] of [
      [ids.Service, 'services'],
      [ids.EndpointSlice, 'endpointslices'],
    ] as const) {
      // Others write too: until nothing came between.
      await eventually(`${resource} as kubectl sees them`, async () => {
        await cluster.reconcile([kind])
        return held(kind).join() === (await real(resource)).join()
      })
    }
    t.ok(held(ids.Namespace).some(each => each.startsWith(`/${namespace} `)))
    t.equal(text('tls'), 'hidden')
    t.equal(held(ids.Secret).length, 1)
    t.strictSame(held(ids.ConfigMap), [], 'none is referenced, and there are some')
  })

  await t.test('an admitted change is read back, although its hint comes before it', async t => {
    const metrics = createMetrics()
    const { cluster, port, until, complete, store } = aWorld(t, await aClient(t), { metrics })
    await complete()
    const hint = (name: string) => cluster.hint({ kind: ids.Service, key: serviceKey(name) })
    for (const [what, name, change, wanted] of [
      ['created', 'b', () => apply(aService('b', 2)), 2],
      ['changed', 'b', () => apply(aService('b', 3)), 3],
      ['deleted', 'b', () => remove('service', 'b'), undefined],
      ['created again', 'b', () => apply(aService('b', 4)), 4],
    ] as const) {
      hint(name)
      const uid = store.snapshot().get(serviceKey(name))?.metadata.uid
      await change()
      const ms = await until(what, () => port(name) === wanted)
      t.ok(ms < 3000, `${what}: there ${Math.round(ms)} ms after kubectl`)
      if (what === 'created again') t.not(store.snapshot().get(serviceKey(name))?.metadata.uid, uid)
    }
    const { revision } = store.snapshot()
    hint('b')
    await apply(aService('b', 5), '--dry-run=server')
    await eventually('it has been looked for', async () =>
      (await metrics.text()).includes('gatewright_hints_total{result="unchanged"} 1'),
    )
    t.equal(store.snapshot().revision, revision, 'a dry run leaves no trace')
  })

  await t.test('a Secret is read when it is referenced, and when a hint says so; and let go', async t => {
    const { cluster, toggle, text, until, complete } = aWorld(t, await aClient(t))
    await complete()
    t.equal(text('tls'), undefined)
    toggle(secretKey('tls'))
    await until('it is read', () => text('tls') === 'hidden')
    await apply(aSecret('tls', 'renewed'))
    const version = await kubectl([
      'get',
      'secret',
      'tls',
      '-n',
      namespace,
      '-o',
      'jsonpath={.metadata.resourceVersion}',
    ])
    cluster.hint({ kind: ids.Secret, key: secretKey('tls'), version })
    await until('it is read again', () => text('tls') === 'renewed')
    toggle(secretKey('tls'))
    t.equal(text('tls'), undefined)
    toggle(secretKey('tls'))
    await until('the same version comes back', () => text('tls') === 'renewed')
  })

  await t.test('without hints the period bounds the lag', async t => {
    const { port, until, complete } = aWorld(t, await aClient(t), { periodMs: 1000 })
    await complete()
    for (const wanted of [10, 11, 12]) {
      await apply(aService('p', wanted))
      const ms = await until('it is listed', () => port('p') === wanted)
      t.ok(ms < 3000, `there ${Math.round(ms)} ms after kubectl`)
    }
  })

  await t.test('a kind is taken up when its CRD is installed, and gone with it', async t => {
    const kinds = [ids.Service, xBackends]
    const { cluster, store, complete } = aWorld(t, await aClient(t), { kinds })
    await complete()
    t.strictSame((await cluster.reconcile()).absent, [xBackends])
    t.strictSame(cluster.degraded(), [])
    const take = (count: number, isAbsent: boolean) =>
      eventually(`there are ${count}`, async () => {
        const { absent, rejected } = await cluster.reconcile([xBackends])
        t.strictSame(rejected, [])
        return store.snapshot().count(xBackends) === count && absent.includes(xBackends) === isAbsent
      })
    const name = crd.metadata.name
    for (const round of ['once', 'and once more']) {
      await apply(crd)
      await kubectl(['wait', '--for=condition=Established', `crd/${name}`, '--timeout=20s'])
      await apply(anXBackend)
      await take(1, false)
      await kubectl(['delete', 'crd', name])
      await take(0, true)
      t.pass(round)
    }
  })

  await t.test('a right that is taken away leaves its kind as it was, and all others go on', async t => {
    const { kubeconfig, grant, deny } = await aWeakKubeconfig(t)
    await grant(ids.Secret)
    const world = aWorld(t, await aClient(t, kubeconfig), { referenced: [secretKey('tls')] })
    const { cluster, text, port, until, complete } = world
    await until('it is refused', () => cluster.degraded().length > 0)
    t.match(cluster.waitingFor(), [/^service has not been listed yet: .*(403|forbidden)/i])
    t.equal(text('tls'), 'renewed')
    await grant(ids.Service)
    await complete()
    await deny(ids.Secret)
    await apply(aSecret('tls', 'unseen'))
    await apply(aService('a', 7))
    // The API server learns of it a moment later.
    await eventually('it is refused', async () => {
      const { degraded } = await cluster.reconcile()
      return degraded.some(({ source }) => source === ids.Secret)
    })
    t.equal(port('a'), 7)
    t.equal(typeof text('tls'), 'string', 'what is held stays')
    await grant(ids.Secret)
    await until('it is found by itself', () => text('tls') === 'unseen' && cluster.degraded().length === 0)
  })

  await t.test(
    'an API server out of reach leaves everything as it is; its return is found by itself',
    async t => {
      const { kubeconfig, cut, mend } = await aWay(t)
      const world = aWorld(t, await aClient(t, kubeconfig), { referenced: [secretKey('tls')] })
      const { cluster, store, toggle, port, text, until, complete } = world
      await complete()
      const before = store.snapshot()
      cut()
      const { degraded } = await cluster.reconcile()
      t.strictSame(degraded.map(({ source }) => source).sort(), [ids.Secret, ids.Service])
      toggle(secretKey('other'))
      cluster.hint({ kind: ids.Service, key: serviceKey('a') })
      await until('the Secret could not be read', () => cluster.degraded().length === 3)
      t.equal(store.snapshot(), before)
      t.ok(cluster.complete())
      await apply(aService('a', 8))
      await mend()
      await until('all is well again', () => cluster.degraded().length === 0)
      t.strictSame([port('a'), text('other')], [8, 'nobody asks for it'])
    },
  )
})
