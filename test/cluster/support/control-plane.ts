/** The processes of the bed that this test runs in: what a control plane suffers, it is made to suffer here. */
import { cpSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { eventually } from '../../support/load.js'
import { kubectl } from './kubectl.js'

const programs = {
  agent: /^testbed-\w+$/,
  etcd: /^etcd$/,
  'kube-apiserver': /^kube-apiserver$/,
} as const

export type Component = keyof typeof programs

function wordsOf(pid: string): readonly string[] {
  try {
    if (readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net')) return []
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    // It ended meanwhile.
    return []
  }
}

/** The process ids of a component, in this network alone: other beds are nobody's business. */
function pidsOf(component: Component): readonly number[] {
  const ours = readdirSync('/proc').filter(
    pid => /^\d+$/.test(pid) && programs[component].test(basename(wordsOf(pid)[0] ?? '')),
  )
  const running = component === 'agent' ? ours.filter(pid => wordsOf(pid)[1] === 'agent') : ours
  return running.map(Number)
}

/** Signals a component. It is started again a second after its end, by the agent. */
export function signal(component: Component, name: NodeJS.Signals): void {
  const pids = pidsOf(component)
  if (pids.length !== 1) throw new Error(`${pids.length} processes are ${component}`)
  for (const pid of pids) process.kill(pid, name)
}

export async function untilReady(): Promise<void> {
  await eventually(
    () => kubectl(['get', '--raw', '/readyz', '--request-timeout=2s']),
    ({ ok }) => ok,
    60_000,
  )
}

/** Ends the API server, has nobody start it again while `work` is done, and waits until it is back. */
export async function withoutApiServer(work: () => Promise<void>): Promise<void> {
  signal('agent', 'SIGSTOP')
  try {
    signal('kube-apiserver', 'SIGKILL')
    await work()
  } finally {
    signal('agent', 'SIGCONT')
  }
  await untilReady()
}

/** etcd's data, where the agent sees it. */
function dataOfEtcd(): string {
  const [agent] = pidsOf('agent')
  const [etcd] = pidsOf('etcd')
  const words = wordsOf(String(etcd))
  const [, folder] = /^--data-dir=(.*)$/.exec(words.find(word => word.startsWith('--data-dir=')) ?? '') ?? []
  if (agent === undefined || folder === undefined) throw new Error('etcd is not here')
  return `/proc/${agent}/root${folder}`
}

/** Copies all that etcd holds now. Resolves with what puts it back, as an administrator would restore a backup. */
export function backUp(): () => Promise<void> {
  const data = dataOfEtcd()
  const copy = `${data}.copy`
  rmSync(copy, { recursive: true, force: true })
  signal('etcd', 'SIGSTOP')
  try {
    cpSync(data, copy, { recursive: true })
  } finally {
    signal('etcd', 'SIGCONT')
  }
  return () =>
    withoutApiServer(async () => {
      signal('etcd', 'SIGKILL')
      await eventually(
        () => Promise.resolve(pidsOf('etcd').length),
        left => left === 0,
      )
      rmSync(data, { recursive: true })
      renameSync(copy, data)
    })
}

interface EtcdStatus {
  readonly header: { readonly revision: string }
}

async function askEtcd(path: string, body: object): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:2379/v3/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`etcd: ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** Has etcd forget all that was before now. */
export async function compact(): Promise<void> {
  const { header } = (await askEtcd('maintenance/status', {})) as EtcdStatus
  await askEtcd('kv/compaction', { revision: header.revision, physical: true })
}
