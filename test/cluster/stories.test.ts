/** Gatewright on a real API server, as it is installed: what kubectl applies is what Envoys do. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { eventually } from '../support/load.js'
import { call } from './support/replica.js'
import { denied, startDenier } from './support/denier.js'
import { apply, remove, succeed, tokenOf, tryApply, whyNoBed } from './support/kubectl.js'
import { aGateway, aRoute } from './support/objects.js'
import { answers, answersNot, setStage, tell, type Stage } from './support/stage.js'

const skip = whyNoBed()
const namespace = `stories-${randomUUID().slice(0, 8)}`

/** So long may a hint be read back for. */
const readBackMs = 3000

/** The last numbers of addresses that stories take. */
const [denierAt] = [21] as const

const edge = { gateway: 'edge', service: 'steady' }

t.setTimeout(600_000)

void t.test('stories of a cluster', { skip, timeout: 600_000 }, async t => {
  const stage = await setStage({ namespace })
  t.teardown(() => stage.close())
  const story = (name: string, run: (t: Test, stage: Stage) => Promise<void>) =>
    t.test(name, t => tell(t, stage, () => run(t, stage)))
  await story('what the webhook admits is answered by the proxies of every replica', admitted)
  await story('what another webhook denies, and a dry run, leave no trace', deniedElsewhere)
  await story('kubectl tells what is wrong, and what is odd', told)
  await story('only who may call is answered', called)
})

/** The slowest of these was soon enough. */
async function soon(t: Test, what: string, times: readonly Promise<number>[]) {
  const ms = Math.round(Math.max(...(await Promise.all(times))))
  t.ok(ms < 2000, `${what}: after ${ms} ms`)
}

async function admitted(t: Test, { installation, replicas, named, backend, service, relist }: Stage) {
  const [red, blue] = [await backend('red'), await backend('blue')]
  await apply(...service('red', red), ...service('blue', blue))
  await relist()
  const [gateway, port, hostname] = [named('first'), 8081, 'first.test']
  await Promise.all(replicas.map((replica, i) => installation.envoy(replica, gateway, 10 + i)))
  const route = (service: string) => aRoute(named('first'), { gateway: 'first', service, hostname })
  const both = (body: string) => replicas.map(each => answers(each, port, hostname, body))
  await apply(aGateway(gateway, port), route('red'))
  await soon(t, 'a Gateway and a route', both('red'))
  await apply(route('blue'))
  await soon(t, 'a change', both('blue'))
  await remove(route('blue'))
  await soon(
    t,
    'no route any more',
    replicas.map(each => answersNot(each, port, hostname)),
  )
  await remove(aGateway(gateway, port))
}

async function deniedElsewhere(t: Test, { installation, replicas, webhook, named }: Stage) {
  const denier = await startDenier(installation, { ...named('denier'), last: denierAt })
  t.teardown(() => denier.close())
  const there = aRoute(named('there'), { ...edge, hostname: 'there.test' })
  await apply(there)
  await soon(
    t,
    'what is there',
    replicas.map(each => answers(each, 8080, 'there.test', 'steady')),
  )
  const held = () =>
    Promise.all(replicas.map(async each => [await each.objects(namespace), await each.xds()]))
  const before = await held()
  const changed = (name: string, when: 'at-once' | 'late') => {
    const route = aRoute(named(name), { ...edge, hostname: 'other.test' })
    return { ...route, metadata: { ...route.metadata, labels: denied(when) } }
  }
  const reviews = await webhook.reviews()
  for (const when of ['at-once', 'late'] as const) {
    for (const name of ['there', 'new']) {
      const { ok, error } = await tryApply([changed(name, when)])
      t.notOk(ok)
      t.match(error, /denied the request: not by me/)
    }
  }
  const dry = await tryApply([aRoute(named('dry'), { ...edge, hostname: 'dry.test' })], '--dry-run=server')
  t.ok(dry.ok, dry.error)
  const end = Date.now() + readBackMs + 500
  while (Date.now() < end) {
    t.strictSame(await held(), before)
    await pause(250)
  }
  t.equal(denier.denials(), 4)
  t.equal((await webhook.reviews()) - reviews, 5, 'all of them were admitted by ours')
  await remove(there)
}

async function told(t: Test, { webhook, named }: Stage) {
  const odd = aRoute(named('odd'), { ...edge, hostname: 'odd.test', service: 'nowhere' })
  const { ok, error: warnings } = await tryApply([odd])
  t.ok(ok)
  t.match(warnings, `Warning: spec.rules[0].backendRefs[0]: Service ${namespace}/nowhere does not exist yet`)
  await remove(odd)

  // The definitions of a cluster may be older than ours: then the API server itself finds nothing wrong.
  await loosen(t)
  const endpoints = [
    { host: 'a.test', port: 99_999 },
    { host: '', port: 80 },
  ]
  const wrong = {
    ...{ apiVersion: 'gatewright.io/v1alpha1', kind: 'Backend', metadata: named('wrong') },
    spec: { endpoints },
  }
  // What the API server itself refuses it has nobody review.
  const reviews = await webhook.reviews()
  const refused = () => tryApply([wrong], '--validate=ignore')
  await eventually(refused, async () => (await webhook.reviews()) > reviews)
  const denial = await refused()
  t.notOk(denial.ok)
  t.match(denial.error, /^The Backend "wrong" is invalid/m)
  t.match(denial.error, /^\* spec\.endpoints\[0\]\.port: Invalid value: 99999/m)
  t.match(denial.error, /^\* spec\.endpoints\[1\]\.host: must be a host name/m)
}

/** Has the API server take Backends of any shape, until the end of the test. */
async function loosen(t: Test) {
  const name = 'crd/backends.gatewright.io'
  const before = (await succeed(['get', name, '-o', 'json'])).output
  t.teardown(() => succeed(['replace', '-f', '-'], before.replace(/"resourceVersion": "\d+",/, '')))
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const patch = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: schema }]
  await succeed(['patch', name, '--type=json', '-p', JSON.stringify(patch)])
}

async function called(t: Test, { installation, replicas }: Stage) {
  await succeed(['create', 'serviceaccount', 'nobody', '-n', namespace])
  const nobody = await tokenOf('nobody', namespace)
  const { caller } = installation
  const { ca, serverName, token: viewer = '' } = caller
  for (const { addresses } of replicas) {
    const status = async (token: string | undefined, path: string, body?: string) => {
      const who = { ca, serverName, ...(token !== undefined && { token }) }
      const how = body === undefined ? {} : { method: 'POST', body }
      return (await call(addresses.http, who, path, how)).status
    }
    t.equal(await status(undefined, '/v1/topology'), 401, 'without a token')
    t.equal(await status(`${viewer.slice(0, -8)}AAAAAAAA`, '/v1/topology'), 401, 'with a forged one')
    t.equal(await status(nobody, '/v1/topology'), 403, 'without a right')
    t.equal(await status(viewer, '/v1/topology'), 200)
    const hint = '{"type":"HINT","kind":"service"}'
    for (const [token, wanted] of [
      [undefined, 401],
      [nobody, 403],
      [viewer, 403],
    ] as const)
      t.equal(await status(token, '/webhooks/watch', hint), wanted, 'who is no relay and no replica')
  }
}
