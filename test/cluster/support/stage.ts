import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import type { Test } from 'tap'
import { startBackend, type TestBackend } from '../../support/backends.js'
import { Load, eventually, send, type Shot } from '../../support/load.js'
import { Installation } from './installation.js'
import { apply, succeed } from './kubectl.js'
import { aGateway, aNamespace, aRoute, aService, someEndpoints, type Named } from './objects.js'
import type { Program } from './program.js'
import type { Replica } from './replica.js'

/** Where the Gateway `edge` listens, which always answers. */
export const edgePort = 8080

export interface StageOptions {
  readonly namespace: string
  /** Seconds between full lists. Default 600: no test lives to see one. */
  readonly period?: number
}

/**
 * Two replicas that serve, a webhook side, and for each replica an Envoy of the Gateway `edge`, whose route for
 * `steady.test` to the Service `steady` answers from beginning to end.
 */
export interface Stage {
  readonly namespace: string
  readonly installation: Installation
  readonly replicas: readonly Replica[]
  readonly webhook: Replica
  readonly envoys: readonly Program[]
  /** A name in the stage's namespace. */
  readonly named: (name: string) => Named
  /** A real server that answers its name, on an address that Envoys reach. */
  readonly backend: (name: string) => Promise<TestBackend>
  /** The objects of a Service whose requests these backends answer; they are on one port each. */
  readonly service: (name: string, backend: TestBackend) => readonly object[]
  /** Has everything listed again by every replica: what only a relay or a period would tell of. */
  readonly relist: () => Promise<unknown>
  close(): Promise<void>
}

/** The last numbers of addresses. */
const [firstReplica, secondReplica, webhookSide, backends] = [11, 12, 13, 20] as const

export async function setStage({ namespace, period = 600 }: StageOptions): Promise<Stage> {
  const installation = await Installation.create()
  const servers: TestBackend[] = []
  const named = (name: string) => ({ name, namespace })
  const host = await installation.address(backends)
  const backend = async (name: string) => {
    const server = await startBackend(name, { host })
    servers.push(server)
    return server
  }
  const service = (name: string, { port }: TestBackend) => [
    aService(named(name)),
    someEndpoints(named(name), port, host),
  ]
  const close = async () => {
    await installation.close()
    await Promise.all(servers.map(server => server.close()))
    await succeed(['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found'])
  }
  try {
    await apply(aNamespace(namespace))
    await apply(
      ...service('steady', await backend('steady')),
      aGateway(named('edge'), edgePort),
      aRoute(named('steady'), { gateway: 'edge', service: 'steady', hostname: 'steady.test' }),
    )
    const [webhook, ...replicas] = await Promise.all([
      installation.webhook({
        last: webhookSide,
        certificate: installation.writePair('webhook', installation.certificate),
      }),
      installation.serve({ last: firstReplica, period }),
      installation.serve({ last: secondReplica, period }),
    ])
    await installation.announce(...replicas)
    await installation.reviewAt(webhook.addresses.http.replace(/:\d+$/, ''))
    await installation.startReviews()
    const envoys = await Promise.all(
      replicas.map((replica, i) => installation.envoy(replica, named('edge'), i)),
    )
    for (const replica of replicas) await answers(replica, edgePort, 'steady.test', 'steady')
    const relist = () => Promise.all(replicas.map(replica => replica.reconcile()))
    const parts = { namespace, installation, replicas, webhook, envoys }
    return { ...parts, named, backend, service, relist, close }
  } catch (error) {
    const logs = installation.logs()
    await close()
    throw new Error(logs, { cause: error })
  }
}

/** A request through the Envoy of a replica. */
export const ask = ({ addresses }: Replica, port: number, host: string, { tls = false } = {}) =>
  send({ address: addresses.listener, port, host, path: '/', tls })

/** Resolves with the ms that it took until the Envoy of the replica answers so; rejects after 15 s. */
export async function answers(
  replica: Replica,
  port: number,
  host: string,
  body: string,
  options: { readonly tls?: boolean } = {},
): Promise<number> {
  const since = performance.now()
  await eventually(
    () => ask(replica, port, host, options),
    answer => answer.status === 200 && answer.body === body,
  )
  return performance.now() - since
}

export interface TlsPort {
  readonly host: string
  readonly port: number
  readonly servername: string
}

/** Resolves with the ms that it took until the Envoy of the replica shows this certificate; rejects after 15 s. */
export const shows = ({ addresses }: Replica, port: number, servername: string, chain: string) =>
  showsAt({ host: addresses.listener, port, servername }, chain)

/** Resolves with the ms that it took until this certificate is shown there; rejects after 15 s. */
export async function showsAt(where: TlsPort, chain: string): Promise<number> {
  const since = performance.now()
  const wanted = new X509Certificate(chain).fingerprint256
  await eventually(
    () => certificateAt(where),
    shown => shown === wanted,
  )
  return performance.now() - since
}

/** The fingerprint of the certificate that a server shows. */
function certificateAt(where: TlsPort): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...where, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

/** Resolves when the Envoy of the replica knows no such route any more. */
export async function answersNot(replica: Replica, port: number, host: string): Promise<number> {
  const since = performance.now()
  await eventually(
    () => ask(replica, port, host),
    answer => answer.status === 404,
  )
  return performance.now() - since
}

/**
 * A story on the stage: while it is told, requests for `steady.test` go through both Envoys, and none may fail; in the
 * end both replicas give their proxies the same.
 */
export async function tell(t: Test, stage: Stage, story: () => Promise<void>): Promise<void> {
  const { replicas, installation } = stage
  const shots = replicas.map(({ addresses }): Shot => ({
    ...{ address: addresses.listener, port: edgePort, host: 'steady.test', path: '/' },
    wrong: (_, body) => (body === 'steady' ? undefined : body),
  }))
  const load = new Load().start(shots, { pauseMs: 20 })
  try {
    await story()
    await eventually(
      () => Promise.all(replicas.map(replica => replica.xds())),
      ([one, other]) => one?.join() === other?.join(),
    )
  } finally {
    const { sent, failed, misrouted } = await load.stop()
    t.strictSame({ ...failed, ...misrouted }, {}, `${sent} requests meanwhile, none failed`)
    if (!t.passing()) t.comment(installation.logs())
  }
}
