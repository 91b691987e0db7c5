// npm run bench: runs every bench; npm run bench -- topology-build: those whose file begins with the name.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Failed, main, root, run } from './steps.mjs'
import { setup } from './setup.mjs'

/** What the benches share; the other files of the folder are benches. */
const shared = ['report.ts', 'world.ts']

main(async () => {
  await setup()
  const names = process.argv.slice(2)
  const files = (await readdir(join(root, 'bench'))).filter(
    file => file.endsWith('.ts') && !shared.includes(file),
  )
  const chosen = files.filter(file => names.length === 0 || names.some(name => file.startsWith(name))).sort()
  if (chosen.length === 0) throw new Failed(`no such bench; there are: ${files.join(', ')}`)
  for (const file of chosen) await run(process.execPath, ['--import', 'tsx', `bench/${file}`])
})
