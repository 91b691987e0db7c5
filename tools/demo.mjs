// npm run demo: sets up what is missing, serves examples/quickstart with a real Envoy and two backends, and says what
// to try, until Ctrl-C. npm run demo -- --once: tries it itself, and fails when an answer is not the one promised.
import { once } from 'node:events'
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from './build.mjs'
import { fromBuild, setup, setupEnvoy } from './setup.mjs'
import { Failed, main, root, start, step } from './steps.mjs'

const tryOnce = process.argv.includes('--once')
/** What the demo listens on, as examples/quickstart says it, or the defaults of `gatewright up`. */
const usual = { listener: 8080, stable: 9001, next: 9002, http: 15000, xds: 15010, admin: 15020 }

/** Undone in reverse order, when the demo ends in whatever way. */
const undo = []

/** What to try on the port of the listener, and what comes back. */
const promises = port => [
  {
    curl: `curl http://127.0.0.1:${port}/shop/cart`,
    says: 'stable got GET /shop/cart',
    why: 'the path leads to `stable`',
    path: '/shop/cart',
    is: answer => answer.status === 200 && answer.text === 'stable got GET /shop/cart\n',
  },
  {
    curl: `curl -H 'x-version: next' http://127.0.0.1:${port}/shop/cart`,
    says: 'next got GET /shop/cart',
    why: 'the header leads to `next`',
    path: '/shop/cart',
    headers: { 'x-version': 'next' },
    is: answer => answer.status === 200 && answer.text === 'next got GET /shop/cart\n',
  },
  {
    curl: `curl -i http://127.0.0.1:${port}/old/cart`,
    says: `302, location: http://127.0.0.1:${port}/shop/cart`,
    why: 'Envoy redirects by itself',
    path: '/old/cart',
    is: answer => answer.status === 302 && answer.headers.location === `http://127.0.0.1:${port}/shop/cart`,
  },
]

main(async () => {
  let interrupt = () => {}
  const interrupted = new Promise(resolve => (interrupt = resolve))
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, interrupt)
  try {
    await setup()
    await step('build into dist', build)
    const envoy = await setupEnvoy(fromBuild)
    const ports = await freePorts()
    const directory = await manifests(ports)
    for (const name of ['stable', 'next']) await startBackend(name, ports[name])
    const up = startGatewright(directory, ports, envoy)
    await step(`gatewright up ${directory}`, () => Promise.race([up.ready, interrupted]))
    if (tryOnce) return await tryAll(ports.listener)
    announce(directory, ports)
    await Promise.race([interrupted, up.ended])
  } finally {
    console.log('• stopping everything that was started')
    while (undo.length > 0) await undo.pop()()
  }
})

/** The usual ports, each replaced by another one where somebody has it already. */
async function freePorts() {
  const entries = Object.entries(usual).map(async ([name, port]) => [
    name,
    (await free(port)) ?? (await free(0)),
  ])
  return Object.fromEntries(await Promise.all(entries))
}

async function free(port) {
  const server = createServer()
  const bound = await new Promise(resolve => {
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => resolve(server.address().port))
  })
  if (bound === undefined) return undefined
  server.close()
  await once(server, 'close')
  return bound
}

/** examples/quickstart itself, or a copy with other ports when its own are taken. */
async function manifests(ports) {
  const changed = ['listener', 'stable', 'next'].filter(name => ports[name] !== usual[name])
  if (changed.length === 0) return 'examples/quickstart'
  const copy = await mkdtemp(join(tmpdir(), 'gatewright-demo-'))
  undo.push(() => rm(copy, { recursive: true, force: true }))
  await cp(join(root, 'examples/quickstart'), copy, { recursive: true })
  for (const file of await readdir(copy)) {
    let text = await readFile(join(copy, file), 'utf8')
    for (const name of changed) text = text.replaceAll(`port: ${usual[name]}`, `port: ${ports[name]}`)
    await writeFile(join(copy, file), text)
  }
  console.log(
    `  ports ${changed.map(name => usual[name]).join(', ')} are taken: a copy with others is served`,
  )
  return copy
}

async function startBackend(name, port) {
  const { child, ended } = start(process.execPath, ['tools/demo-backend.mjs', name, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  undo.push(() => stop(child, ended))
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  console.log(`• backend ${line}`)
}

/** Two promises: that it is ready, which fails if it ends before or takes too long, and that it has ended. */
function startGatewright(directory, { http, xds, admin }, envoy) {
  const [node, ...rest] = fromBuild
  const flags = Object.entries({ http, xds, 'envoy-admin': admin }).flatMap(([name, port]) => [
    `--${name}`,
    `127.0.0.1:${port}`,
  ])
  // Its own process group: a Ctrl-C reaches it once, from here, and its Envoys are stopped in order.
  const { child, ended } = start(node, [...rest, 'up', directory, '--log-level', 'warn', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    env: { ...process.env, GATEWRIGHT_ENVOY: envoy },
  })
  undo.push(() => stop(child, ended))
  const ready = new Promise((resolve, reject) => {
    const fail = () => reject(new Failed('gatewright ended or was not ready within 60 s: see above'))
    const patience = setTimeout(fail, 60_000).unref()
    ended.then(fail, fail)
    createInterface({ input: child.stdout }).on('line', line => {
      console.log(`  ${line}`)
      if (line !== 'ready') return
      clearTimeout(patience)
      resolve()
    })
  })
  return { ready, ended }
}

async function stop(child, ended) {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
  await ended
}

function announce(directory, ports) {
  console.log('\nReady. Try, in another terminal:\n')
  for (const { curl, says, why } of promises(ports.listener)) {
    console.log(`  ${curl}\n      → ${says}   (${why})\n`)
  }
  console.log(`Then change a file in ${directory}: Envoy follows at once. What is held and derived:`)
  console.log(`  node dist/cli/main.js topology --server http://127.0.0.1:${ports.http}`)
  console.log('Ctrl-C stops everything.\n')
}

async function tryAll(port) {
  for (const promise of promises(port)) {
    const answer = await ask(port, promise)
    const good = promise.is(answer)
    console.log(`${good ? 'ok    ' : 'FAILED'} ${promise.curl}\n       → ${promise.says}`)
    if (!good) throw new Failed(`it answered ${answer.status} ${answer.text}`)
  }
}

function ask(port, { path, headers }) {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers, agent: false, timeout: 5000 }, response => {
      let text = ''
      response.on('data', part => (text += part))
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
    })
      .on('error', reject)
      .end()
  })
}
