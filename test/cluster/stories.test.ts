/** Gatewright on a real API server, as it is installed: what kubectl applies is what Envoys do. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { selfSigned, signedUntil, type KeyPair } from '../support/certificates.js'
import { eventually } from '../support/load.js'
import { call, type Replica } from './support/replica.js'
import { openBlackHole } from './support/black-hole.js'
import { denied, startDenier } from './support/denier.js'
import { serverName, type Installation } from './support/installation.js'
import { apply, failedOpen, remove, succeed, tokenOf, tryApply, whyNoBed } from './support/kubectl.js'
import { aGateway, aRoute, aTlsSecret } from './support/objects.js'
import {
  answers,
  answersNot,
  ask,
  edgePort,
  setStage,
  shows,
  showsAt,
  tell,
  type Stage,
} from './support/stage.js'

const skip = whyNoBed()
const namespace = `stories-${randomUUID().slice(0, 8)}`

/** So long may a hint be read back for. */
const readBackMs = 3000

/** The last numbers of addresses that stories take. */
const [denierAt, relayAt, blackHoleAt, slowAt] = [21, 22, 23, 24] as const

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
  await story(
    'with a relay endpoints and certificates follow, and Secrets that nobody names stay out',
    relayed,
  )
  await story('how long each of the three modes takes', lags)
  await story('a replica and the relay are killed, and catch up', killed)
  await story('a webhook whose certificate expired is done without, until it has another', expired)
  await story('a webhook that never answers is waited for as long as it may take', blackHoled)
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
    replicas.map(each => answers(each, edgePort, 'there.test', 'steady')),
  )
  const both = ['there', 'new']
  const held = () =>
    Promise.all(replicas.map(async each => [await each.objects(namespace), await each.xds()]))
  const before = await held()
  const changed = (name: string, when: 'at-once' | 'late') => {
    const route = aRoute(named(name), { ...edge, hostname: 'other.test' })
    return { ...route, metadata: { ...route.metadata, labels: denied(when) } }
  }
  const reviews = await webhook.reviews()
  const inVain = () =>
    Promise.all(replicas.map(each => each.metric('gatewright_hints_total', 'result="unchanged"')))
  const already = await inVain()
  for (const when of ['at-once', 'late'] as const) {
    for (const name of both) {
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
  // Every replica was told of both routes, and looked for what never came.
  await eventually(inVain, counts => counts.every((count, i) => count >= (already[i] ?? 0) + both.length))
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

async function relayed(t: Test, stage: Stage) {
  const { installation, replicas, named, backend, service } = stage
  const relay = await installation.relay({ last: relayAt })
  t.teardown(() => relay.kill())
  const [gateway, port, hostname] = [named('secure'), 8443, 'secure.test']
  const [old, young] = [selfSigned(hostname), selfSigned(hostname)]
  await Promise.all(replicas.map((replica, i) => installation.envoy(replica, gateway, 20 + i)))
  const [north, south] = [await backend('north'), await backend('south')]
  await apply(
    ...service('moving', north),
    aTlsSecret(named('unrelated'), young),
    aTlsSecret(named('secure'), old),
    aGateway(gateway, port, 'secure'),
    aRoute(gateway, { gateway: 'secure', service: 'moving', hostname }),
  )
  const all = <T>(ask: (replica: Replica) => Promise<T>) => replicas.map(ask)
  const answered = (body: string) => all(each => answers(each, port, hostname, body, { tls: true }))
  const shown = ({ chain }: KeyPair) => all(each => shows(each, port, hostname, chain))
  await soon(t, 'all that is new', [...answered('north'), ...shown(old)])
  await apply(...service('moving', south))
  await soon(t, 'endpoints elsewhere', answered('south'))
  await apply(aTlsSecret(named('secure'), young))
  await soon(t, 'a certificate renewed', shown(young))
  await apply(aTlsSecret(named('unrelated'), old))
  await apply(...service('moving', north))
  await soon(t, 'endpoints back', answered('north'))
  for (const replica of replicas) {
    const held = (await replica.objects(namespace)).map(line => line.split(' ').slice(0, 2).join(' '))
    t.ok(held.includes('Secret secure'))
    t.strictSame(
      held.filter(line => /^(Secret|ConfigMap) /.test(line)),
      ['Secret secure'],
    )
  }
  await remove(aRoute(gateway, { gateway: 'secure', service: 'moving', hostname }), aGateway(gateway, port))
}

/** Seconds between the lists of a replica that has nothing else. */
const period = 2

async function lags(t: Test, { installation, replicas, named, backend, service, relist }: Stage) {
  const hostname = 'lag.test'
  const route = (service: string) => aRoute(named('lag'), { gateway: 'edge', service, hostname })
  const both = ['ebb', 'flow'] as const
  for (const name of both) await apply(...service(name, await backend(name)))
  await apply(route('flow'))
  await relist()
  let turn = 0
  /** ms from the end of `kubectl apply` until every proxy answers accordingly; the median of five. */
  const lag = async (asked: readonly Replica[], pauseMs = 0) => {
    const found: number[] = []
    for (let i = 0; i < 5; i++) {
      const name = both[turn++ % 2] ?? ''
      await pause(i * pauseMs)
      await apply(route(name))
      found.push(Math.max(...(await Promise.all(asked.map(each => answers(each, edgePort, hostname, name))))))
    }
    return Math.round(found.sort((a, b) => a - b)[2] ?? NaN)
  }
  const webhook = await lag(replicas)
  await installation.stopReviews()
  t.teardown(() => installation.startReviews())

  const relay = await installation.relay({ last: relayAt })
  t.teardown(() => relay.kill())
  const relayed = await lag(replicas)
  await relay.kill()

  const alone = await installation.serve({ last: slowAt, period })
  t.teardown(() => alone.program.kill())
  const envoy = await installation.envoy(alone, named('edge'), 30)
  t.teardown(() => envoy.kill())
  await answers(alone, edgePort, 'steady.test', 'steady')
  const listed = await lag([alone], period * 200)
  await relist()
  t.comment(`webhook and period: ${webhook} ms; relay and period: ${relayed} ms`)
  t.comment(`period alone: ${listed} ms, ${(listed / period / 1000).toFixed(2)} of it`)
  t.ok(webhook < 2000)
  t.ok(relayed < 2000)
  t.ok(listed < period * 1500)
  await installation.startReviews()
  await remove(route('flow'))
}

async function killed(t: Test, { installation, replicas, named, backend, service }: Stage) {
  const relay = await installation.relay({ last: relayAt })
  t.teardown(() => relay.kill())
  const [east, west] = [await backend('east'), await backend('west')]
  const hostname = 'killed.test'
  const route = aRoute(named('killed'), { gateway: 'edge', service: 'killed', hostname })
  const [first, second] = replicas as readonly [Replica, Replica]
  const answered = (each: Replica, body: string) => answers(each, edgePort, hostname, body)
  await apply(...service('killed', east), route)
  await soon(t, 'what is there', [answered(first, 'east'), answered(second, 'east')])

  await second.program.kill()
  t.teardown(() => second.program.isRunning || second.program.start())
  await apply(...service('killed', west))
  await soon(t, 'a change without one replica', [answered(first, 'west')])
  t.equal((await ask(second, edgePort, hostname)).body, 'east', 'its Envoy goes on')
  await second.program.start()
  await soon(t, 'the replica that is back', [answered(second, 'west')])

  await relay.kill()
  await apply(...service('killed', east))
  await relay.start()
  await soon(t, 'what the relay missed', [answered(first, 'east'), answered(second, 'east')])
  await apply(...service('killed', west))
  await soon(t, 'what comes after', [answered(first, 'west'), answered(second, 'west')])
  await remove(route)
}

async function expired(t: Test, { installation, replicas, webhook, named, relist }: Stage) {
  const bad = signedUntil(2021, serverName)
  // Its end is all that is wrong with it.
  await installation.startReviews(bad.chain)
  const { addresses } = webhook
  const [host = '', port] = addresses.http.split(':')
  const restore = () => installation.writePair('webhook', installation.certificate)
  t.teardown(restore)
  const shown = ({ chain }: KeyPair) => showsAt({ host, port: Number(port), servername: serverName }, chain)
  const route = (name: string) => aRoute(named(name), { ...edge, hostname: `${name}.test` })
  const both = (name: string) => replicas.map(each => answers(each, edgePort, `${name}.test`, 'steady'))

  installation.writePair('webhook', bad)
  // Connections that stand outlive a certificate.
  await webhook.program.kill()
  await webhook.program.start()
  await shown(bad)
  const opened = await failedOpen()
  const before = await webhook.reviews()
  await apply(route('unreviewed'))
  t.ok((await failedOpen()) > opened, 'the API server went on without a review')
  t.equal(await webhook.reviews(), before)
  await relist()
  await soon(t, 'after a list what nobody reviewed is there', both('unreviewed'))

  restore()
  t.comment(`another certificate is served after ${Math.round(await shown(installation.certificate))} ms`)
  await apply(route('reviewed'))
  t.ok((await webhook.reviews()) > before, 'it is asked again')
  await soon(t, 'and what it admits is there at once', both('reviewed'))
  await remove(route('unreviewed'), route('reviewed'))
}

async function blackHoled(t: Test, { installation, replicas, webhook, named, relist }: Stage) {
  const route = (name: string) => aRoute(named(name), { ...edge, hostname: `${name}.test` })
  const both = (name: string) => replicas.map(each => answers(each, edgePort, `${name}.test`, 'steady'))
  const usual = (await apply(route('usual'))).ms
  const { address, close } = await openBlackHole(installation, blackHoleAt)
  t.teardown(close)
  await webhook.program.kill()
  await installation.reviewAt(address)
  t.teardown(() => reviewsAgain(webhook, installation))

  const opened = await failedOpen()
  const { ms } = await apply(route('delayed'))
  t.ok((await failedOpen()) > opened, 'the API server waited in vain')
  t.comment(`kubectl apply takes ${Math.round(ms)} ms, with an answer ${Math.round(usual)} ms`)
  t.ok(ms - usual < 2000 + slackMs, 'it takes as much longer as the webhook may take')
  await relist()
  await soon(t, 'after a list it is there', both('delayed'))
  const relay = await installation.relay({ last: relayAt })
  t.teardown(() => relay.kill())
  await apply(route('told'))
  await soon(t, 'a relay tells of it at once', both('told'))
  await relay.kill()

  await reviewsAgain(webhook, installation)
  await apply(route('reviewed'))
  await soon(t, 'with reviews again it is there at once', both('reviewed'))
  await remove(...['usual', 'delayed', 'told', 'reviewed'].map(route))
}

/** Processes take their time on a busy machine. */
const slackMs = 400

async function reviewsAgain(webhook: Replica, installation: Installation) {
  if (!webhook.program.isRunning) await webhook.program.start()
  await installation.reviewAt(webhook.addresses.http.replace(/:\d+$/, ''))
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
