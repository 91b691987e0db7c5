import { spawn, type ChildProcess } from 'node:child_process'
import { eventually } from '../../support/load.js'

export interface Launch {
  /** For people. */
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Rejects, or answers false, until the program does what it is for. */
  readonly isReady: () => Promise<boolean>
}

/** A process of its own, that can be killed and started again as it was. */
export class Program {
  /** All that it ever printed. */
  output = ''
  readonly #launch: Launch
  #child: ChildProcess | undefined

  private constructor(launch: Launch) {
    this.#launch = launch
  }

  static async start(launch: Launch): Promise<Program> {
    const program = new Program(launch)
    await program.start()
    return program
  }

  get name(): string {
    return this.#launch.name
  }

  get isRunning(): boolean {
    const child = this.#child
    return child !== undefined && child.exitCode === null && child.signalCode === null
  }

  /** Starts it, and waits until it is ready. */
  async start(): Promise<void> {
    this.spawn()
    await eventually(
      async () => this.isRunning && (await this.#launch.isReady()),
      ready => ready,
      60_000,
    ).catch(async (error: unknown) => {
      await this.kill()
      throw new Error(`${this.name} is not ready: ${String(error)}\n${this.tail()}`)
    })
  }

  /** Starts it, and does not wait. */
  spawn(): void {
    const { program, args, environment } = this.#launch
    const child = spawn(program, args, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (this.output += text.toString()))
  }

  /** As a crash does. */
  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** What it printed last, for whoever reads of a failure. */
  tail(): string {
    return this.output
      .split('\n')
      .slice(-40)
      .map(line => `${this.name}: ${line}`)
      .join('\n')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || !this.isRunning) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill(signal)
    await gone
  }
}
