import fc from 'fast-check'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { locatorOf, silentLog, type KubeObject, type Locator } from '../src/core/index.js'
import { validate } from '../src/kinds/index.js'
import { translate } from '../src/offline.js'
import { start } from '../src/run.js'
import { gateway, gatewayClass, httpRoute, ManifestFolder } from './support/manifests.js'
import { pool } from './support/pool.js'

/**
 * The whole control plane, driven from outside by HTTP or by files, against a from-scratch derivation of the objects that
 * must be there. It runs through all random edits as one process, as in production.
 */
interface Plane {
  readonly http: string
  readonly close: () => Promise<void>
}

async function aPlane(directory: string): Promise<Plane> {
  const running = await start({
    from: { directory, allowPartial: false },
    ...{ http: '127.0.0.1:0', xds: '127.0.0.1:0', listenerAddress: '0.0.0.0', log: silentLog },
  })
  return { http: `http://${running.http}`, close: () => running.close() }
}

async function post(plane: Plane, path: string, body: unknown, type = 'application/json'): Promise<unknown> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const options = {
    method: 'POST',
    ...(body !== undefined && { body: text, headers: { 'content-type': type } }),
  }
  const response = await fetch(plane.http + path, options)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

async function get<T>(plane: Plane, path: string): Promise<T> {
  const response = await fetch(plane.http + path)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

type Status = Record<string, unknown> & {
  conditions?: { type: string }[]
  listeners?: { conditions: { type: string }[] }[]
}
type Judged = KubeObject & { status?: Status }

/** What the schema says of an object that no controller has looked at. */
function isUntouched(status: Status): boolean {
  return JSON.stringify(status).includes('Waiting for controller')
}

/** What the proxies are to do with it is known only at run time; times differ by nature. */
function timeless(status: Status): unknown {
  const text = JSON.stringify(status, (key, value: unknown) => {
    if (key === 'lastTransitionTime') return undefined
    if (key === 'conditions') return (value as { type: string }[]).filter(({ type }) => type !== 'Programmed')
    return value
  })
  return JSON.parse(text)
}

/** Throws with the first part in which the running plane is not what the objects come to. */
async function compare(plane: Plane, objects: readonly KubeObject[]): Promise<void> {
  const wanted = translate(objects.map(object => validate(object).object as KubeObject))
  const { resources } = await get<{ resources: { gateway: Locator }[] }>(plane, '/v1/xds/resources')
  const published = resources.map(({ gateway, ...resource }) => [gateway, resource])
  const expected = wanted.gateways.flatMap(gateway =>
    wanted.xds(gateway).map(resource => [gateway, resource]),
  )
  same('the resources', published, expected)
  const { items } = await get<{ items: Judged[] }>(plane, '/v1/resources')
  const judged = (of: readonly Judged[]) =>
    of
      .filter(({ status }) => status && !isUntouched(status))
      .map(each => [locatorOf(each), timeless(each.status as Status)])
  same('the statuses', judged(items), judged(wanted.statuses()))
  const graph = await get<{ nodes: unknown; edges: unknown }>(plane, '/v1/topology')
  const drawn = JSON.parse(wanted.topology({}, 'json')) as typeof graph
  same('the topology', [graph.nodes, graph.edges], [drawn.nodes, drawn.edges])
}

function same(what: string, got: unknown, wanted: unknown): void {
  const order = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(order)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .sort()
        .map(([name, each]) => [name, order(each)]),
    )
  }
  const lines = (value: unknown) =>
    Array.isArray(value)
      ? value.map(each => JSON.stringify(order(each))).sort()
      : [JSON.stringify(order(value))]
  const [left, right] = [lines(got), lines(wanted)]
  const extra = left.find(line => !right.includes(line))
  const missing = right.find(line => !left.includes(line))
  if (extra !== undefined || missing !== undefined || left.length !== right.length) {
    throw new Error(`${what} differ\n  there:   ${extra ?? '-'}\n  missing: ${missing ?? '-'}`)
  }
}

const isValid = (object: KubeObject) =>
  validate(object).problems.every(({ severity }) => severity !== 'error')

/** An edit of one object of the pool: to a variant, or away. */
const edit = fc
  .integer({ min: 0, max: pool.length - 1 })
  .chain(at => fc.tuple(fc.constant(at), fc.option(fc.integer({ min: 0, max: (pool[at] ?? []).length - 1 }))))
const batches = fc.array(fc.array(edit, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 })

/** Plays an API server: versions rise, a re-created object has another uid, what was sent is sent again later. */
class Relayed {
  readonly held = new Map<number, KubeObject>()
  readonly #sent: object[] = []
  #version = 100
  #uid = 0

  event(at: number, variant: number | null): object | undefined {
    const object = variant === null ? this.held.get(at) : pool[at]?.[variant]
    if (object === undefined) return undefined
    const before = this.held.get(at)
    const uid = before?.metadata.uid ?? `uid-${this.#uid++}`
    const metadata = { ...object.metadata, uid, resourceVersion: String(++this.#version) }
    const next = { ...object, metadata }
    const type = variant === null ? 'DELETED' : before ? 'MODIFIED' : 'ADDED'
    if (variant === null) this.held.delete(at)
    else if (isValid(next)) this.held.set(at, next)
    const event = { type, object: next }
    this.#sent.push(event)
    return event
  }

  /** Something that was sent before. */
  again(which: number): object[] {
    return this.#sent.length === 0 ? [] : [this.#sent[which % this.#sent.length] as object]
  }
}

t.test('whatever comes over the webhooks, the plane is what the objects come to from scratch', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'gatewright-empty-'))
  const plane = await aPlane(directory)
  const relayed = new Relayed()
  let turns = 0
  const forms: ((events: readonly object[]) => [unknown, string])[] = [
    events => [events, 'application/json'],
    events => [events.map(event => JSON.stringify(event)).join('\n'), 'application/x-ndjson'],
  ]
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(), fc.boolean(), async (edits, again, newest) => {
      for (const batch of edits) {
        const events = batch.flatMap(([at, variant]) => relayed.event(at, variant) ?? [])
        const late = relayed.again(again)
        const [body, type] = (forms[turns++ % forms.length] as (typeof forms)[number])(
          newest ? [...events, ...late, ...events] : [...late, ...events],
        )
        await post(plane, '/webhooks/watch', body, type)
      }
      await compare(plane, [...relayed.held.values()])
    }),
    { numRuns: 40, endOnFailure: true },
  )
  t.ok(turns >= 40, `${turns} batches were sent`)
  t.ok(relayed.held.size > 0)

  await t.test('an admission review changes nothing, allowed or denied', async t => {
    for (const [at, variants] of pool.entries()) {
      for (const object of variants) {
        const request = {
          ...{ uid: `review-${at}`, operation: 'CREATE', object, name: object.metadata.name },
          kind: kindOf(object),
          ...(object.metadata.namespace !== undefined && { namespace: object.metadata.namespace }),
        }
        const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
        const answer = await post(plane, '/webhooks/admission/validate', review)
        const { response } = answer as { response: Answer }
        t.equal(response.uid, request.uid)
        const fields = validate(object).problems.map(({ path }) => path)
        const causes = response.status?.details.causes.map(({ field }) => field) ?? []
        t.strictSame(causes, response.allowed ? [] : fields, 'each cause names its field')
        t.equal(response.allowed, isValid(object), `${locatorOf(object)} is allowed if it is valid`)
      }
    }
    await compare(plane, [...relayed.held.values()])
  })
  await plane.close()
  rmSync(directory, { recursive: true })
})

interface Answer {
  readonly uid: string
  readonly allowed: boolean
  readonly status?: { readonly details: { readonly causes: readonly { readonly field: string }[] } }
}

function kindOf({ apiVersion, kind }: KubeObject) {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return { group, version, kind }
}

t.test('whatever the files say, the plane is what the objects come to from scratch', async t => {
  const folder = new ManifestFolder()
  const plane = await aPlane(folder.path)
  const held = new Map<number, KubeObject>()
  const files = new Set<number>()
  await fc.assert(
    fc.asyncProperty(batches, async edits => {
      for (const batch of edits) {
        for (const [at, variant] of batch) {
          const object = variant === null ? undefined : pool[at]?.[variant]
          if (object) folder.write(`${at}.yaml`, object)
          else if (files.has(at)) folder.delete(`${at}.yaml`)
          if (object) files.add(at)
          else files.delete(at)
          // A file that is not valid keeps what it said last.
          if (!object) held.delete(at)
          else if (isValid(object)) held.set(at, object)
        }
        await post(plane, '/v1/reconcile', undefined)
      }
      await compare(plane, [...held.values()])
    }),
    { numRuns: 15, endOnFailure: true },
  )
  t.ok(held.size > 0)
  await post(plane, '/v1/reconcile', undefined)
  const metrics = await (await fetch(`${plane.http}/metrics`)).text()
  t.match(
    metrics,
    /^gatewright_derivation_drift_total 0$/m,
    'derived anew again and again, nothing was otherwise',
  )
  await plane.close()
  folder.remove()
})

t.test('a plane says when it waits, when it serves what was good, and when its answers change', async t => {
  const folder = new ManifestFolder()
  folder.write('gateway.yaml', gatewayClass(), gateway({ name: 'http', port: 8080 }))
  folder.writeText('route.yaml', 'kind: [')
  const plane = await aPlane(folder.path)
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(plane.http + path, { headers })
    return { status: response.status, tag: response.headers.get('etag') ?? '', text: await response.text() }
  }
  const waiting = await ask('/readyz')
  t.equal(waiting.status, 503)
  t.match(waiting.text, /route\.yaml/, 'the file that is waited for is named')
  t.match((await ask('/v1/xds/resources')).text, /"resources":\[\]/, 'nothing is published')

  const change = async (write: () => void) => {
    write()
    await post(plane, '/v1/reconcile', undefined)
  }
  await change(() =>
    folder.write('route.yaml', httpRoute('r', ['r.test'], { prefix: '/', to: [{ name: 'a' }] })),
  )
  t.match(await ask('/readyz'), { status: 200, text: /"ready"/ })
  for (const path of ['/v1/status', '/v1/topology', '/v1/resources']) {
    const { tag } = await ask(path)
    t.equal((await ask(path, { 'if-none-match': tag })).status, 304, `${path} is as it was`)
    await change(() =>
      folder.write('gateway.yaml', gatewayClass(), gateway({ name: path.slice(4), port: 8080 })),
    )
    const after = await ask(path, { 'if-none-match': tag })
    t.equal(after.status, 200, `${path} has changed`)
    t.not(after.tag, tag)
  }
  const { tag } = await ask('/v1/status')
  await change(() => folder.writeText('route.yaml', 'kind: ['))
  const degraded = await ask('/readyz')
  t.match(degraded, { status: 200, text: /"degraded"/ })
  t.match(degraded.text, /route\.yaml/, 'the file whose last good objects are served is named')
  const told = await ask('/v1/status', { 'if-none-match': tag })
  t.match(told, { status: 200, text: /route\.yaml/ }, 'a problem alone changes the answer')
  await plane.close()
  folder.remove()
})
