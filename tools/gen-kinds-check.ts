/**
 * Validates every object of the Gateway API's examples and conformance suite, read from the Go module (needs Go; nothing
 * of it is kept here). Exit code 1 when one is refused.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { problemText } from '../src/core/index.js'
import { validate } from '../src/kinds/index.js'

const modules = ['sigs.k8s.io/gateway-api@v1.6.3', 'sigs.k8s.io/gateway-api/conformance@v1.6.3']

/** Templates: their placeholders are no valid values. */
const templates = new Set([
  'tests/gateway-static-addresses.yaml',
  'tests/gatewayclass-observed-generation-bump.yaml',
])

function directoryOf(module: string): string {
  const answer = execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' })
  return (JSON.parse(answer) as { readonly Dir: string }).Dir
}

const files = modules.flatMap(module => {
  const directory = directoryOf(module)
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return names
    .filter(name => name.endsWith('.yaml') && !/^(?:config|hack|gwctl|reports)\//.test(name))
    .sort()
    .map(name => ({ name, text: readFileSync(join(directory, name), 'utf8') }))
})

let accepted = 0
let foreign = 0
let wrong = 0
for (const { name, text } of files) {
  for (const document of parseAllDocuments(text)) {
    const value = document.toJS() as { readonly apiVersion?: string } | null
    if (value?.apiVersion === undefined) continue
    const { problems } = validate(value, { defaultNamespace: 'default' })
    if (problems[0]?.severity === 'warning') foreign++
    else if (problems.length === 0) accepted++
    else if (!templates.has(name)) {
      wrong++
      console.log(`${name}: ${problems.map(problemText).join('\n    ')}`)
    }
  }
}
console.log(`${accepted} accepted, ${foreign} of other kinds, ${wrong} refused`)
process.exitCode = wrong > 0 ? 1 : 0
