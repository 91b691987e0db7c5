#!/usr/bin/env node
import { runCommand } from './program.js'
import { processTerminal } from './terminal.js'

// gRPC would write its own lines about a port in use, which the error says better. Set it to see them.
process.env['GRPC_VERBOSITY'] ??= 'NONE'

process.exitCode = await runCommand(process.argv.slice(2), {
  terminal: processTerminal(),
  pipeline: () => import('../run.js'),
  webhook: () => import('../webhook.js'),
  relay: () => import('../relay.js'),
})
