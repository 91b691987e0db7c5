/** Gatewright on a real API server, as it is installed: what kubectl applies is what Envoys do. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { call } from './support/replica.js'
import { apply, remove, succeed, tokenOf, whyNoBed } from './support/kubectl.js'
import { aGateway, aRoute } from './support/objects.js'
import { answers, answersNot, setStage, tell, type Stage } from './support/stage.js'

const skip = whyNoBed()
const namespace = `stories-${randomUUID().slice(0, 8)}`

t.setTimeout(600_000)

void t.test('stories of a cluster', { skip, timeout: 600_000 }, async t => {
  const stage = await setStage({ namespace })
  t.teardown(() => stage.close())
  const { installation, replicas, named } = stage
  const story = (name: string, run: (t: Test, stage: Stage) => Promise<void>) =>
    t.test(name, t => tell(t, stage, () => run(t, stage)))

  await story('what the webhook admits is answered by the proxies of every replica', async t => {
    const [red, blue] = [await stage.backend('red'), await stage.backend('blue')]
    await apply(...stage.service('red', red), ...stage.service('blue', blue))
    await stage.relist()
    const [gateway, port, hostname] = [named('first'), 8081, 'first.test']
    await Promise.all(replicas.map((replica, i) => installation.envoy(replica, gateway, 10 + i)))
    const route = (service: string) => aRoute(named('first'), { gateway: 'first', service, hostname })
    const soon = async (what: string, times: Promise<number>[]) => {
      const ms = Math.round(Math.max(...(await Promise.all(times))))
      t.ok(ms < 2000, `${what}: after ${ms} ms`)
    }
    await apply(aGateway(gateway, port), route('red'))
    await soon(
      'a Gateway and a route',
      replicas.map(each => answers(each, port, hostname, 'red')),
    )
    await apply(route('blue'))
    await soon(
      'a change',
      replicas.map(each => answers(each, port, hostname, 'blue')),
    )
    await remove(route('blue'))
    await soon(
      'no route',
      replicas.map(each => answersNot(each, port, hostname)),
    )
    await remove(aGateway(gateway, port))
  })

  await story('only who may call is answered', async t => {
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
  })
})
