import { spawn } from 'node:child_process'

/** The kubeconfig of an administrator of the cluster under test. */
export const kubeconfig = process.env['GATEWRIGHT_TEST_KUBECONFIG']

/** Why a test of what is between the API server and processes of this machine cannot run here. */
export function whyNoBed(): string | false {
  if (kubeconfig === undefined) return 'GATEWRIGHT_TEST_KUBECONFIG names no cluster'
  if (process.env['GATEWRIGHT_BED'] === undefined)
    return 'an API server elsewhere cannot reach processes of this machine'
  return process.env['GATEWRIGHT_ENVOY'] === undefined && 'GATEWRIGHT_ENVOY names no Envoy'
}

/** How a kubectl ended, and what it said. */
export interface Said {
  readonly ok: boolean
  readonly output: string
  readonly error: string
  readonly ms: number
}

/** Runs kubectl as the administrator; a failure is an answer too. */
export function kubectl(args: readonly string[], input?: string): Promise<Said> {
  return new Promise((resolve, reject) => {
    const since = performance.now()
    const child = spawn('kubectl', args, { env: { ...process.env, KUBECONFIG: kubeconfig } })
    let output = ''
    let error = ''
    child.stdout.on('data', (text: Buffer) => (output += text.toString()))
    child.stderr.on('data', (text: Buffer) => (error += text.toString()))
    child.on('error', reject)
    child.on('close', code => resolve({ ok: code === 0, output, error, ms: performance.now() - since }))
    child.stdin.end(input)
  })
}

/** Runs kubectl; rejects with what it said when it fails. */
export async function succeed(args: readonly string[], input?: string): Promise<Said> {
  const said = await kubectl(args, input)
  if (!said.ok) throw new Error(`kubectl ${args.join(' ')}: ${said.error}`)
  return said
}

const listOf = (items: readonly object[]) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items })

/** `kubectl apply` of all at once; whether that works is for the caller to say. */
export const tryApply = (objects: readonly object[], ...flags: readonly string[]) =>
  kubectl(['apply', '-f', '-', ...flags], listOf(objects))

export const apply = (...objects: readonly object[]) => succeed(['apply', '-f', '-'], listOf(objects))

/** Removes what is there of these; waits until it is gone. */
export const remove = (...objects: readonly object[]) =>
  succeed(['delete', '--ignore-not-found', '-f', '-'], listOf(objects))

export async function tokenOf(account: string, namespace: string): Promise<string> {
  return (await succeed(['create', 'token', account, '-n', namespace, '--duration=2h'])).output.trim()
}

/** The text of a kubeconfig that calls the same API server with another token. */
export async function kubeconfigWith(token: string): Promise<string> {
  const { output } = await succeed(['config', 'view', '--raw', '--minify', '-o', 'json'])
  const { clusters } = JSON.parse(output) as { readonly clusters: readonly { readonly name: string }[] }
  const context = { cluster: clusters[0]?.name, user: 'test' }
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', clusters, 'current-context': 'test' },
    contexts: [{ name: 'test', context }],
    users: [{ name: 'test', user: { token } }],
  })
}

/** How often the API server went on without our review. */
export async function failedOpen(): Promise<number> {
  const { output } = await succeed(['get', '--raw', '/metrics'])
  const lines = output
    .split('\n')
    .filter(line => /^apiserver_admission_webhook_fail_open_count.*validate\.gatewright\.io/.test(line))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}
