#!/usr/bin/env node
import { runCommand } from './program.js'
import { processTerminal } from './terminal.js'

process.exitCode = await runCommand(process.argv.slice(2), {
  terminal: processTerminal(),
  pipeline: () => import('../run.js'),
})
