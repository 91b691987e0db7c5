import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { bootstrap } from '../../../src/envoy/index.js'
import { ids } from '../../../src/kinds/index.js'
import { locator } from '../../../src/core/index.js'
import { selfSigned, type KeyPair } from '../../support/certificates.js'
import { giveBack, take } from './addresses.js'
import { apply, kubeconfigWith, remove, succeed, tokenOf } from './kubectl.js'
import { aGatewayClass, aService, someEndpoints, type Named } from './objects.js'
import { Program } from './program.js'
import { Replica, read, type Caller } from './replica.js'

const root = new URL('../../../', import.meta.url).pathname
const namespace = 'gatewright-system'
const port = 9443
const replicasName = `gatewright-replicas.${namespace}.svc.cluster.local`
/** In the certificate of all; the API server wants this one. */
export const serverName = `gatewright.${namespace}.svc`

interface Manifest {
  readonly webhooks?: { clientConfig: { caBundle: string }; [key: string]: unknown }[]
}

const documents = (path: string) =>
  parseAllDocuments(readFileSync(join(root, path), 'utf8')).map(each => each.toJS() as object)

export interface ServeOptions {
  /** The last number of its addresses, of its own among all that run. */
  readonly last: number
  /** Seconds between full lists. */
  readonly period?: number
  /** Told of what is admitted. Default: every replica, by its name in cluster DNS. */
  readonly peers?: readonly string[]
  /** Its certificate. Default: one that is good. */
  readonly certificate?: CertificateFiles
}

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/**
 * Gatewright as its examples install it: the accounts, rights and review of examples/cluster; replicas, a webhook side
 * and a relay as processes of this machine behind Services of the cluster.
 */
export class Installation {
  readonly certificate = selfSigned(serverName)
  readonly #folder = mkdtempSync(join(tmpdir(), 'gatewright-installation-'))
  readonly #programs: Program[] = []
  readonly #taken: string[] = []
  #files = 0
  #caller!: Caller

  static async create(): Promise<Installation> {
    const made = new Installation()
    await made.#install()
    return made
  }

  /** How to call a replica, as somebody who may see everything. */
  get caller(): Caller {
    return this.#caller
  }

  async #install(): Promise<void> {
    await succeed(['apply', '--server-side', '-f', join(root, 'charts/gatewright/crds')])
    await succeed(['apply', '-f', join(root, 'examples/cluster/rbac.yaml')])
    await apply(
      ...observer,
      aGatewayClass(),
      aService({ name: 'gatewright', namespace }, { port }),
      aService({ name: 'gatewright-replicas', namespace }, { port, headless: true }),
    )
    this.write('cert', this.certificate.chain)
    this.write('key', this.certificate.key)
    for (const account of ['gatewright', 'gatewright-relay']) {
      const token = await tokenOf(account, namespace)
      this.write(`${account}.token`, token)
      this.write(`${account}.kubeconfig`, await kubeconfigWith(token))
    }
    const token = await tokenOf('observer', namespace)
    this.#caller = { ca: this.certificate.chain, serverName, token }
  }

  /** The review of examples/cluster, at whatever {@link reviewAt} says. Other authorities may be trusted too. */
  async startReviews(...authorities: readonly string[]): Promise<void> {
    const found = documents('examples/cluster/webhook.yaml') as readonly Manifest[]
    const caBundle = Buffer.from([this.certificate.chain, ...authorities].join('')).toString('base64')
    for (const { webhooks = [] } of found)
      for (const { clientConfig } of webhooks) clientConfig.caBundle = caBundle
    await apply(...found)
  }

  async stopReviews(): Promise<void> {
    await remove(...documents('examples/cluster/webhook.yaml'))
  }

  /** Who answers reviews; nobody when no address is given. */
  async reviewAt(...addresses: readonly string[]): Promise<void> {
    await apply(someEndpoints({ name: 'gatewright', namespace }, port, ...addresses))
  }

  /** Who is told of changes. */
  async announce(...replicas: readonly Replica[]): Promise<void> {
    const addresses = replicas.map(({ addresses: { http } }) => http.replace(/:\d+$/, ''))
    await apply(someEndpoints({ name: 'gatewright-replicas', namespace }, port, ...addresses))
  }

  /** A replica that serves Envoys. */
  serve(options: ServeOptions): Promise<Replica> {
    const listener = `127.0.0.${options.last}`
    const more = ['--xds', `${listener}:15010`, '--listener-address', listener]
    return this.#replica('replica', options, more)
  }

  /** The webhook side alone. */
  webhook(options: ServeOptions): Promise<Replica> {
    return this.#replica('webhook', options, ['--role', 'webhook'])
  }

  async #replica(
    name: string,
    { last, period = 600, peers = [`${replicasName}:${port}`], certificate }: ServeOptions,
    more: readonly string[],
  ): Promise<Replica> {
    const host = await this.address(last)
    const loopback = `127.0.0.${last}`
    const addresses = {
      ...{ http: `${host}:${port}`, ops: `${loopback}:15001`, xds: `${loopback}:15010`, listener: loopback },
    }
    const program = await this.#gatewright(`${name} ${last}`, addresses.ops, [
      ...['serve', '--http', addresses.http, '--ops', addresses.ops, '--period', String(period)],
      ...['--kubeconfig', this.path('gatewright.kubeconfig')],
      ...['--tls-cert', certificate?.cert ?? this.path('cert')],
      ...['--tls-key', certificate?.key ?? this.path('key')],
      ...peers.flatMap(peer => ['--peer', peer]),
      ...['--peer-ca', this.path('cert'), '--peer-server-name', serverName],
      ...['--peer-token-file', this.path('gatewright.token'), ...more],
    ])
    return new Replica(program, addresses, this.caller)
  }

  /** A relay by itself, that finds the replicas by their name in cluster DNS. */
  relay({ last }: { readonly last: number }): Promise<Program> {
    const ops = `127.0.0.${last}:15001`
    return this.#gatewright(`relay ${last}`, ops, [
      ...['relay', '--ops', ops, '--kubeconfig', this.path('gatewright-relay.kubeconfig')],
      ...['--target', `https://${replicasName}:${port}`, '--target-ca', this.path('cert')],
      ...['--target-server-name', serverName, '--token-file', this.path('gatewright-relay.token')],
    ])
  }

  /** An Envoy of that Gateway, that asks the replica for all it does. */
  async envoy(replica: Replica, { namespace: where, name }: Named, last: number): Promise<Program> {
    const gateway = locator(ids.Gateway, where, name)
    const { xds, listener } = replica.addresses
    const adminAddress = `${listener}:${19_000 + last}`
    const options = { node: { id: `${name}-${last}`, cluster: gateway }, xdsAddress: xds, adminAddress }
    const config = this.write(`envoy-${this.#files++}.json`, JSON.stringify(bootstrap(options)))
    return this.keep(
      await Program.start({
        name: `envoy ${name} at ${listener}`,
        program: process.env['GATEWRIGHT_ENVOY'] ?? 'envoy',
        args: ['-c', config, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'warning'],
        isReady: () => read(adminAddress, '/server_info').then(() => true),
      }),
    )
  }

  /** An address of the pod network, given back when all ends. */
  async address(last: number): Promise<string> {
    const address = await take(last)
    if (!this.#taken.includes(address)) this.#taken.push(address)
    return address
  }

  /** A file that is gone when all ends. */
  write(name: string, text: string): string {
    const path = this.path(name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }

  writePair(name: string, { chain, key }: KeyPair): CertificateFiles {
    return { cert: this.write(`${name}.crt`, chain), key: this.write(`${name}.key`, key) }
  }

  path(name: string): string {
    return join(this.#folder, name)
  }

  /** What every program printed last. */
  logs(): string {
    return this.#programs.map(program => program.tail()).join('\n')
  }

  async close(): Promise<void> {
    await this.stopReviews()
    await Promise.all(this.#programs.map(program => program.kill()))
    await Promise.all(this.#taken.map(giveBack))
    rmSync(this.#folder, { recursive: true, force: true })
  }

  keep(program: Program): Program {
    this.#programs.push(program)
    return program
  }

  async #gatewright(name: string, ops: string, args: readonly string[]): Promise<Program> {
    return this.keep(
      await Program.start({
        name,
        program: process.execPath,
        args: ['--import', 'tsx', join(root, 'src/cli/main.ts'), ...args],
        isReady: () => read(ops, '/readyz').then(() => true),
      }),
    )
  }
}

const rbac = 'rbac.authorization.k8s.io'
const bound = (name: string) => ({
  ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata: { name: `observer-${name}` } },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
  subjects: [{ kind: 'ServiceAccount', name: 'observer', namespace }],
})

/** Somebody who may see everything and have everything listed again. */
const observer = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'observer', namespace } },
  {
    ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: 'test-reconcile' } },
    rules: [{ nonResourceURLs: ['/v1/reconcile'], verbs: ['post'] }],
  },
  bound('gatewright-view'),
  bound('test-reconcile'),
]
