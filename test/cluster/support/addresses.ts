import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const ip = async (...args: readonly string[]) => (await promisify(execFile)('ip', args)).stdout

let bridge: Promise<string> | undefined

async function bridgeOfPods(): Promise<string> {
  const [, name] = /^\d+: (\S+)/.exec(await ip('-o', 'address', 'show', 'to', '10.244.0.1')) ?? []
  if (name === undefined) throw new Error('the network of pods is not here: run this within the bed')
  return name
}

/** An address that pods, Services and the API server reach, and that was nobody's. Released with {@link giveBack}. */
export async function take(last: number): Promise<string> {
  const address = `10.244.255.${last}`
  bridge ??= bridgeOfPods()
  await ip('address', 'replace', `${address}/32`, 'dev', await bridge)
  return address
}

export async function giveBack(address: string): Promise<void> {
  await ip('address', 'delete', `${address}/32`, 'dev', await (bridge ??= bridgeOfPods()))
}
