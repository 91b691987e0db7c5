import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../../src/core/index.js'

/** As in tools/gen-kinds.mjs, which our schemas are from. */
const version = 'sigs.k8s.io/gateway-api@v1.6.3'

/** The folder of the Gateway API's Go module, from the module cache or proxy; or why there is none. */
export async function gatewayApiModule(): Promise<{ readonly folder: string } | { readonly why: string }> {
  try {
    const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', version])
    return { folder: (JSON.parse(stdout) as { readonly Dir: string }).Dir }
  } catch (error) {
    return { why: `${version} cannot be had: ${String(error)}` }
  }
}

/** The files of its examples, and of those that are meant to be refused. */
export function exampleFiles(folder: string): readonly string[] {
  return ['examples', 'hack/invalid-examples'].flatMap(name =>
    readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
      .filter(file => /\.ya?ml$/.test(file))
      .map(file => join(folder, name, file))
      .sort(),
  )
}

/** The objects of a file, in the namespace `default` where it names none, as kubectl would. */
export function objectsOf(file: string): readonly KubeObject[] {
  return parseAllDocuments(readFileSync(file, 'utf8'))
    .map(document => document.toJS() as KubeObject | null)
    .filter(object => object !== null)
    .map(object => ({ ...object, metadata: { namespace: 'default', ...object.metadata } }))
}
