import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'

/** A folder of manifests that a test edits; every write is one rename, as an editor or a sync tool does it. */
export class ManifestFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'gatewright-manifests-'))
  #writes = 0

  write(file: string, ...objects: readonly object[]): void {
    this.writeText(
      file,
      objects.map(object => stringify(object, { aliasDuplicateObjects: false })).join('---\n'),
    )
  }

  writeText(file: string, text: string): void {
    const draft = join(this.path, `.${file}.${this.#writes++}`)
    writeFileSync(draft, text)
    renameSync(draft, join(this.path, file))
  }

  delete(file: string): void {
    rmSync(join(this.path, file))
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

const api = 'gateway.networking.k8s.io/v1'
const inShop = (name: string) => ({ name, namespace: 'shop' })

export function gatewayClass(): object {
  const spec = { controllerName: 'gatewright.io/gateway-controller' }
  return { apiVersion: api, kind: 'GatewayClass', metadata: { name: 'gatewright' }, spec }
}

export interface ListenerDraft {
  readonly name: string
  readonly port: number
  readonly hostname?: string
  /** Names of Secrets: makes the listener HTTPS. */
  readonly certificates?: readonly string[]
}

/** Gateway shop/public. */
export function gateway(...listeners: readonly ListenerDraft[]): object {
  return {
    apiVersion: api,
    kind: 'Gateway',
    metadata: inShop('public'),
    spec: {
      gatewayClassName: 'gatewright',
      listeners: listeners.map(({ name, port, hostname, certificates }) => ({
        name,
        port,
        protocol: certificates ? 'HTTPS' : 'HTTP',
        ...(hostname !== undefined && { hostname }),
        ...(certificates && { tls: { certificateRefs: certificates.map(secret => ({ name: secret })) } }),
      })),
    },
  }
}

export interface RuleDraft {
  readonly prefix: string
  readonly to: readonly { readonly name: string; readonly weight?: number }[]
  readonly filters?: readonly object[]
}

/** HTTPRoute shop/NAME of Gateway shop/public. */
export function httpRoute(
  name: string,
  hostnames: readonly string[],
  ...rules: readonly RuleDraft[]
): object {
  return {
    apiVersion: api,
    kind: 'HTTPRoute',
    metadata: inShop(name),
    spec: {
      parentRefs: [{ name: 'public' }],
      hostnames,
      rules: rules.map(({ prefix, to, filters }) => ({
        matches: [{ path: { type: 'PathPrefix', value: prefix } }],
        ...(filters && { filters }),
        backendRefs: to.map(backend => ({ group: 'gatewright.io', kind: 'Backend', ...backend })),
      })),
    },
  }
}

/** Backend shop/NAME. */
export function backend(name: string, port: number, host = '127.0.0.1', protocol?: string): object {
  return {
    apiVersion: 'gatewright.io/v1alpha1',
    kind: 'Backend',
    metadata: inShop(name),
    spec: { endpoints: [{ host, port }], ...(protocol !== undefined && { protocol }) },
  }
}

export interface KeyPair {
  readonly certificate: string
  readonly key: string
}

/** A new self-signed key pair, PEM, made by openssl. */
export function keyPair(hostname: string): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-keys-'))
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', `/CN=${hostname}`, '-addext', `subjectAltName=DNS:${hostname}`]
  execFileSync('openssl', ['req', '-x509', ...curve, ...names, '-keyout', key, '-out', certificate], {
    stdio: 'pipe',
  })
  const pair = { certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') }
  rmSync(folder, { recursive: true })
  return pair
}

/** Secret shop/NAME of type kubernetes.io/tls. */
export function tlsSecret(name: string, { certificate, key }: KeyPair): object {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: inShop(name),
    data: { 'tls.crt': base64(certificate), 'tls.key': base64(key) },
  }
}
