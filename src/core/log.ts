import { pino } from 'pino'

/** Structured log: fields first, then a sentence. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Log
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** JSON lines on standard error, so that standard output stays for what a command prints. */
export function createLog(level: LogLevel): Log {
  return pino({ level, base: null }, pino.destination({ dest: 2, sync: false }))
}

/** Says nothing: the default of library use and of tests. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
}
