// Compiles src into dist, beside which the data files that the code reads are copied.
import { chmod, cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { bin, main, root, run, step } from './steps.mjs'

const isData = name => name.endsWith('.binpb') || name.endsWith('.gen.json')

export async function build() {
  const [from, to] = [join(root, 'src'), join(root, 'dist')]
  await rm(to, { recursive: true, force: true })
  await run(bin('tsc'), ['-p', 'src'])
  for (const name of (await readdir(from, { recursive: true })).filter(isData)) {
    await mkdir(dirname(join(to, name)), { recursive: true })
    await cp(join(from, name), join(to, name))
  }
  const specification = parse(await readFile(join(root, 'openapi.yaml'), 'utf8'))
  await writeFile(join(to, 'server/openapi.json'), JSON.stringify(specification))
  await chmod(join(to, 'cli/main.js'), 0o755)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(() => step('build into dist', build))
