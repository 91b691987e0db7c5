import {
  chmod,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { createMetrics, manualClock, problemText } from '../../src/core/index.js'
import type { Clock, Log, Metrics } from '../../src/core/index.js'
import { readManifests, watchDirectory } from '../../src/sources/index.js'
import type { Check, Directory } from '../../src/sources/index.js'
import { createStore } from '../../src/store/index.js'
import type { Store, Update } from '../../src/store/index.js'
import { aFolder, aRoute, aService, ports, until } from './manifests.js'

interface World {
  readonly folder: string
  readonly store: Store
  readonly directory: Directory
  readonly write: (name: string, text: string) => Promise<void>
  /** `file:line:column message` of each problem, without the folder. */
  readonly problems: () => string[]
}

interface Start {
  readonly clock?: Clock
  readonly check?: Check
  readonly log?: Log
  readonly metrics?: Metrics
}

/** A folder with some files, watched. */
async function aWorld(t: Test, files: Record<string, string>, start: Start = {}): Promise<World> {
  const folder = await aFolder(t)
  const write = async (name: string, text: string) => {
    await mkdir(join(folder, name, '..'), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  for (const [name, text] of Object.entries(files)) await write(name, text)
  const store = createStore({ freeze: true })
  const directory = watchDirectory({ path: folder, store, ...start })
  t.teardown(() => directory.close())
  await directory.ready
  const problems = () =>
    directory.problems().map(problem => problemText(problem).replaceAll(`${folder}/`, ''))
  return { folder, store, directory, write, problems }
}

t.test('what is read', t => {
  t.test('YAML and JSON, below folders, many documents, lists unfolded, namespace default', async t => {
    const { store, directory } = await aWorld(t, {
      'a.yaml': `${aService('a1', 1)}---\n${aService('a2', 2)}---\n# nothing\n---\n`,
      'deep/er/b.yml': aService('b', 3),
      'c.json': JSON.stringify({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'c' },
        spec: { ports: [{ port: 4 }] },
      }),
      'list.yaml': `apiVersion: v1\nkind: List\nitems:\n  - { apiVersion: v1, kind: Service, metadata: { name: l1 }, spec: { ports: [{ port: 5 }] } }\n`,
      'typed.yaml': `apiVersion: v1\nkind: ServiceList\nitems:\n  - metadata: { name: l2 }\n    spec: { ports: [{ port: 6 }] }\n`,
    })
    t.strictSame(ports(store.snapshot()), { a1: 1, a2: 2, b: 3, c: 4, l1: 5, l2: 6 })
    t.ok(store.snapshot().get('service:default/c'))
    t.strictSame(directory.problems(), [])
    t.strictSame(directory.incomplete(), [])
  })

  t.test(
    'not dotfiles, not node_modules, not other names, and kinds of others with a warning only',
    async t => {
      const { store, problems, directory } = await aWorld(t, {
        '.hidden.yaml': aService('hidden'),
        '.git/x.yaml': aService('git'),
        'node_modules/x/y.yaml': aService('module'),
        'notes.txt': 'hello: [',
        'deployment.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: d }\nspec: {}\n',
        'ok.yaml': aService('ok'),
      })
      t.strictSame(Object.keys(ports(store.snapshot())), ['ok'])
      t.match(problems(), [/^deployment.yaml:2:1 kind: no matches for kind "Deployment"/])
      t.strictSame(directory.incomplete(), [])
    },
  )

  t.test('a byte order mark, CRLF, anchors and merge keys', async t => {
    const { store, problems } = await aWorld(t, {
      'bom.yaml': `\uFEFF${aService('bom', 1)}`,
      'crlf.yaml': aService('crlf', 2).replaceAll('\n', '\r\n'),
      'merge.yaml': `apiVersion: v1
kind: Service
metadata: { name: merged, namespace: shop }
spec:
  ports:
    - &port { name: a, port: 3 }
    - { <<: *port, name: b, port: 4 }
`,
    })
    t.strictSame(ports(store.snapshot()), { bom: 1, crlf: 2, merged: 3 })
    t.strictSame(problems(), [])
  })

  t.test('one file alone, replaced by a rename; its neighbours are none of its business', async t => {
    const folder = await aFolder(t)
    await writeFile(join(folder, 'one'), aService('one', 1))
    await writeFile(join(folder, 'two.yaml'), aService('two', 2))
    const store = createStore({ freeze: true })
    const directory = watchDirectory({ path: join(folder, 'one'), store })
    t.teardown(() => directory.close())
    await directory.ready
    t.strictSame(ports(store.snapshot()), { one: 1 })
    await writeFile(join(folder, 'new'), aService('one', 9))
    await rename(join(folder, 'new'), join(folder, 'one'))
    await until(directory, () => ports(store.snapshot())['one'] === 9)
    t.strictSame(ports(store.snapshot()), { one: 9 })
  })

  t.test('a folder that is not there is a fault at the start', async t => {
    const folder = await aFolder(t)
    const directory = watchDirectory({ path: join(folder, 'nothing'), store: createStore() })
    t.teardown(() => directory.close())
    await t.rejects(directory.ready, { code: 'DIRECTORY_MISSING' })
  })
  t.end()
})

t.test('what is followed', t => {
  t.test('a file that is added, edited, renamed over and removed', async t => {
    const { folder, store, directory, write } = await aWorld(t, { 'a.yaml': aService('a', 1) })
    const has = (wanted: Record<string, number>) =>
      until(directory, () => JSON.stringify(ports(store.snapshot())) === JSON.stringify(wanted))
    await write('b.yaml', aService('b', 2))
    await has({ a: 1, b: 2 })
    await write('a.yaml', aService('a', 3))
    await has({ a: 3, b: 2 })
    await write('.b.yaml.tmp', aService('b', 4))
    await rename(join(folder, '.b.yaml.tmp'), join(folder, 'b.yaml'))
    await has({ a: 3, b: 4 })
    await unlink(join(folder, 'a.yaml'))
    await has({ b: 4 })
    await write('new/folder/c.yaml', aService('c', 5))
    await has({ b: 4, c: 5 })
    await rename(join(folder, 'new'), join(folder, 'moved'))
    await write('moved/folder/c.yaml', aService('c', 6))
    await has({ b: 4, c: 6 })
    await rm(join(folder, 'moved'), { recursive: true })
    await has({ b: 4 })
  })

  t.test('only the objects that differ are told, even of a file with many', async t => {
    const { store, directory, write } = await aWorld(t, {
      'a.yaml': [aService('x', 1), aService('y', 1), aService('z', 1)].join('---\n'),
      'b.yaml': aService('b', 1),
    })
    const updates: Update[] = []
    store.subscribe(notice => void updates.push(...notice.updates))
    updates.length = 0
    await write('a.yaml', [aService('w', 1), aService('x', 1), aService('y', 2)].join('---\n'))
    await directory.rescan()
    t.strictSame(updates.map(({ type, locator }) => `${type} ${locator}`).sort(), [
      'create service:shop/w',
      'delete service:shop/z',
      'update service:shop/y',
    ])
  })

  t.test('a ConfigMap mount: files are links through `..data`, which is swapped whole', async t => {
    const folder = await aFolder(t)
    const version = async (name: string, files: Record<string, string>) => {
      await mkdir(join(folder, name))
      for (const [file, text] of Object.entries(files)) await writeFile(join(folder, name, file), text)
      await symlink(name, join(folder, '..data_tmp'))
      await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    await version('..2026_01', { 'a.yaml': aService('a', 1), 'b.yaml': aService('b', 1) })
    for (const file of ['a.yaml', 'b.yaml']) await symlink(join('..data', file), join(folder, file))
    const store = createStore({ freeze: true })
    const directory = watchDirectory({ path: folder, store })
    t.teardown(() => directory.close())
    await directory.ready
    t.strictSame(ports(store.snapshot()), { a: 1, b: 1 })
    const seen: string[] = []
    store.subscribe(({ snapshot }) => void seen.push(JSON.stringify(ports(snapshot))))
    await version('..2026_02', { 'a.yaml': aService('a', 2), 'b.yaml': aService('b', 2) })
    await rm(join(folder, '..2026_01'), { recursive: true })
    await until(directory, () => ports(store.snapshot())['b'] === 2)
    t.strictSame(seen, ['{"a":1,"b":1}', '{"a":2,"b":2}'], 'both in one step, and never without one')
    t.strictSame(directory.problems(), [])
  })

  t.test('links to folders are followed, but not in circles', async t => {
    const outside = await aFolder(t)
    await writeFile(join(outside, 'o.yaml'), aService('outside', 1))
    const { folder, store, directory } = await aWorld(t, { 'sub/a.yaml': aService('a', 2) })
    await symlink(outside, join(folder, 'linked'))
    await symlink(folder, join(folder, 'sub', 'circle'))
    await until(directory, () => store.snapshot().size === 2)
    await writeFile(join(outside, 'o.yaml'), aService('outside', 9))
    await until(directory, () => ports(store.snapshot())['outside'] === 9)
    t.strictSame(directory.problems(), [])
  })

  t.test('a file that took the place of a folder, and a folder that took that of a file', async t => {
    const { folder, store, directory, write } = await aWorld(t, {
      'a.yaml': aService('file', 1),
      'b.yaml/inner.yaml': aService('inner', 2),
    })
    t.strictSame(ports(store.snapshot()), { file: 1, inner: 2 })
    await rm(join(folder, 'a.yaml'))
    await write('a.yaml/inner.yaml', aService('inner-a', 3))
    await rm(join(folder, 'b.yaml'), { recursive: true })
    await write('b.yaml', aService('file-b', 4))
    await until(directory, () => store.snapshot().size === 2 && ports(store.snapshot())['file-b'] === 4)
    t.strictSame(ports(store.snapshot()), { 'file-b': 4, 'inner-a': 3 })
  })

  t.test('reading again finds an edit that left size and time as they were', async t => {
    const { folder, store, directory } = await aWorld(t, { 'a.yaml': aService('a', 11) })
    directory.close()
    const again = watchDirectory({ path: folder, store })
    t.teardown(() => again.close())
    await again.ready
    const { mtime, atime } = await stat(join(folder, 'a.yaml'))
    await writeFile(join(folder, 'a.yaml'), aService('a', 22))
    await utimes(join(folder, 'a.yaml'), atime, mtime)
    await again.rescan()
    t.strictSame(ports(store.snapshot()), { a: 22 })
  })

  t.test('reading again repairs what somebody else did to the store', async t => {
    const { store, directory } = await aWorld(t, { 'a.yaml': aService('a', 1), 'b.yaml': aService('b', 1) })
    store.apply([{ type: 'delete', locator: 'service:shop/a' }])
    t.match(await directory.rescan(), { accepted: 1, duplicate: 1 })
    t.strictSame(ports(store.snapshot()), { a: 1, b: 1 })
  })
  t.end()
})

t.test('what is wrong loses nothing', t => {
  t.test('a file that no longer parses keeps its objects, says where, and heals', async t => {
    const metrics = createMetrics()
    const logged: string[] = []
    const say = (_: object, message: string) => void logged.push(message)
    const log: Log = { debug: () => undefined, info: say, warn: say, error: say, child: () => log }
    const { store, directory, write, problems } = await aWorld(
      t,
      { 'a.yaml': `${aService('a', 1)}---\n${aService('a2', 1)}`, 'b.yaml': aService('b', 1) },
      { metrics, log },
    )
    await write('a.yaml', `${aService('a', 2)}---\n\tbad: [\n`)
    await until(directory, () => problems().length > 0)
    t.match(problems()[0], /^a\.yaml:10:1: Tabs/)
    t.strictSame(ports(store.snapshot()), { a: 1, a2: 1, b: 1 })
    t.strictSame(directory.incomplete(), [], 'what it said last is known')
    t.match(await metrics.text(), /gatewright_directory_bad_files 1/)
    t.match(logged.join('\n'), /a\.yaml:10:1/)
    await write('a.yaml', aService('a', 3))
    await until(directory, () => problems().length === 0)
    t.strictSame(ports(store.snapshot()), { a: 3, b: 1 })
    t.match(await metrics.text(), /gatewright_directory_bad_files 0/)
  })

  t.test('a file that is no longer valid: all problems at once, at their fields', async t => {
    const { store, directory, write, problems } = await aWorld(t, {
      'r.yaml': `${aService('s', 1)}---\n${aRoute('r')}`,
    })
    await write(
      'r.yaml',
      `${aService('s', 2)}---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: r
  namespace: shop
spec:
  hostnames:
    - ok.example.com
    - "not a host"
  rulez: []
`,
    )
    await directory.rescan()
    t.match(problems(), [
      /^r\.yaml:18:7 httproute.gateway.networking.k8s.io:shop\/r spec.hostnames\[1\]: /,
      /^r\.yaml:19:3 .*spec.rulez: .*unknown field/,
    ])
    t.strictSame(ports(store.snapshot()), { s: 1 }, 'a file is taken whole or not at all')
  })

  t.test('at the start there is nothing to keep: the files are named as missing', async t => {
    const { folder, directory, write, store } = await aWorld(t, {
      'bad.yaml': 'a: [',
      'worse.yaml': aRoute('r', 'hostnames: ["*"]'),
      'good.yaml': aService('g', 1),
    })
    t.strictSame(directory.incomplete(), [join(folder, 'bad.yaml'), join(folder, 'worse.yaml')])
    t.strictSame(ports(store.snapshot()), { g: 1 })
    await write('bad.yaml', aService('b', 2))
    await unlink(join(folder, 'worse.yaml'))
    await until(directory, () => directory.incomplete().length === 0)
    t.strictSame(ports(store.snapshot()), { g: 1, b: 2 })
  })

  t.test('the same object in two files: the first by name counts, the other takes over', async t => {
    const { folder, store, directory, write, problems } = await aWorld(t, {
      'b.yaml': aService('s', 2),
      'c.yaml': aService('s', 3),
    })
    t.strictSame(ports(store.snapshot()), { s: 2 })
    t.match(problems(), [
      /^c\.yaml:1:1 service:shop\/s: the same object stands in .*b\.yaml:1, which is used/,
    ])
    await write('a.yaml', aService('s', 1))
    await until(directory, () => ports(store.snapshot())['s'] === 1)
    t.equal(problems().length, 2)
    await unlink(join(folder, 'a.yaml'))
    await unlink(join(folder, 'b.yaml'))
    await until(directory, () => ports(store.snapshot())['s'] === 3)
    t.strictSame(problems(), [])
  })

  t.test('the same object twice in one file', async t => {
    const { problems, directory } = await aWorld(t, {
      'a.yaml': `${aService('s', 1)}---\n${aService('s', 2)}`,
    })
    t.match(problems(), [/^a\.yaml:13:3 service:shop\/s: the same object stands at line 4/])
    t.equal(directory.incomplete().length, 1)
  })

  t.test('texts that are no manifests', async t => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...Array.from({ length: 9 }, (_, n) => {
        const [from, to] = [String.fromCharCode(97 + n), String.fromCharCode(98 + n)]
        return `${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join(',')}]`
      }),
    ].join('\n')
    const merges = [
      'a: &a { k: v }',
      ...Array.from({ length: 9 }, (_, n) => {
        const [from, to] = [String.fromCharCode(97 + n), String.fromCharCode(98 + n)]
        return `${to}: &${to} { <<: [${Array.from({ length: 9 }, () => `*${from}`).join(',')}] }`
      }),
    ].join('\n')
    const { problems, store, folder } = await aWorld(t, {
      'alias-bomb.yaml': bomb,
      'deep.yaml': '['.repeat(100_000),
      'duplicate-key.yaml': aService('d').replace('  name: d\n', '  name: d\n  name: e\n'),
      'duplicate-key.json': '{"apiVersion": "v1", "kind": "Service",\n "kind": "Secret"}',
      'list.yaml': '- a\n- b\n',
      'merge-bomb.yaml': merges,
      'no-kind.yaml': 'apiVersion: v1\nmetadata: { name: x }\n',
      'no-name.yaml': 'apiVersion: v1\nkind: Service\nmetadata: {}\nspec: {}\n',
      'scalar.yaml': 'hello\n',
      'tab.yaml': 'apiVersion: v1\nkind: Service\nmetadata:\n\tname: x\n',
      'unknown-alias.yaml': 'a: *nothing\n',
    })
    await writeFile(join(folder, 'bytes.yaml'), Buffer.from([0x61, 0x3a, 0xff, 0xfe]))
    t.equal(store.snapshot().size, 0)
    t.matchOnly(problems().sort(), [
      /^alias-bomb.yaml:1:1: Excessive alias count/,
      /^deep.yaml:1:\d+: it is nested too deeply/,
      /^duplicate-key.json:2:2: the key "kind" stands twice/,
      /^duplicate-key.yaml:5:3: the key "name" stands twice/,
      /^list.yaml:1:1: Invalid value: must be an object/,
      /^merge-bomb.yaml:1:1: Excessive alias count/,
      /^no-kind.yaml:1:1 kind: Required value/,
      /^no-name.yaml:3:1 metadata.name: Required value/,
      /^scalar.yaml:1:1: Invalid value: must be an object/,
      /^tab.yaml:4:1: Tabs are not allowed/,
      /^unknown-alias.yaml:1:1: Unresolved alias .*\)$/,
    ])
  })

  t.test('a text is not quoted in what is said of it: it may be a secret', async t => {
    const { problems } = await aWorld(t, { 'a.yaml': 'stringData: { a: b }\n  "hunter2": c\n- hunter2\n' })
    t.ok(problems().length > 0)
    t.notMatch(problems().join('\n'), /hunter2/)
  })

  t.test('files that cannot be read', async t => {
    const { folder, store, directory, write, problems } = await aWorld(t, {
      'a.yaml': aService('a', 1),
      'locked/b.yaml': aService('b', 1),
      'link.yaml': aService('linked', 1),
    })
    await rm(join(folder, 'link.yaml'))
    await symlink('nowhere', join(folder, 'link.yaml'))
    await symlink('self.yaml', join(folder, 'self.yaml'))
    await writeFile(join(folder, 'bytes.yaml'), Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]))
    await directory.rescan()
    t.match(problems(), [
      /^bytes.yaml:1:1: it is not UTF-8 text/,
      /^link.yaml:1:1: it is a link to nothing/,
      /^self.yaml:1:1: it is a link that leads to itself/,
    ])
    t.strictSame(ports(store.snapshot()), { a: 1, b: 1, linked: 1 })
    for (const name of ['link.yaml', 'self.yaml', 'bytes.yaml']) await unlink(join(folder, name))
    await directory.rescan()
    t.strictSame(problems(), [])
    t.strictSame(ports(store.snapshot()), { a: 1, b: 1 })

    if (process.getuid?.() === 0) {
      t.comment('root reads everything: no permission can be taken away')
      return
    }
    await chmod(join(folder, 'a.yaml'), 0)
    await chmod(join(folder, 'locked'), 0)
    t.teardown(() => chmod(join(folder, 'locked'), 0o755))
    await directory.rescan()
    t.match(problems(), [/^a.yaml:1:1: it cannot be read: allow/, /^locked:1:1: it cannot be read: allow/])
    t.strictSame(ports(store.snapshot()), { a: 1, b: 1 })
    await chmod(join(folder, 'a.yaml'), 0o644)
    await chmod(join(folder, 'locked'), 0o755)
    await write('a.yaml', aService('a', 2))
    await directory.rescan()
    t.strictSame(ports(store.snapshot()), { a: 2, b: 1 })
  })

  t.test(
    'an emptied file is believed a second later, since writers empty a file before they fill it',
    async t => {
      const clock = manualClock()
      const { folder, store, directory, write } = await aWorld(
        t,
        { 'a.yaml': aService('a', 1), 'b.yaml': aService('b', 1) },
        { clock },
      )
      await truncate(join(folder, 'a.yaml'))
      await truncate(join(folder, 'b.yaml'))
      await directory.rescan()
      t.strictSame(ports(store.snapshot()), { a: 1, b: 1 })
      await write('b.yaml', aService('b', 2))
      clock.advance(2000)
      await directory.rescan()
      t.strictSame(ports(store.snapshot()), { b: 2 })
    },
  )

  t.test('the folder goes away: all stays, it is said, and what comes back is read', async t => {
    const { folder, store, directory, write, problems } = await aWorld(t, { 'sub/a.yaml': aService('a', 1) })
    await rm(folder, { recursive: true })
    await until(directory, () => problems().length > 0)
    t.match(problems()[0], /cannot read .*: it is gone or may not be read: put it back/)
    t.equal(directory.problems()[0]?.rule, 'DIRECTORY_GONE')
    t.strictSame(ports(store.snapshot()), { a: 1 })
    await write('other/b.yaml', aService('b', 2))
    await until(directory, () => ports(store.snapshot())['b'] === 2 && problems().length === 0)
    t.strictSame(ports(store.snapshot()), { b: 2 })
    await write('other/b.yaml', aService('b', 3))
    await until(directory, () => ports(store.snapshot())['b'] === 3)
  })

  t.test('another folder takes its name at once', async t => {
    const { folder, store, directory, write } = await aWorld(t, { 'a.yaml': aService('a', 1) })
    await mkdir(`${folder}.new`)
    t.teardown(() => rm(`${folder}.old`, { recursive: true, force: true }))
    await writeFile(join(`${folder}.new`, 'b.yaml'), aService('b', 2))
    await rename(folder, `${folder}.old`)
    await rename(`${folder}.new`, folder)
    await until(directory, () => ports(store.snapshot())['b'] === 2)
    t.strictSame(ports(store.snapshot()), { b: 2 })
    await write('b.yaml', aService('b', 3))
    await until(directory, () => ports(store.snapshot())['b'] === 3)
  })
  t.end()
})

t.test('much at once', t => {
  t.test('10,000 files appear at once, and the event loop goes on', async t => {
    const outside = await aFolder(t)
    for (let n = 0; n < 10_000; n++) writeFileSync(join(outside, `s-${n}.yaml`), aService(`s-${n}`))
    // A check that costs nothing: what is tried is the reading.
    const check: Check = value => ({ object: value as never, problems: [] })
    const { folder, store, directory } = await aWorld(t, {}, { check })
    let ticks = 0
    const ticking = setInterval(() => ticks++, 5)
    t.teardown(() => clearInterval(ticking))
    await rename(outside, join(folder, 'many'))
    await until(directory, () => store.snapshot().size === 10_000)
    t.ok(ticks > 100, `a timer of 5 ms ran ${ticks} times`)
    t.strictSame(directory.problems(), [])
  })

  t.test('one file of a megabyte and 5,000 documents', async t => {
    const text = Array.from(
      { length: 5000 },
      (_, n) => `${aService(`s-${n}`, 1)}# ${'x'.repeat(100)}\n`,
    ).join('---\n')
    t.ok(text.length > 1_000_000)
    const { store } = await aWorld(
      t,
      { 'big.yaml': text },
      { check: value => ({ object: value as never, problems: [] }) },
    )
    t.equal(store.snapshot().size, 5000)
  })
  t.end()
})

t.test('manifests read once', t => {
  t.test('files, folders and standard input: valid objects in order, all problems', async t => {
    const folder = await aFolder(t)
    await mkdir(join(folder, 'dir'))
    await writeFile(join(folder, 'dir', 'a.yaml'), `${aService('a')}---\n${aRoute('bad', 'rulez: []')}`)
    await writeFile(join(folder, 'dir', 'z.yaml'), aService('a', 9))
    await writeFile(join(folder, 'named.txt'), aService('named'))
    const paths = [join(folder, 'dir'), join(folder, 'named.txt'), '-', join(folder, 'nothing')]
    const { objects, problems } = await readManifests(paths, { stdin: aService('piped') })
    t.strictSame(
      objects.map(object => object.metadata.name),
      ['a', 'named', 'piped'],
    )
    t.match(
      problems.map(problem => problemText(problem).replaceAll(`${folder}/`, '')),
      [
        /^dir\/a.yaml:13:9 .*rulez/,
        /^dir\/z.yaml:1:1 .*the same object stands in .*a.yaml:1/,
        /^nothing:1:1: there is no such/,
      ],
    )
    t.equal((await readFile(join(folder, 'named.txt'), 'utf8')).length > 0, true)
  })
  t.end()
})
