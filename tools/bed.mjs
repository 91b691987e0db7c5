// A real Kubernetes control plane for the tests of test/cluster: the testbed's, brought up for one run and taken down
// after it. Or any other one: GATEWRIGHT_TEST_KUBECONFIG names the kubeconfig of an administrator of a cluster that
// nobody needs. Tests of what is between the API server and a webhook need processes of this machine to be reachable
// from that API server; they are skipped where they are not.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Failed, capture, root, step } from './steps.mjs'

const testbed = () => join(process.env.GATEWRIGHT_TESTBED ?? join(root, '../shared/testbed'), 'testbed')

const gatewayApi = () =>
  join(process.env.TESTBED_CACHE ?? join(homedir(), '.cache/gatewright-testbed'), 'crds/v1.6.3/experimental')

/** No cluster could be brought up; nothing was tested. */
export class NoCluster extends Failed {}

/** Why no cluster can be had here; `undefined` when one can. */
export async function whyNoCluster() {
  if (process.env.GATEWRIGHT_TEST_KUBECONFIG) return undefined
  if (!existsSync(testbed()))
    return 'there is no testbed beside this repository, and GATEWRIGHT_TEST_KUBECONFIG is not set'
  if (process.getuid?.() !== 0) return 'the testbed needs root'
  for (const [program, ...args] of [
    ['go', 'version'],
    ['kubectl', 'version', '--client'],
  ]) {
    const found = await capture(program, args).catch(() => ({ code: 1 }))
    if (found.code !== 0) return `the testbed needs ${program}`
  }
  return undefined
}

/** The tests run kubectl too: it must mean the same cluster, and never the one that somebody works with. */
const administrator = kubeconfig => ({ GATEWRIGHT_TEST_KUBECONFIG: kubeconfig, KUBECONFIG: kubeconfig })

/**
 * Brings a cluster up, has `work` done, and takes it down, whatever happens. `work` is told what programs need in their
 * environment, and what to put before a command line so that it runs where the API server can reach it.
 */
export async function withCluster(work) {
  const kubeconfig = process.env.GATEWRIGHT_TEST_KUBECONFIG
  if (kubeconfig) return work({ environment: administrator(kubeconfig), before: [] })
  const name = `gatewright-${process.pid}`
  const down = () => void spawnSync(testbed(), ['down', '--name', name], { stdio: 'ignore' })
  const interrupted = () => {
    down()
    process.exit(130)
  }
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    const environment = await step(
      'a Kubernetes control plane (the first time it is built, for about 10 min)',
      () => up(name),
    )
    return await work({ environment, before: [testbed(), 'exec', '--name', name, '--'] })
  } finally {
    down()
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
  }
}

async function up(name) {
  const { code, output, printed } = await capture(testbed(), ['up', '--name', name])
  const [, kubeconfig] = /export KUBECONFIG=(\S+)/.exec(printed) ?? []
  if (code !== 0 || !kubeconfig) throw new NoCluster(`the testbed does not come up here:\n${output}`)
  const crds = ['apply', '--server-side', '-f', gatewayApi()]
  const applied = await capture('kubectl', crds, { env: { ...process.env, ...administrator(kubeconfig) } })
  if (applied.code !== 0) throw new Failed(`the Gateway API cannot be installed:\n${applied.output}`)
  return {
    ...administrator(kubeconfig),
    GATEWRIGHT_BED: name,
    GATEWRIGHT_TESTBED_PROGRAM: testbed(),
  }
}
