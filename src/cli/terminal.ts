/** What a command sees of the world around it; tests give it another one. */
export interface Terminal {
  readonly environment: NodeJS.ProcessEnv
  /** Whether standard output may be coloured. */
  readonly colour: boolean
  /** Whether a person reads standard error, so that the log is text rather than JSON. */
  readonly person: boolean
  /** Standard output: what was asked for. */
  readonly out: (text: string) => void
  /** Standard error: everything else. */
  readonly err: (text: string) => void
  /** All of standard input. */
  input(): Promise<string>
  /**
   * Resolves at the first SIGINT or SIGTERM, or SIGHUP unless that is listened to; a second one ends the process at once.
   */
  interrupted(onHangup?: () => void): Promise<void>
}

/** The terminal of this process. `NO_COLOR` (any value but the empty one) forbids colour. */
export function processTerminal(): Terminal {
  return {
    environment: process.env,
    colour: process.stdout.isTTY && !process.env['NO_COLOR'],
    person: process.stderr.isTTY,
    out: text => void process.stdout.write(text),
    err: text => void process.stderr.write(text),
    async input() {
      const parts: Buffer[] = []
      for await (const part of process.stdin) parts.push(part as Buffer)
      return Buffer.concat(parts).toString()
    },
    interrupted: onHangup =>
      new Promise(resolve => {
        let first = true
        if (onHangup) process.on('SIGHUP', onHangup)
        for (const name of ['SIGINT', 'SIGTERM', ...(onHangup ? [] : ['SIGHUP'])]) {
          process.on(name, () => {
            if (!first) process.exit(130)
            first = false
            resolve()
          })
        }
      }),
  }
}
