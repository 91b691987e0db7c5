// What the tools share: where the repository is, one line for each slow step, and programs that are run in it.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

export const seconds = since => `${((performance.now() - since) / 1000).toFixed(1)} s`

/** Says what is being done, does it, and says how long it took. */
export async function step(what, work) {
  const since = performance.now()
  console.log(`• ${what} …`)
  const answer = await work()
  console.log(`  done in ${seconds(since)}`)
  return answer
}

/** Runs a program in the repository with its output shown. Throws when it fails. */
export async function run(program, args, options = {}) {
  const { code } = await start(program, args, { stdio: 'inherit', ...options }).ended
  if (code !== 0) throw new Failed(`\`${[program, ...args].join(' ')}\` ended with exit code ${code}`)
}

/** Runs a program in the repository and answers all that it printed, with its exit code. */
export async function capture(program, args, options = {}) {
  const started = start(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  let [output, printed] = ['', '']
  started.child.stdout?.on('data', chunk => {
    output += chunk
    printed += chunk
  })
  started.child.stderr?.on('data', chunk => (output += chunk))
  const { code } = await started.ended
  return { code, output, printed }
}

/** Starts a program in the repository; `ended` resolves with its exit code when it is over. */
export function start(program, args, options) {
  const child = spawn(program, args, { cwd: root, ...options })
  const ended = new Promise((resolve, reject) => {
    child.on('error', error => reject(new Failed(`\`${program}\` cannot be run: ${error.message}`)))
    child.on('close', (code, signal) => resolve({ code: code ?? (signal === 'SIGINT' ? 130 : 1) }))
  })
  return { child, ended }
}

/** A step that failed and has said why. */
export class Failed extends Error {}

/** Runs a tool's main function; its failure is one line, not a stack trace. */
export function main(tool) {
  tool().catch(error => {
    console.error(error instanceof Failed ? error.message : error)
    process.exitCode = 1
  })
}

/** A program of node_modules/.bin. */
export const bin = name => `${root}/node_modules/.bin/${name}`
