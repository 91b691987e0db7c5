import { readFile, stat } from 'node:fs/promises'
import { Fault } from '../../core/index.js'
import { signed } from './signature.js'
import type { Credentials } from './types.js'

/** What TLS shows and believes. */
export interface TlsFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** What the files say now. */
export interface Shown {
  readonly token?: string
  readonly hmac?: string
  /** The same object as long as none of its files changes. */
  readonly tls: TlsFiles
}

/** The files of credentials, read again when they change. */
export class CredentialFiles {
  readonly serverName: string | undefined
  readonly #token: CredentialFile
  readonly #hmac: CredentialFile
  readonly #ca: CredentialFile
  readonly #cert: CredentialFile
  readonly #key: CredentialFile
  #tls: TlsFiles = {}

  constructor({ tokenFile, hmacFile, caFile, certFile, keyFile, serverName }: Credentials) {
    this.serverName = serverName
    this.#token = new CredentialFile(tokenFile)
    this.#hmac = new CredentialFile(hmacFile)
    this.#ca = new CredentialFile(caFile)
    this.#cert = new CredentialFile(certFile)
    this.#key = new CredentialFile(keyFile)
  }

  /** Rejects with SECRET_FILE_UNUSABLE where a file has never been readable. */
  async read(): Promise<Shown> {
    const files = [this.#token, this.#hmac, this.#ca, this.#cert, this.#key]
    const [tokens, keys, ca, cert, key] = await Promise.all(files.map(file => file.text()))
    // Whoever takes them takes any of several lines, so that they can be exchanged; the first is shown.
    const [token, hmac] = [tokens, keys].map(lines => lines?.split('\n', 1)[0]?.trim())
    if (ca !== this.#tls.ca || cert !== this.#tls.cert || key !== this.#tls.key) {
      this.#tls = {
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
      }
    }
    return {
      ...(token !== undefined && { token }),
      ...(hmac !== undefined && { hmac }),
      tls: this.#tls,
    }
  }
}

/** The headers that go with a body, now (ms since the epoch). */
export function headersOf(
  { token, hmac }: Shown,
  body: string,
  now: number,
): Readonly<Record<string, string>> {
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(hmac !== undefined && { ...signed(hmac, body, now) }),
  }
}

/** While a file is away, what it said last holds: whoever replaces it may take a moment. */
class CredentialFile {
  readonly #path: string | undefined
  #read: { readonly stamp: string; readonly text: string } | undefined

  constructor(path: string | undefined) {
    this.#path = path
  }

  /** Without white space at its ends; undefined where there is no such credential. */
  async text(): Promise<string | undefined> {
    if (this.#path === undefined) return undefined
    try {
      const { mtimeMs, ino, size } = await stat(this.#path)
      const stamp = `${mtimeMs} ${ino} ${size}`
      if (this.#read?.stamp !== stamp) {
        const text = (await readFile(this.#path, 'utf8')).trim()
        if (text === '') throw new Error('it is empty')
        this.#read = { stamp, text }
      }
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException
      const why = `${this.#path} cannot be read (${code ?? message})`
      if (this.#read === undefined) throw new Fault('SECRET_FILE_UNUSABLE', why, { cause })
    }
    return this.#read.text
  }
}
