import { readFile } from 'node:fs/promises'
import { Fault, silentLog, systemClock } from '../core/index.js'
import type { Clock, Log } from '../core/index.js'

export interface SecretFileOptions {
  readonly clock?: Clock
  readonly log?: Log
}

/** Tokens or keys, one a line, so that an old and a new one may both be taken for a while. */
export interface SecretFile {
  /** Never empty. Looks at the file again where that was not done for a second. */
  lines(): Promise<readonly string[]>
}

/** Throws SECRET_FILE_UNUSABLE. Later a file that is gone or empty changes nothing: what was read counts on. */
export async function openSecretFile(path: string, options: SecretFileOptions = {}): Promise<SecretFile> {
  const { clock = systemClock, log = silentLog } = options
  let held = await linesOf(path)
  let readAt = clock.now()
  return {
    async lines() {
      // Asked for by time and not by watching: Kubernetes swaps the links above a mounted Secret.
      if (clock.now() - readAt < 1_000) return held
      readAt = clock.now()
      try {
        held = await linesOf(path)
      } catch (error) {
        log.warn({ path, error: (error as Error).message }, 'what the file held before still counts')
      }
      return held
    },
  }
}

async function linesOf(path: string): Promise<readonly string[]> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new Fault('SECRET_FILE_UNUSABLE', path, { cause })
  }
  const lines = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  if (lines.length === 0) throw new Fault('SECRET_FILE_UNUSABLE', `${path} is empty`)
  return lines
}
