import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { Tally, closingLine } from '../../tools/tally.mjs'
import { whyStale } from '../../tools/setup.mjs'

/** What tap itself prints for a test file, and what the tally makes of it. */
async function tallied(test: { testdir: (files: Record<string, string>) => string }, body: string) {
  const directory = test.testdir({ 'some.test.mjs': `import t from 'tap'\n${body}` })
  const options = { env: { PATH: process.env['PATH'] ?? '' }, timeout: 20_000 }
  const { stdout, code } = await promisify(execFile)(
    process.execPath,
    [join(directory, 'some.test.mjs')],
    options,
  ).then(
    done => ({ ...done, code: 0 }),
    (error: unknown) => error as { stdout: string; code: number },
  )
  const tally = new Tally()
  for (const line of stdout.split('\n')) tally.take(line)
  return { tally, counts: tally.counts(code) }
}

t.test('the closing line counts what passed, failed and was skipped', async t => {
  const { counts, tally } = await tallied(
    t,
    `t.test('outer', async t => {
       await t.test('inner', async t => { t.equal(1, 2, 'one is two'); t.ok(true) })
       t.test('left out', { skip: 'for a reason' }, async () => {})
     })`,
  )
  t.equal(closingLine(counts), '1 passed, 1 failed, 1 skipped')
  t.equal(tally.failures.length, 1, 'a failure is named once, not for each test around it')
  t.match(tally.failures[0]?.path, ['outer', 'inner', 'one is two'])
  t.match(tally.failures[0]?.lines.join('\n'), /-1|- 1|\+1|expected/, 'with its difference')
})

t.test('a run that breaks is never counted as good', async t => {
  const thrown = await tallied(t, `t.pass('first'); throw new Error('broken file')`)
  t.equal(thrown.counts.failed, 1)
  t.match(thrown.tally.failures[0]?.path.at(-1), /broken file/)

  const silent = new Tally()
  t.same(silent.counts(0), { passed: 0, failed: 1, skipped: 0 }, 'no test at all')
  t.match(silent.failures[0], { path: ['the test runner'], lines: ['no assertion passed'] })

  const killed = new Tally()
  killed.take('# { total: 3, pass: 3 }')
  t.same(killed.counts(1), { passed: 3, failed: 1, skipped: 0 }, 'a runner that failed')
  const good = new Tally()
  good.take('# { total: 3, pass: 2, skip: 1 }')
  t.same(good.counts(0), { passed: 2, failed: 0, skipped: 1 })
})

t.test('dependencies are installed again only when the lock says something else', t => {
  const lock = {
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0', optional: true },
  }
  t.match(whyStale(lock, undefined), /no dependencies/)
  t.equal(
    whyStale(lock, { 'node_modules/a': { version: '1.0.0' } }),
    undefined,
    'optional ones may be missing',
  )
  t.match(whyStale(lock, { 'node_modules/b': { version: '2.0.0' } }), /node_modules\/a is missing/)
  t.match(whyStale(lock, { 'node_modules/a': { version: '0.9.0' } }), /is 0\.9\.0, wanted is 1\.0\.0/)
  t.end()
})
