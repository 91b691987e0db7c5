#!/usr/bin/env node
import type { Pipeline } from './pipeline.js'
import { runCommand } from './program.js'
import { processTerminal } from './terminal.js'

const composition = '../run.js'
process.exitCode = await runCommand(process.argv.slice(2), {
  terminal: processTerminal(),
  pipeline: async () => (await import(composition)) as Pipeline,
})
