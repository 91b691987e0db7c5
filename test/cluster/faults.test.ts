/** What happens to a cluster, and to us in it: what is held stays, requests are answered, and then all is as it is. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { eventually } from '../support/load.js'
import { backUp, compact, signal, untilReady, withoutApiServer } from './support/control-plane.js'
import { apply, remove, succeed, whyNoBed } from './support/kubectl.js'
import { aRoute, type Named } from './support/objects.js'
import type { Program } from './support/program.js'
import { read, type Replica } from './support/replica.js'
import { answers, answersNot, ask, edgePort, setStage, tell, type Stage } from './support/stage.js'

const skip = whyNoBed()
const namespace = `faults-${randomUUID().slice(0, 8)}`
const crds = join(new URL('../../', import.meta.url).pathname, 'charts/gatewright/crds')
const [relayAt, newcomerAt] = [22, 23] as const

t.setTimeout(600_000)

interface Faults extends Stage {
  readonly relay: Program
}

void t.test('a cluster in which things go wrong', { skip, timeout: 600_000 }, async t => {
  const stage = await setStage({ namespace, period: 5 })
  t.teardown(() => stage.close())
  const relay = await stage.installation.relay({ last: relayAt })
  const story = (name: string, run: (t: Test, faults: Faults) => Promise<void>) =>
    t.test(name, t =>
      tell(t, stage, async () => {
        const faults = { ...stage, relay }
        await run(t, faults)
        await asListed(t, faults.replicas)
        await asDerivedAnew(t, faults)
      }),
    )
  await story('the API server is away, and comes back', restarted)
  await story('the relay and a replica miss something', missed)
  await story('a relay that slept through a compaction lists again', compacted)
  await story('a right is taken away and given back', forbidden)
  await story('a kind is installed late, and uninstalled', installedLate)
  await story('etcd stands still', stalled)
  await story('etcd is restored from an older copy', restored)
})

const edge = { gateway: 'edge', service: 'steady' }
const aRouteFor = (metadata: Named) => aRoute(metadata, { ...edge, hostname: `${metadata.name}.test` })

/** Both Envoys answer for these names. */
const served = (replicas: readonly Replica[], ...names: readonly string[]) =>
  Promise.all(replicas.flatMap(each => names.map(name => answers(each, edgePort, `${name}.test`, 'steady'))))
const notServed = (replicas: readonly Replica[], ...names: readonly string[]) =>
  Promise.all(replicas.flatMap(each => names.map(name => answersNot(each, edgePort, `${name}.test`))))

interface Readiness {
  readonly status: string
  readonly reasons: readonly string[]
}

const readiness = async ({ addresses }: Replica) =>
  JSON.parse(await read(addresses.ops, '/readyz')) as Readiness

/** Ready all the time, and degraded in the end, with a reason like this. */
async function degraded(t: Test, replicas: readonly Replica[], reason: RegExp, ms = 30_000) {
  for (const each of replicas) {
    const { status } = await eventually(
      () => readiness(each),
      ({ reasons }) => reasons.some(text => reason.test(text)),
      ms,
    )
    t.equal(status, 'degraded', 'what is held is served on')
  }
}

const recovered = (replicas: readonly Replica[]) =>
  Promise.all(
    replicas.map(each =>
      eventually(
        () => readiness(each),
        ({ status }) => status === 'ready',
        40_000,
      ),
    ),
  )

interface Item {
  readonly kind: string
  readonly metadata: { readonly uid: string; readonly resourceVersion: string; readonly name: string }
}

const line = ({ kind, metadata: { name, uid, resourceVersion } }: Item) =>
  [kind, name, uid, resourceVersion].join(' ')

const kinds = 'gatewayclasses,gateways,httproutes,referencegrants,namespaces,services,endpointslices,backends'

/** Both hold what kubectl lists, no more and no less, and of the same versions. */
async function asListed(t: Test, replicas: readonly Replica[]) {
  const itemsOf = (items: readonly Item[]) =>
    items
      .filter(({ kind }) => kind !== 'Secret' && kind !== 'ConfigMap')
      .map(line)
      .sort()
  const listed = async () =>
    itemsOf(
      (JSON.parse((await succeed(['get', kinds, '-A', '-o', 'json'])).output) as { items: Item[] }).items,
    )
  const held = (each: Replica) =>
    each.ask<{ readonly items: readonly Item[] }>('/v1/resources').then(({ items }) => itemsOf(items))
  const first = await agree(t, 'what kubectl lists', () => Promise.all([listed(), ...replicas.map(held)]))
  t.ok(first.length > 5)
}

/** Who starts now, and knows nothing of what was, gives proxies the same as both. */
async function asDerivedAnew(t: Test, { installation, replicas }: Faults) {
  const newcomer = await installation.serve({ last: newcomerAt })
  try {
    const all = [newcomer, ...replicas]
    const first = await agree(t, 'what is derived anew', () => Promise.all(all.map(each => each.xds())))
    t.ok(first.length > 0)
  } finally {
    await newcomer.program.kill()
  }
}

/** All come to say what the first says; resolves with that. */
async function agree(t: Test, what: string, ask: () => Promise<readonly (readonly string[])[]>) {
  const [first = [], ...others] = await eventually(
    ask,
    ([first, ...others]) => others.every(other => other.join() === first?.join()),
    20_000,
  ).catch(ask)
  for (const other of others) t.strictSame(other, first, what)
  return first
}

async function restarted(t: Test, { replicas, named }: Faults) {
  signal('kube-apiserver', 'SIGKILL')
  for (const { program } of replicas) program.signal('SIGHUP')
  await degraded(t, replicas, /^httproute/)
  await untilReady()
  await apply(aRouteFor(named('restarted')))
  await served(replicas, 'restarted')
  await recovered(replicas)
  await remove(aRouteFor(named('restarted')))
  await notServed(replicas, 'restarted')
}

async function missed(t: Test, { replicas, named, relay }: Faults) {
  const [first, second] = replicas as readonly [Replica, Replica]
  await apply(aRouteFor(named('gone')))
  await served(replicas, 'gone')
  await relay.kill()
  await apply(aRouteFor(named('one')), aRouteFor(named('two')))
  await remove(aRouteFor(named('gone')))
  await relay.start()
  await served(replicas, 'one', 'two')
  await notServed(replicas, 'gone')

  second.program.signal('SIGSTOP')
  try {
    await apply(aRouteFor(named('three')))
    await served([first], 'three')
    t.equal((await ask(second, edgePort, 'one.test')).body, 'steady', 'its Envoy goes on')
  } finally {
    second.program.signal('SIGCONT')
  }
  await served([second], 'three')
  await remove(...['one', 'two', 'three'].map(name => aRouteFor(named(name))))
}

async function compacted(t: Test, { replicas, named, relay }: Faults) {
  const relists = () => metricOfRelay('gatewright_relay_relists_total')
  const before = await relists()
  relay.signal('SIGSTOP')
  try {
    await apply(aRouteFor(named('compacted')))
    await compact()
    await withoutApiServer(() => Promise.resolve())
  } finally {
    relay.signal('SIGCONT')
  }
  await apply(aRouteFor(named('later')))
  await served(replicas, 'compacted', 'later')
  t.ok(await eventually(relists, now => now > before, 30_000), 'what it watched from was too old')
  await remove(aRouteFor(named('compacted')), aRouteFor(named('later')))
}

/** The sum of a metric of the relay. */
async function metricOfRelay(name: string): Promise<number> {
  const lines = (await read(`127.0.0.${relayAt}:15001`, '/metrics')).split('\n')
  return lines
    .filter(text => text.startsWith(name))
    .reduce((sum, text) => sum + Number(text.split(' ').at(-1)), 0)
}

interface ClusterRole {
  readonly rules: readonly { readonly resources?: readonly string[]; readonly verbs: readonly string[] }[]
}

async function forbidden(t: Test, { replicas, named, relay }: Faults) {
  const role = JSON.parse(
    (await succeed(['get', 'clusterrole', 'gatewright', '-o', 'json'])).output,
  ) as ClusterRole
  const without = role.rules.flatMap(rule => {
    const { resources = [] } = rule
    if (!resources.includes('httproutes')) return [rule]
    return [
      { ...rule, resources: resources.filter(name => name !== 'httproutes') },
      { ...rule, resources: ['httproutes'], verbs: ['get'] },
    ]
  })
  const setRules = (rules: ClusterRole['rules']) =>
    succeed(['patch', 'clusterrole', 'gatewright', '--type=merge', '-p', JSON.stringify({ rules })])
  await apply(aRouteFor(named('kept')))
  await served(replicas, 'kept')
  await relay.kill()
  await setRules(without)
  try {
    await degraded(t, replicas, /httproute/)
    await apply(aRouteFor(named('meanwhile')))
    await pause(1000)
    for (const each of replicas) {
      t.equal((await ask(each, edgePort, 'kept.test')).body, 'steady')
      t.equal((await ask(each, edgePort, 'meanwhile.test')).status, 404)
    }
  } finally {
    await setRules(role.rules)
    await relay.start()
  }
  await served(replicas, 'kept', 'meanwhile')
  await recovered(replicas)
  await remove(aRouteFor(named('kept')), aRouteFor(named('meanwhile')))
}

async function installedLate(t: Test, { replicas, named, relay, installation, backend }: Faults) {
  const { port } = await backend('direct')
  const host = await installation.address(20)
  const objects = (name: string) => {
    const route = aRouteFor(named(name))
    const to = [{ group: 'gatewright.io', kind: 'Backend', name }]
    return [
      {
        ...{ apiVersion: 'gatewright.io/v1alpha1', kind: 'Backend', metadata: named(name) },
        spec: { endpoints: [{ host, port }] },
      },
      { ...route, spec: { ...route.spec, rules: [{ backendRefs: to }] } },
    ]
  }
  const both = (name: string) =>
    Promise.all(replicas.map(each => answers(each, edgePort, `${name}.test`, 'direct')))
  const uninstall = () => succeed(['delete', '-f', crds])
  const install = async () => {
    await succeed(['apply', '--server-side', '-f', crds])
    await succeed(['wait', '--for=condition=Established', 'crd/backends.gatewright.io', '--timeout=20s'])
  }
  const gone = (name: string) =>
    Promise.all(
      replicas.map(each =>
        eventually(
          () => ask(each, edgePort, `${name}.test`),
          ({ status }) => status === 500,
          25_000,
        ),
      ),
    )
  for (const name of ['with-relay', 'without-relay']) {
    if (name === 'without-relay') await relay.kill()
    await uninstall()
    try {
      // Long enough for everybody to have found it absent.
      await pause(1000)
    } finally {
      await install()
    }
    await apply(...objects(name))
    await both(name)
  }
  await uninstall()
  try {
    await gone('without-relay')
    for (const each of replicas) {
      const { items } = await each.ask<{ readonly items: readonly Item[] }>('/v1/resources')
      t.notOk(
        items.some(({ kind }) => kind === 'Backend'),
        'its objects went with it',
      )
    }
  } finally {
    await install()
  }
  await relay.start()
  for (const name of ['with-relay', 'without-relay']) await remove(...objects(name).slice(1))
}

async function stalled(t: Test, { replicas, named }: Faults) {
  const since = Date.now()
  signal('etcd', 'SIGSTOP')
  try {
    // Lists are answered from the API server's cache, or given up after 30 s: both is well.
    await eventually(
      () => Date.now() - since > 30_000,
      isOver => isOver,
      40_000,
    )
    for (const each of replicas)
      t.match((await readiness(each)).status, /^(ready|degraded)$/, 'what is held is served on')
  } finally {
    signal('etcd', 'SIGCONT')
  }
  await untilReady()
  await apply(aRouteFor(named('stalled')))
  await served(replicas, 'stalled')
  await recovered(replicas)
  await remove(aRouteFor(named('stalled')))
}

async function restored(t: Test, { replicas, named }: Faults) {
  const old = ['changed', 'deleted'].map(name => aRouteFor(named(name)))
  await apply(...old)
  await served(replicas, 'changed', 'deleted')
  const resets = (each: Replica) => each.metric('gatewright_store_resets_total')
  const before = await Promise.all(replicas.map(resets))
  const restore = backUp()
  await apply(aRoute(named('changed'), { ...edge, hostname: 'otherwise.test' }), aRouteFor(named('created')))
  await remove(aRouteFor(named('deleted')))
  // The older the copy, the longer a watch from what was seen last would be silent.
  for (let turn = 0; turn < 15; turn++) await relabel(turn)
  const last = await relabel(15)
  await served(replicas, 'otherwise', 'created')
  await notServed(replicas, 'deleted', 'changed')

  await restore()
  await served(replicas, 'changed', 'deleted')
  await notServed(replicas, 'created', 'otherwise')
  for (const [i, each] of replicas.entries()) t.ok((await resets(each)) > (before[i] ?? 0), 'it says so')
  await asListed(t, replicas)
  await apply(aRouteFor(named('after')))
  await served(replicas, 'after')
  await remove(...['after', 'changed', 'deleted'].map(name => aRouteFor(named(name))))
  await notServed(replicas, 'after', 'changed', 'deleted')
  // Whoever else watches here heard nothing since: up to the version that was the last.
  for (let turn = 16; (await relabel(turn)) <= last; turn++);
}

/** One more version of the cluster; answers which. */
async function relabel(turn: number): Promise<number> {
  const version = '-o=jsonpath={.metadata.resourceVersion}'
  const { output } = await succeed(['label', 'namespace', namespace, `turn=${turn}`, '--overwrite', version])
  return Number(output)
}
