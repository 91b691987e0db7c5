// npm run gen: writes the generated files again, from registry packages. Needs Go.
// npm run gen -- --check: the same, and fails when that changed anything.
import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Failed, main, root, run, step } from './steps.mjs'

const isGenerated = name => name.includes('.gen.') || name.endsWith('.binpb')

async function fingerprints() {
  const found = ['src', 'charts'].map(async folder => {
    const names = await readdir(join(root, folder), { recursive: true })
    return names.filter(isGenerated).map(name => join(folder, name))
  })
  const hashes = (await Promise.all(found)).flat().map(async name => {
    const bytes = await readFile(join(root, name))
    return [name, createHash('sha256').update(bytes).digest('hex')]
  })
  return new Map(await Promise.all(hashes))
}

main(async () => {
  const before = await fingerprints()
  await step('schemas of the kinds', () => run(process.execPath, ['tools/gen-kinds.mjs']))
  await step('definitions of our own kinds', () =>
    run(process.execPath, ['--import', 'tsx', 'tools/gen-crds.ts']),
  )
  await step("Envoy's descriptors and types", () =>
    run('go', ['run', '.', '-out', join(root, 'src/envoy')], { cwd: join(root, 'tools/gen-envoy') }),
  )
  if (!process.argv.includes('--check')) return
  const after = await fingerprints()
  const names = [...new Set([...before.keys(), ...after.keys()])].sort()
  const changed = names.filter(name => before.get(name) !== after.get(name))
  if (changed.length > 0) throw new Failed(`not what the generators write: ${changed.join(', ')}`)
})
