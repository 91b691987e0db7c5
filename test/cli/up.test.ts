import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { get, type IncomingHttpHeaders } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { roots } from '../support/roots.js'
import { runCommand } from '../../src/cli/program.js'
import { installEnvoy } from '../../src/provision/index.js'
import { isAlive } from '../../src/provision/lock.js'
import { freePort, startBackend } from '../support/backends.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const envoy = await installEnvoy()
type Tap = Pick<typeof t, 'teardown' | 'testdir'>

/** A copy of the quickstart whose ports are free, with its two backends running. */
async function aQuickstart(test: Tap) {
  const [stable, next] = await Promise.all([startBackend('stable'), startBackend('next')])
  test.teardown(() => Promise.all([stable.close(), next.close()]))
  const port = await freePort()
  const from = join(root, 'examples/quickstart')
  const ports = { 8080: port, 9001: stable.port, 9002: next.port }
  const files: Record<string, string> = {}
  for (const name of await readdir(from)) {
    const text = await readFile(join(from, name), 'utf8')
    files[name] = Object.entries(ports).reduce(
      (now, [a, b]) => now.replaceAll(`port: ${a}`, `port: ${b}`),
      text,
    )
  }
  const place = test.testdir({ manifests: files, state: {} })
  return { directory: join(place, 'manifests'), state: join(place, 'state'), port }
}

/** `gatewright up` in this process. */
function up(test: Tap, directory: string, state: string, flags: readonly string[] = []) {
  const said = { out: '', err: '' }
  const waiting = new Set<() => void>()
  const heard = (stream: 'out' | 'err') => (text: string) => {
    said[stream] += text
    for (const look of waiting) look()
  }
  let interrupt = () => {}
  const interrupted = new Promise<void>(resolve => (interrupt = resolve))
  const terminal = {
    environment: { GATEWRIGHT_ENVOY: envoy, GATEWRIGHT_STATE: state },
    ...{ colour: false, person: true, out: heard('out'), err: heard('err') },
    ...{ input: () => Promise.resolve(''), interrupted: () => interrupted },
  }
  const anyPort = ['--http', '127.0.0.1:0', '--xds', '127.0.0.1:0', '--envoy-admin', '127.0.0.1:0']
  const ended = runCommand(['up', directory, ...anyPort, '--concurrency', '1', ...flags], {
    terminal,
    ...roots,
  })
  const stop = () => {
    interrupt()
    return ended
  }
  test.teardown(stop)
  const until = (stream: 'out' | 'err', pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(said[stream])
        if (!match) return
        waiting.delete(look)
        resolve(match)
      }
      waiting.add(look)
      void ended.then(code => reject(new Error(`ended with ${code}: ${said.err}`)))
      look()
    })
  return { said, until, ended, stop }
}

function ask(port: number, path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; text: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers, agent: false }, response => {
      let text = ''
      response.on('data', (part: Buffer) => (text += part.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
    }).on('error', reject)
  })
}

/** Asks until the answer is as wanted: a file's change takes a moment to reach Envoy. */
async function eventually(is: () => Promise<boolean>): Promise<void> {
  while (!(await is()));
}

t.test('up serves a folder through Envoy, follows its edits and stops what it started', async t => {
  const { directory, state, port } = await aQuickstart(t)
  const { said, until, stop } = up(t, directory, state)
  await until('out', /^ready$/m)
  const [, http = ''] = await until('out', /^HTTP +(http:\/\/127\.0\.0\.1:\d+)$/m)
  t.match(said.out, /^xDS +127\.0\.0\.1:\d+$/m)
  const shown = /^Gateway default\/quickstart: 127\.0\.0\.1:(\d+), Envoy (\d+) \(admin http:\/\/127/m.exec(
    said.out,
  )
  t.equal(Number(shown?.[1]), port)

  t.match(await ask(port, '/shop'), { status: 200, text: 'stable' })
  t.match(await ask(port, '/shop', { 'x-version': 'next' }), { status: 200, text: 'next' })
  t.match(await ask(port, '/old/cart'), { status: 302, headers: { location: /\/shop\/cart$/ } })
  t.match(await ask(port, '/elsewhere'), { status: 404 })

  const file = join(directory, 'routes.yaml')
  const routes = await readFile(file, 'utf8')
  await writeFile(file, routes.replaceAll('value: /shop', 'value: /store'))
  await eventually(async () => (await ask(port, '/store')).text === 'stable')
  t.equal((await ask(port, '/shop')).status, 404, 'the edit has moved the route')

  await writeFile(file, 'kind: [')
  await eventually(async () => /routes\.yaml:\d+:\d+/.test((await command(['status', '--server', http])).err))
  t.match(await ask(port, '/store'), { text: 'stable' }, 'a file that no longer parses loses nothing')
  t.match((await command(['topology', '--server', http])).out, /Gateway default\/quickstart/)

  t.equal(await stop(), 0)
  t.notOk(isAlive(Number(shown?.[2])), 'its Envoy has ended')
  await t.rejects(ask(port, '/store'), { code: 'ECONNREFUSED' })
})

/** Another command in this process. */
async function command(args: readonly string[]) {
  const said = { out: '', err: '' }
  const terminal = {
    ...{ environment: {}, colour: false, person: true, input: () => Promise.resolve('') },
    out: (text: string) => void (said.out += text),
    err: (text: string) => void (said.err += text),
    interrupted: () => new Promise<void>(() => {}),
  }
  const code = await runCommand(args, { terminal, ...roots })
  return { code, ...said }
}

t.test('up with a file that cannot be read waits for it', async t => {
  const { directory, state, port } = await aQuickstart(t)
  const file = join(directory, 'routes.yaml')
  const routes = await readFile(file, 'utf8')
  await writeFile(file, 'kind: [')
  const { said, until } = up(t, directory, state)
  await until('err', /routes\.yaml:\d+:\d+/)
  await until(
    'err',
    /^waiting: nothing is published yet: \S*routes\.yaml has never been read .*--allow-partial/m,
  )
  t.notMatch(said.out, /^ready$/m)
  await writeFile(file, routes)
  await until('out', /^ready$/m)
  t.match(await ask(port, '/shop'), { text: 'stable' })
})

t.test('up --allow-partial serves what can be read', async t => {
  const { directory, state, port } = await aQuickstart(t)
  await writeFile(join(directory, 'more.yaml'), 'kind: [')
  const { until } = up(t, directory, state, ['--allow-partial'])
  await until('out', /^ready$/m)
  t.match(await ask(port, '/shop'), { text: 'stable' })
})

t.test('up says what keeps it from starting, and leaves nothing running', async t => {
  const { directory, state } = await aQuickstart(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`
  for (const flag of ['--http', '--xds']) {
    const { ended, said } = up(t, directory, state, [flag, address])
    t.equal(await ended, 3)
    t.match(said.err, new RegExp(`\\[ADDRESS_IN_USE\\].*${address}`), `${flag} is taken`)
  }
  const gone = up(t, join(directory, 'nothing-here'), state)
  t.equal(await gone.ended, 3)
  t.match(gone.said.err, /\[DIRECTORY_MISSING\].*nothing-here/)

  const first = up(t, directory, state)
  await first.until('out', /^ready$/m)
  const second = up(t, directory, state)
  t.equal(await second.ended, 3)
  t.match(second.said.err, new RegExp(`\\[ALREADY_RUNNING\\].*process ${process.pid}`))
  t.equal(await first.stop(), 0)
})

t.test('up says which port its Envoy cannot bind', async t => {
  const { directory, state, port } = await aQuickstart(t)
  const taken = createServer().listen(port, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { said, until } = up(t, directory, state)
  await until('out', /^ready$/m)
  t.match(
    said.out,
    new RegExp(`^  Envoy refuses: .*cannot bind '127\\.0\\.0\\.1:${port}': Address already`, 'm'),
  )
})

t.test('when up is killed its Envoy goes on serving, and the next up takes it over', async t => {
  const { directory, state, port } = await aQuickstart(t)
  const xds = `127.0.0.1:${await freePort()}`
  const flags = ['--http', '127.0.0.1:0', '--xds', xds, '--envoy-admin', '127.0.0.1:0', '--concurrency', '1']
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', 'up', directory, ...flags], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, GATEWRIGHT_ENVOY: envoy, GATEWRIGHT_STATE: state },
  })
  let pid = ''
  for await (const line of createInterface({ input: child.stdout })) {
    pid = /, Envoy (\d+) /.exec(line)?.[1] ?? pid
    if (line === 'ready') break
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.match(await ask(port, '/shop'), { text: 'stable' }, 'it serves on')
  const { said, until, stop } = up(t, directory, state, ['--xds', xds])
  await until('out', /^ready$/m)
  t.match(said.out, new RegExp(`Envoy ${pid} `), 'the same Envoy')
  t.match(await ask(port, '/shop'), { text: 'stable' })
  t.equal(await stop(), 0)
  t.notOk(isAlive(Number(pid)))
})
