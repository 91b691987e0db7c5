// npm test: sets up what is missing, Envoy included, runs every test, and ends with `N passed, N failed, N skipped`.
// npm test -- test/store: only what is below that path; test/cases/headers: only that golden case.
// npm run test:cluster: the tests of test/cluster, on a real API server; with CI set, npm test runs them too.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { NoCluster, whyNoCluster, withCluster } from './bed.mjs'
import { Failed, bin, main, root, start, step } from './steps.mjs'
import { fromSource, setup, setupEnvoy } from './setup.mjs'
import { Tally, closingLine } from './tally.mjs'

/** The name of a golden case, of `test/cases/headers` or a file in it. */
const caseOf = path => /^(?:\.\/)?test\/cases\/([^/]+)/.exec(path)?.[1]

/** The test files at or below the paths; a golden case's is the one that compares all of them. */
async function testFiles(paths) {
  const found = paths.map(async path => {
    const there = await stat(join(root, path)).catch(() => undefined)
    if (!there) throw new Failed(`there is nothing at ${path}`)
    if (caseOf(path)) return ['test/golden.test.ts']
    if (!there.isDirectory()) return [path]
    const names = await readdir(join(root, path), { recursive: true })
    const tests = names.filter(name => name.endsWith('.test.ts'))
    // Without a file to run tap would run all of them.
    if (tests.length === 0) throw new Failed(`there is no test at or below ${path}`)
    return tests.map(name => join(path, name))
  })
  return [...new Set((await Promise.all(found)).flat())].sort()
}

async function runTests(paths, environment, before = []) {
  const tally = new Tally()
  const [program, ...args] = [...before, bin('tap'), 'run', '--reporter=tap', ...paths]
  const { child, ended } = start(program, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const file = tally.take(line)
    if (file)
      console.log(`  ${file.ok ? 'ok    ' : 'FAILED'} ${file.name} (${(file.ms / 1000).toFixed(1)} s)`)
  }
  const { code } = await ended
  return { tally, counts: tally.counts(code) }
}

const isOfCluster = file => file.startsWith('test/cluster/')

/** The tests that need nothing but this machine. */
async function runHere(files, environment) {
  if (files.length === 0) return undefined
  return step(`tests of ${files.length} files`, () => runTests(files, environment))
}

/** The tests that need an API server; one is counted as skipped where there is none. */
async function runOnCluster(files, environment) {
  if (files.length === 0) return undefined
  const why = await whyNoCluster()
  if (why !== undefined) return skipped(why)
  try {
    return await withCluster(({ environment: reached, before }) =>
      step(`tests of ${files.length} files on a cluster`, () =>
        // They share the one API server.
        runTests(['--jobs=1', ...files], { ...environment, ...reached }, before),
      ),
    )
  } catch (error) {
    if (error instanceof NoCluster) return skipped(error.message)
    throw error
  }
}

function skipped(why) {
  console.log(`• tests on a cluster: skipped, ${why}`)
  return { tally: { failures: [] }, counts: { passed: 0, failed: 0, skipped: 1 } }
}

function report(runs) {
  for (const { path, lines } of runs.flatMap(({ tally }) => tally.failures)) {
    console.log(`\nFAILED ${path.join(' › ')}`)
    for (const line of lines) console.log(line)
  }
  const sum = name => runs.reduce((all, { counts }) => all + counts[name], 0)
  const counts = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }
  console.log(`\n${closingLine(counts)}`)
  if (counts.failed > 0) process.exitCode = 1
}

main(async () => {
  await setup()
  const GATEWRIGHT_ENVOY = await setupEnvoy(fromSource)
  const words = process.argv.slice(2)
  const paths = words.filter(word => word !== '--cluster')
  const asked = words.includes('--cluster') && paths.length === 0 ? ['test/cluster'] : paths
  const cases = asked.map(caseOf).filter(name => name !== undefined)
  const files = await testFiles(asked.length === 0 ? ['test'] : asked)
  const environment = { GATEWRIGHT_ENVOY, ...(cases.length > 0 && { GATEWRIGHT_CASES: cases.join(' ') }) }
  const onCluster = asked.length > 0 || process.env.CI ? files.filter(isOfCluster) : []
  const runs = [
    await runHere(
      files.filter(file => !isOfCluster(file)),
      environment,
    ),
    await runOnCluster(onCluster, environment),
  ]
  if (onCluster.length === 0 && asked.length === 0)
    console.log('  the tests on a cluster are left out: npm run test:cluster')
  report(runs.filter(ran => ran !== undefined))
})
