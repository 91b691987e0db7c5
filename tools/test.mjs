// npm test: sets up what is missing, Envoy included, runs every test, and ends with `N passed, N failed, N skipped`.
// npm test -- test/store: only what is below that path.
import { createInterface } from 'node:readline'
import { bin, main, start, step } from './steps.mjs'
import { fromSource, setup, setupEnvoy } from './setup.mjs'
import { Tally, closingLine } from './tally.mjs'

async function runTests(paths, environment) {
  const tally = new Tally()
  const { child, ended } = start(bin('tap'), ['run', '--reporter=tap', ...paths], {
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

main(async () => {
  await setup()
  const GATEWRIGHT_ENVOY = await setupEnvoy(fromSource)
  const { tally, counts } = await step('tests', () => runTests(process.argv.slice(2), { GATEWRIGHT_ENVOY }))
  for (const { path, lines } of tally.failures) {
    console.log(`\nFAILED ${path.join(' › ')}`)
    for (const line of lines) console.log(line)
  }
  console.log(`\n${closingLine(counts)}`)
  if (counts.failed > 0) process.exitCode = 1
})
