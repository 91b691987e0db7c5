import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { stringify } from 'yaml'
import { staticBootstrap } from '../src/envoy/index.js'
import { load, translate } from '../src/offline.js'
import { createDerivation } from '../src/derivation.js'
import { createStore } from '../src/store/index.js'
import type { KubeObject, Locator } from '../src/core/index.js'

/**
 * Every folder of test/cases is one feature or one past bug: `in.yaml` is all the input; the model, what the proxies are
 * sent (decoded from the bytes on the wire, so that it proves the encoder too) and the statuses stand beside it.
 * `UPDATE=1 npm test -- test/cases/<name>` rewrites one case, `UPDATE=1 npm test -- test/golden.test.ts` all of them;
 * read what it wrote before you commit it.
 */
const cases = new URL('cases/', import.meta.url).pathname
const update = process.env['UPDATE'] === '1'
const outputs = ['model.yaml', 'xds.yaml', 'status.yaml'] as const
const run = promisify(execFile)

const asked = process.env['GATEWRIGHT_CASES']?.split(' ')
const names = readdirSync(cases)
  .filter(name => asked?.includes(name) ?? true)
  .sort()

for (const name of names) {
  t.test(name, async t => {
    const { objects, problems } = await load([join(cases, name, 'in.yaml')])
    t.strictSame(
      problems.filter(problem => problem.severity === 'error'),
      [],
      'the input is valid',
    )
    const translation = translate(objects)
    const xds = translation.gateways.map(gateway => ({ gateway, resources: translation.xds(gateway) }))
    const given: Record<(typeof outputs)[number], object> = {
      'model.yaml': translation.model(),
      'xds.yaml': xds,
      'status.yaml': translation.statuses().map(({ kind, metadata, ...rest }) => ({
        kind,
        ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
        name: metadata.name,
        status: (rest as { status?: object }).status,
      })),
    }
    for (const output of outputs) check(t, join(cases, name, output), text(given[output]))
    const strange = readdirSync(join(cases, name)).filter(
      file => file !== 'in.yaml' && !(outputs as readonly string[]).includes(file),
    )
    t.strictSame(strange, [], 'no file is left over from another time')
    t.strictSame(shuffled(objects), placedOf(objects), 'the same bytes in whatever order the objects come')
  })
}

t.test('a real Envoy accepts every golden', async t => {
  const envoy = process.env['GATEWRIGHT_ENVOY']
  if (envoy === undefined)
    throw new Error('GATEWRIGHT_ENVOY is not set; `npm test` installs Envoy and sets it')
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-golden-'))
  const work = names.slice()
  const worker = async () => {
    for (let name = work.shift(); name !== undefined; name = work.shift()) {
      const { objects } = await load([join(cases, name, 'in.yaml')])
      for (const [gateway, resources] of placedOf(objects)) {
        const file = join(folder, `${name}-${gateway.replace(/\W/g, '_')}.json`)
        writeFileSync(file, JSON.stringify(staticBootstrap(resources)))
        const said = await run(envoy, ['--mode', 'validate', '--log-level', 'error', '-c', file]).then(
          () => 'accepted',
          (error: unknown) => (error as { stderr: string }).stderr,
        )
        t.equal(said, 'accepted', `${name}: ${gateway}`)
      }
    }
  }
  await Promise.all([worker(), worker()])
  rmSync(folder, { recursive: true })
})

function text(value: object): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 120 })
}

function check(t: Tap, file: string, given: string): void {
  if (update) writeFileSync(file, given)
  const wanted = existsSync(file)
    ? readFileSync(file, 'utf8')
    : 'missing: run `UPDATE=1 npm test -- test/cases/<name>` and read what it writes'
  t.equal(given, wanted, file.slice(cases.length))
}

type Tap = Pick<typeof t, 'equal'>
type PlacedResources = Parameters<typeof staticBootstrap>[0]

function placedOf(objects: readonly KubeObject[]): [Locator, PlacedResources][] {
  const store = createStore()
  const derivation = createDerivation()
  store.apply(objects.map(object => ({ type: 'upsert' as const, object })))
  store.subscribe(({ updates }) => derivation.take(updates))()
  const entries = [...derivation.placed.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
  const gateways = [...new Set(entries.map(([, placed]) => placed.gateway))]
  return gateways.map(gateway => [
    gateway,
    entries.filter(([, placed]) => placed.gateway === gateway).map(([, placed]) => placed.resource),
  ])
}

/** The same objects, one after the other, last first. */
function shuffled(objects: readonly KubeObject[]): [Locator, PlacedResources][] {
  return placedOf([...objects].reverse())
}
