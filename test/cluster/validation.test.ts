/** What we say of an object is what a real API server with the Gateway API's definitions says of it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { KubeObject, Problem } from '../../src/core/index.js'
import { ruleCases } from '../kinds/rule-cases.js'
import { DryRun, difference, ourVerdict } from './support/dry-run.js'
import { exampleFiles, gatewayApiModule, objectsOf } from './support/gateway-api.js'
import { kubeconfig, kubectl, succeed } from './support/kubectl.js'
import { mutants } from './support/mutants.js'

const root = new URL('../../', import.meta.url).pathname
const found = await gatewayApiModule()
const skip =
  kubeconfig === undefined
    ? 'GATEWRIGHT_TEST_KUBECONFIG names no cluster'
    : 'why' in found && `Go is needed: ${found.why}`
const folder = 'folder' in found ? found.folder : ''
const files = skip === false ? exampleFiles(folder) : []
const [count, seed] = [2000, 20_261_201]

t.setTimeout(180_000)

/** Does the work of all, so many at a time, and answers what there is to tell. */
async function tellOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<string | undefined>,
  workers: number,
): Promise<readonly string[]> {
  const told: string[] = []
  const queue = items.values()
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (const item of queue) {
        const text = await work(item)
        if (text !== undefined) told.push(text)
      }
    }),
  )
  return told
}

void t.test('we and the API server say the same', { skip, timeout: 180_000 }, async t => {
  const examples = files.flatMap(file => objectsOf(file).map(object => ({ file, object })))
  await prepare(examples.map(({ object }) => object))
  const api = await DryRun.connect(kubeconfig ?? '')
  t.teardown(() => api.close())
  let accepted = 0
  const compare = async (object: KubeObject, name: string) => {
    const theirs = await api.ask(object)
    if (theirs.accepted) accepted++
    const differs = difference(ourVerdict(object), theirs)
    return differs === undefined ? undefined : `${name}${differs}`
  }
  // What differs is listed.
  const none = (t: Test, told: readonly string[], of: number) => {
    for (const text of told.slice(0, 40)) t.comment(text)
    t.equal(told.length, 0, `of ${of}`)
  }

  await t.test(
    'kubectl takes the example files that `gatewright validate` finds nothing wrong with',
    async t => {
      const wrong = await validated()
      const dryRun = (...files: readonly string[]) =>
        kubectl(['apply', '--dry-run=server', ...files.flatMap(file => ['-f', file])])
      const { ok, error } = await dryRun(...files.filter(file => !wrong.has(file)))
      t.ok(ok, ok ? 'it takes all the others' : error)
      const taken = async (file: string) => ((await dryRun(file)).ok ? file : undefined)
      none(t, await tellOf([...wrong], taken, 4), wrong.size)
      t.ok(wrong.size > 30, `${wrong.size} of ${files.length} files are wrong`)
    },
  )

  await t.test('the same fields of the examples are wrong', async t => {
    const told = await tellOf(examples, ({ file, object }) => compare(object, file), 8)
    none(t, told, examples.length)
  })

  const cases = ruleCases().flatMap(({ file, built, cases }) =>
    cases
      .filter(({ old, bad }) => old === undefined && !('status' in bad))
      .flatMap(({ message, bad, good }) =>
        [built(bad), built(good)].map(object => ({ name: `${file}: ${message}`, object })),
      ),
  )
  await t.test('the same fields of what breaks each rule, and of what does not, are wrong', async t => {
    none(t, await tellOf(cases, ({ object, name }) => compare(object, name), 8), cases.length)
  })

  await t.test('the same fields of mutants of all these are wrong', async t => {
    const sources = [...examples, ...cases]
      .map(({ object }) => object)
      .filter(({ kind }) => kind !== 'Namespace')
    const all = mutants(sources, count, seed)
    accepted = 0
    const told = await tellOf(all, object => compare(object, JSON.stringify(object)), 8)
    none(t, told, all.length)
    t.ok(accepted > count / 10 && accepted < count / 2, `${accepted} of them are accepted`)
  })
})

/** The definitions that our schemas are from, and the namespaces of the examples. */
async function prepare(objects: readonly KubeObject[]) {
  await succeed(['apply', '--server-side', '-k', join(folder, 'config/crd/experimental')])
  await succeed(['apply', '--server-side', '-f', join(root, 'charts/gatewright/crds')])
  const names = new Set(objects.flatMap(({ metadata: { namespace } }) => namespace ?? []))
  for (const name of names) {
    const { ok } = await kubectl(['create', 'namespace', name])
    if (ok) t.teardown(() => kubectl(['delete', 'namespace', name, '--wait=false']))
  }
}

/** The files that `gatewright validate` finds something wrong with, itself: not that two of them hold one object. */
async function validated(): Promise<ReadonlySet<string>> {
  const args = ['--import', 'tsx', join(root, 'src/cli/main.ts'), 'validate', '-o', 'json']
  const output = await new Promise<string>(resolve =>
    execFile(process.execPath, [...args, '-f', ...files], { maxBuffer: 2 ** 26 }, (_, stdout) =>
      resolve(stdout),
    ),
  )
  const { problems } = JSON.parse(output) as { readonly problems: readonly Problem[] }
  const errors = problems.filter(
    ({ severity, rule, path }) => severity === 'error' && (rule !== 'duplicate' || path !== ''),
  )
  return new Set(errors.map(({ place }) => place?.file ?? ''))
}
