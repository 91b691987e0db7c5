/**
 * Asks a real API server (KUBECONFIG, with the Gateway API's experimental CRDs installed) about every case of
 * test/kinds/cel by dry run, and prints where its verdict, path or message is another than ours. Leaves nothing behind.
 * Exit code 1 when a verdict differs. Cases with an old object or a status need a stored object and are left out.
 */
import { request, type RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import { kindOf, validate } from '../src/kinds/index.js'
import { ruleCases } from '../test/kinds/rule-cases.js'
import type { KubeObject } from '../src/core/index.js'

interface Status {
  readonly message?: string
  readonly details?: { readonly causes?: readonly { readonly field: string; readonly message: string }[] }
}

const config = new KubeConfig()
config.loadFromDefault()
const server = config.getCurrentCluster()?.server ?? ''
const options: RequestOptions = {}
await config.applyToHTTPSOptions(options)

function asked(object: KubeObject): Promise<{ readonly accepted: boolean; readonly told: string[] }> {
  const row = kindOf(object)
  const place = row?.namespaced ? `/namespaces/${object.metadata.namespace ?? 'default'}` : ''
  const url = `${server}/apis/${object.apiVersion}${place}/${row?.plural ?? ''}?dryRun=All&fieldValidation=Strict`
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      { ...options, method: 'POST', headers: { 'content-type': 'application/json' } },
      answer => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const { details, message = '' } = JSON.parse(Buffer.concat(chunks).toString()) as Status
          const told = details?.causes?.map(({ field, message }) => `${field}: ${message}`) ?? [message]
          resolve({ accepted: (answer.statusCode ?? 500) < 300, told })
        })
      },
    )
    call.on('error', reject)
    call.end(JSON.stringify(object))
  })
}

let cases = 0
let verdicts = 0
let words = 0
for (const { file, built, cases: documents } of ruleCases()) {
  for (const { path, message, old, bad, good } of documents) {
    if (old || 'status' in bad) continue
    for (const object of [built(bad), built(good)]) {
      const theirs = await asked(object)
      const { problems } = validate(object)
      const same = problems.every(problem =>
        theirs.told.some(text => text.startsWith(`${problem.path}: `) && text.includes(problem.message)),
      )
      cases++
      if (theirs.accepted !== (problems.length === 0)) verdicts++
      if (theirs.accepted || same) continue
      words++
      console.log(`${file} ${path} ${message}\n  theirs ${theirs.told.join('\n         ')}`)
    }
  }
}
console.log(`${cases} objects: ${verdicts} verdicts differ, ${words} refused in other words`)
process.exitCode = verdicts > 0 ? 1 : 0
