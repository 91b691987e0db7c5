import { readFile } from 'node:fs/promises'
import { envoyVersion } from '../../provision/index.js'
import type { AddCommand } from '../context.js'
import { exitCodes, help } from '../context.js'

export const addVersion: AddCommand = (program, { terminal }, done) => {
  program
    .command('version')
    .description('print the version of Gatewright, of Node and of the Envoy that it is tested with')
    .addHelpText('after', help('gatewright version'))
    .action(async () => {
      // Three folders up, from src/cli/commands as from dist/cli/commands.
      const text = await readFile(new URL('../../../package.json', import.meta.url), 'utf8')
      const { version } = JSON.parse(text) as { version: string }
      terminal.out(`gatewright ${version}\nnode ${process.versions.node}\nenvoy ${envoyVersion}\n`)
      done(exitCodes.ok)
    })
}
