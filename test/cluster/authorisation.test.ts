import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { createMetrics } from '../../src/core/index.js'
import { connect } from '../../src/kube/index.js'
import { createKubeAuthoriser, createServer } from '../../src/server/index.js'
import { aWorld } from '../server/context.js'

const kubeconfig = process.env['GATEWRIGHT_TEST_KUBECONFIG']
const skip = kubeconfig === undefined && 'GATEWRIGHT_TEST_KUBECONFIG names no cluster'

async function kubectl(...words: readonly string[]): Promise<string> {
  return (await promisify(execFile)('kubectl', words)).stdout.trim()
}

t.test('a real API server says who may call', { skip }, async t => {
  const name = `gatewright-test-${process.pid}`
  t.teardown(async () => {
    await kubectl('delete', 'clusterrolebinding,clusterrole', name, '--ignore-not-found')
    await kubectl('delete', 'serviceaccount', '-n', 'default', `${name}-reader`, `${name}-nobody`)
  })
  for (const account of ['reader', 'nobody'])
    await kubectl('create', 'serviceaccount', '-n', 'default', `${name}-${account}`)
  await kubectl('create', 'clusterrole', name, '--verb=get', '--non-resource-url=/v1/*')
  await kubectl(
    'create',
    'clusterrolebinding',
    name,
    `--clusterrole=${name}`,
    `--serviceaccount=default:${name}-reader`,
  )
  const token = (account: string, ...more: string[]) =>
    kubectl('create', 'token', '-n', 'default', `${name}-${account}`, ...more)

  const client = await connect({ ...(kubeconfig !== undefined && { kubeconfig }) })
  const metrics = createMetrics()
  const authenticators = [createKubeAuthoriser({ client, metrics })]
  const server = await createServer(aWorld().context, { authenticators, loopbackExempt: false })
  t.teardown(async () => {
    await server.close()
    client.close()
  })
  const ask = async (bearer: string, url: string, method: 'GET' | 'POST' = 'GET') =>
    (await server.inject({ url, method, headers: { authorization: `Bearer ${bearer}` } })).statusCode

  const reader = await token('reader')
  t.equal(await ask(reader, '/v1/status'), 200)
  t.equal(await ask(reader, '/v1/topology'), 200)
  t.equal(await ask(reader, '/v1/reconcile', 'POST'), 403, 'another verb')
  t.equal(await ask(reader, '/metrics'), 403, 'another path')
  t.equal(await ask(await token('nobody'), '/v1/status'), 403)
  t.equal(await ask(`${reader.slice(0, -4)}AAAA`, '/v1/status'), 401, 'a forged one')
  t.equal(await ask('nonsense', '/v1/status'), 401)
  t.equal(await ask(await token('reader', '--audience=other.example'), '/v1/status'), 401, 'meant for others')

  const own = createKubeAuthoriser({ client, metrics, audiences: ['other.example'] })
  const call = { path: '/v1/status', verb: 'get', headers: {} }
  t.match(await own.judge({ ...call, token: await token('reader', '--audience=other.example') }), {
    caller: `system:serviceaccount:default:${name}-reader`,
  })
  t.match(await own.judge({ ...call, token: reader }), { type: 'unauthenticated' })
})
