import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { Fault } from '../core/index.js'
import type { Clock, Log, Metrics } from '../core/index.js'

export interface TlsFiles {
  /** PEM, the chain. */
  readonly certFile: string
  readonly keyFile: string
  /** PEM: who may sign clients' certificates. Without it none is asked for. */
  readonly clientCaFile?: string
}

/** What a TLS socket is given. */
export interface TlsMaterial {
  readonly cert: string
  readonly key: string
  readonly ca?: string
}

interface Surroundings {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** ms between two looks at the files; not watched, since Kubernetes swaps the links above a mounted Secret. */
const lookMs = 5_000

/** Throws CERTIFICATE_UNUSABLE. Later a pair that is not usable changes nothing, and is told of. */
export async function openCertificates(files: TlsFiles, around: Surroundings): Promise<Certificates> {
  const first = await read(files)
  const unusable = whyUnusable(first)
  if (unusable !== undefined) throw new Fault('CERTIFICATE_UNUSABLE', `${files.certFile}: ${unusable}`)
  return new Certificates(files, first, around)
}

/** The server's certificate, read again when its files change. */
export class Certificates {
  readonly #files: TlsFiles
  readonly #clock: Clock
  readonly #log: Log
  readonly #expiry: ReturnType<Metrics['gauge']>
  readonly #failures: ReturnType<Metrics['counter']>
  readonly #subscribers = new Set<(material: TlsMaterial) => void>()
  #current: TlsMaterial
  #refusal: string | undefined
  #warned = false
  #cancel = () => {}

  constructor(files: TlsFiles, first: TlsMaterial, { clock, log, metrics }: Surroundings) {
    this.#files = files
    this.#current = first
    this.#clock = clock
    this.#log = log
    this.#expiry = metrics.gauge(
      'certificate_expiry_timestamp_seconds',
      'When the certificate of the HTTP server ends',
    )
    this.#failures = metrics.counter(
      'certificate_reload_failures_total',
      'Changed certificates that could not be used',
    )
    this.#tellExpiry()
    this.#wait()
  }

  get current(): TlsMaterial {
    return this.#current
  }

  /** Told of every new one. Returns its undo. */
  subscribe(run: (material: TlsMaterial) => void): () => void {
    this.#subscribers.add(run)
    return () => void this.#subscribers.delete(run)
  }

  /** What is wrong: a newer pair that is not usable, an expired certificate. */
  degraded(): readonly string[] {
    const file = this.#files.certFile
    const kept = `${file} has changed and cannot be used (${this.#refusal ?? ''}): the one before is served`
    return [...(this.#refusal === undefined ? [] : [kept]), ...(this.#isExpired() ? [this.#expired()] : [])]
  }

  close(): void {
    this.#cancel()
  }

  #wait(): void {
    this.#cancel = this.#clock.after(lookMs, () => {
      this.#wait()
      void this.#look()
    })
  }

  async #look(): Promise<void> {
    try {
      this.#take(await read(this.#files))
    } catch (error) {
      this.#refuse((error as Error).message)
    }
    this.#tellExpiry()
  }

  #take(found: TlsMaterial): void {
    const isNew = JSON.stringify(found) !== JSON.stringify(this.#current)
    const reason = isNew ? whyUnusable(found) : undefined
    if (reason !== undefined) {
      this.#refuse(reason)
      return
    }
    this.#refusal = undefined
    if (!isNew) return
    this.#current = found
    this.#warned = false
    for (const run of this.#subscribers) run(found)
    this.#log.info({ file: this.#files.certFile }, 'a new certificate is served')
  }

  #refuse(reason: string): void {
    if (this.#refusal === reason) return
    this.#refusal = reason
    this.#failures.inc()
    this.#log.error({ file: this.#files.certFile, reason }, 'the certificate before is served on')
  }

  #tellExpiry(): void {
    this.#expiry.set(endOf(this.#current) / 1_000)
    if (this.#warned || !this.#isExpired()) return
    this.#warned = true
    this.#log.warn({ file: this.#files.certFile }, this.#expired())
  }

  #isExpired(): boolean {
    return endOf(this.#current) <= this.#clock.now()
  }

  #expired(): string {
    const end = new Date(endOf(this.#current)).toISOString()
    return `${this.#files.certFile} expired at ${end}: renew it`
  }
}

async function read({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<TlsMaterial> {
  const text = async (path: string) => {
    try {
      return await readFile(path, 'utf8')
    } catch (cause) {
      throw new Fault('CERTIFICATE_UNUSABLE', `${path} cannot be read`, { cause })
    }
  }
  const [cert, key] = [await text(certFile), await text(keyFile)]
  return { cert, key, ...(clientCaFile !== undefined && { ca: await text(clientCaFile) }) }
}

function whyUnusable(material: TlsMaterial): string | undefined {
  try {
    createSecureContext({ ...material })
    return Number.isNaN(endOf(material)) ? 'its end cannot be read' : undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** ms since the epoch. */
function endOf({ cert }: TlsMaterial): number {
  return Date.parse(new X509Certificate(cert).validTo)
}
