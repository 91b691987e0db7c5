// npm run check: everything that can be said without running the code. One line each when good, all of it when bad.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failed, bin, capture, main, root, seconds } from './steps.mjs'
import { setup } from './setup.mjs'

const hasGo = async () => (await capture('go', ['version']).catch(() => ({ code: 1 }))).code === 0

const checks = [
  { name: 'types', command: [bin('tsc'), '--noEmit', '-p', '.'] },
  { name: 'lint', command: [bin('eslint'), 'src', 'test', 'bench', '--max-warnings', '0'] },
  { name: 'format', command: [bin('prettier'), '--check', '--log-level', 'warn', '.'] },
  { name: 'dependency direction', command: [bin('depcruise'), 'src', '--config', '.dependency-cruiser.cjs'] },
  { name: 'dead code', command: [bin('knip')] },
  {
    name: 'openapi.yaml',
    command: [bin('redocly'), 'lint', 'openapi.yaml'],
    skip: () => !existsSync(join(root, 'openapi.yaml')) && 'there is none yet',
  },
  {
    name: 'generated files',
    command: [process.execPath, 'tools/gen.mjs', '--check'],
    // Whoever cannot generate cannot have changed what is generated; CI always looks.
    skip: async () => !process.env.CI && !(await hasGo()) && 'Go is not installed',
  },
]

async function perform({ name, command: [program, ...args], skip }) {
  const why = await skip?.()
  if (why) {
    console.log(`- ${name}: skipped, ${why}`)
    return true
  }
  const since = performance.now()
  const { code, output } = await capture(program, args, {
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' },
  })
  if (code === 0) console.log(`✓ ${name} (${seconds(since)})`)
  else console.log(`✗ ${name} (${seconds(since)})\n${output}`)
  return code === 0
}

main(async () => {
  await setup()
  const asked = process.argv.slice(2)
  const waiting = checks.filter(({ name }) => asked.length === 0 || asked.some(word => name.includes(word)))
  const failed = []
  const worker = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      if (!(await perform(check))) failed.push(check.name)
    }
  }
  await Promise.all([worker(), worker()])
  if (failed.length > 0) throw new Failed(`failed: ${failed.join(', ')}`)
})
