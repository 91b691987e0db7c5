import type { Log, LogLevel } from '../core/index.js'
import { createLog } from '../core/index.js'
import type { Terminal } from './terminal.js'
import type { Colour } from './text.js'
import { paint } from './text.js'

const order: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']
const colours: Partial<Record<LogLevel, Colour>> = { debug: 'dim', warn: 'yellow', error: 'red' }

/** The log of a long-running command: lines for a person at a terminal, JSON lines for everything else. */
export function terminalLog(level: LogLevel, terminal: Terminal): Log {
  return terminal.person ? textLog(level, terminal, {}) : createLog(level)
}

function textLog(level: LogLevel, terminal: Terminal, bound: object): Log {
  const write = (at: LogLevel) => (fields: object, message: string) => {
    if (order.indexOf(at) < order.indexOf(level)) return
    const name = paint(at.padEnd(5), colours[at] ?? 'green', terminal.colour)
    const details = Object.entries({ ...bound, ...fields }).map(([key, value]) => `${key}=${show(value)}`)
    const rest = details.length === 0 ? '' : `  ${paint(details.join(' '), 'dim', terminal.colour)}`
    terminal.err(`${name} ${message}${rest}\n`)
  }
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: fields => textLog(level, terminal, { ...bound, ...fields }),
  }
}

function show(value: unknown): string {
  if (typeof value === 'string') return value
  return value instanceof Error ? value.message : JSON.stringify(value)
}
