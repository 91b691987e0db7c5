import { createReadStream, watch } from 'node:fs'
import { stat, truncate } from 'node:fs/promises'
import type { Log } from '../core/index.js'

/** How Envoy is told to write its lines, so that {@link toLog} can read them: `[level][component] message`. */
export const logFormat = '[%l][%n] %v'

/** The file that takes an Envoy's output is emptied beyond this size. */
const limitBytes = 8 << 20

/** Envoy's lines escape line breaks and quotes (`--log-format-escaped`): one message, one line, readable again. */
export function unescapeLine(line: string): string {
  return line.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? ' ' : character)).trimEnd()
}

/** Writes one line of an Envoy's output to the log, at Envoy's own level. */
export function toLog(log: Log, line: string): void {
  const match = /^\[(\w+)\]\[([\w-]+)\] (.*)$/.exec(line)
  const [, level = 'warning', component = 'main', message = line] = match ?? []
  const fields = { component }
  if (level === 'trace' || level === 'debug') log.debug(fields, message)
  else if (level === 'info') log.info(fields, message)
  else if (level === 'warning') log.warn(fields, message)
  else log.error(fields, message)
}

export interface Follower {
  /** Reads what is there now. */
  drain(): Promise<void>
  stop(): void
}

/** Hands on each line that is appended to the file, from its present end. */
export async function follow(path: string, line: (text: string) => void): Promise<Follower> {
  let position = (await stat(path)).size
  let rest = ''
  let reading: Promise<void> = Promise.resolve()
  const read = async () => {
    const { size } = await stat(path)
    if (size < position) position = 0
    if (size === position) return
    const stream = createReadStream(path, { start: position, end: size - 1, encoding: 'utf8' })
    for await (const chunk of stream) rest += chunk as string
    position = size
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const one of lines) line(unescapeLine(one))
    // Its writers append, so they go on at the new end.
    if (size > limitBytes) await truncate(path, 0)
  }
  const drain = () => (reading = reading.then(read, read).catch(() => {}))
  const watcher = watch(path, () => void drain())
  watcher.unref()
  return { drain, stop: () => watcher.close() }
}
