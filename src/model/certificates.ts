import { X509Certificate, createPrivateKey } from 'node:crypto'
import { kindId, locator, parseLocator, section, type Locator } from '../core/index.js'
import type { Collection, Context, Engine } from '../collections/index.js'
import { ids, type Gateway, type GatewayListener, type Secret, type SecretReference } from '../kinds/index.js'
import { whyNotGranted, type Grants, type Reason, type References } from '../topology/index.js'
import { secretText } from './secret-text.js'
import type { Certificate } from './types.js'

/** What a listener's certificateRefs lead to, in their order, whether or not the Secrets can be served. */
interface CertificateRefs {
  readonly secrets: readonly Locator[]
  /** References that may not be followed. */
  readonly refused: readonly Reason[]
}

/** The certificates of a listener. Keyed by the listener's locator. */
export interface ListenerCertificates {
  /** {@link Certificate} names that can be served, in the order of the references. */
  readonly names: readonly string[]
  readonly problems: readonly Reason[]
}

export interface CertificateCollections {
  readonly certificates: Collection<Certificate>
  readonly listenerCertificates: Collection<ListenerCertificates>
  /** Secrets that listeners refer to, by locator. */
  readonly secrets: Collection<Locator>
}

export function buildCertificates(
  engine: Engine,
  secrets: Collection<Secret>,
  { gateways, grants }: References,
): CertificateCollections {
  const refs = engine.expand('certificate refs', gateways, (gateway, context, key) =>
    gateway.spec.listeners
      .filter(({ protocol }) => protocol === 'HTTPS')
      .map(listener => [section(key, listener.name), follow(gateway, listener, context, grants)] as const),
  )
  const bySecret = engine.index('certificate refs by secret', refs, ({ secrets: used }) => used)
  const referenced = engine.group('referenced secrets', bySecret, secret => secret)
  const parsed = engine.derive(
    'parsed certificates',
    referenced,
    (secret, context) => parse(secret, context.get(secrets, secret)),
    { equal: equalParsed },
  )
  const certificates = engine.derive('certificates', parsed, ({ certificate }) => certificate, {
    equal: equalCertificates,
  })
  // Whether, not what: a renewed key pair changes nothing downstream of here.
  const servable = engine.derive('servable secrets', parsed, ({ certificate, problem }) =>
    certificate ? { name: certificate.name } : { problem },
  )
  const listenerCertificates = engine.derive(
    'listener certificates',
    refs,
    ({ secrets: used, refused }, context) => {
      const found = used.map(secret => context.get(servable, secret))
      const problems = found.map(each => each?.problem).filter(problem => problem !== undefined)
      const names = found.map(each => each?.name).filter(name => name !== undefined)
      return { names: [...new Set(names)], problems: [...refused, ...problems] }
    },
  )
  const byName = engine.expand(
    'certificates by name',
    certificates,
    certificate => [[certificate.name, certificate]] as const,
    { equal: equalCertificates },
  )
  return { certificates: byName, listenerCertificates, secrets: referenced }
}

function follow(
  gateway: Gateway,
  listener: GatewayListener,
  context: Context,
  grants: Grants,
): CertificateRefs {
  const refs = listener.tls?.certificateRefs ?? []
  if (refs.length === 0) return { secrets: [], refused: [invalid('the listener names no certificate')] }
  const local = gateway.metadata.namespace ?? ''
  const followed = refs.map(ref => {
    const secret = { kind: ids.Secret, namespace: ref.namespace ?? local, name: ref.name }
    const refused =
      whyNoSecret(ref) ?? whyNotGranted(context, grants, { kind: ids.Gateway, namespace: local }, secret)
    return { refused, locator: locator(ids.Secret, secret.namespace, secret.name) }
  })
  return {
    secrets: followed.filter(({ refused }) => !refused).map(each => each.locator),
    refused: followed.map(({ refused }) => refused).filter(reason => reason !== undefined),
  }
}

function whyNoSecret({ group, kind }: SecretReference): Reason | undefined {
  if (kindId(group ?? '', kind ?? 'Secret') === ids.Secret) return undefined
  return invalid(`${kind ?? 'Secret'}${group ? `.${group}` : ''} is no kind of certificate; use a Secret`)
}

function invalid(message: string): Reason {
  return { reason: 'InvalidCertificateRef', message }
}

interface Parsed {
  readonly certificate?: Certificate
  readonly problem?: Reason
}

function parse(secret: Locator, object: Secret | undefined): Parsed {
  if (!object) return { problem: invalid(`${secret} does not exist`) }
  const { namespace, name } = parseLocator(secret)
  const chain = decode(object.data?.['tls.crt'])
  const key = decode(object.data?.['tls.key'])
  const why = whyNoKeyPair(chain, key)
  if (why !== undefined) return { problem: invalid(`${secret} ${why}`) }
  return { certificate: { name: `${namespace ?? ''}/${name}`, chain, key: secretText(key) } }
}

function decode(base64 = ''): string {
  return Buffer.from(base64, 'base64').toString('utf8')
}

/** Why two PEM texts are no certificate chain with its key. The answer never holds any of either. */
export function whyNoKeyPair(chain: string, key: string): string | undefined {
  if (chain === '') return 'has no tls.crt'
  if (key === '') return 'has no tls.key'
  const certificates = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
  const parsed = certificates?.map(pem => attempt(() => new X509Certificate(pem)))
  const leaf = parsed?.[0]
  if (!leaf || parsed.includes(undefined)) return 'holds no certificate in tls.crt'
  const privateKey = attempt(() => createPrivateKey(key))
  if (!privateKey) return 'holds no private key in tls.key'
  return attempt(() => leaf.checkPrivateKey(privateKey))
    ? undefined
    : 'holds a tls.key of another certificate'
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

function equalCertificates(a: Certificate, b: Certificate): boolean {
  return a.name === b.name && a.chain === b.chain && a.key.reveal() === b.key.reveal()
}

function equalParsed(a: Parsed, b: Parsed): boolean {
  if (a.certificate && b.certificate) return equalCertificates(a.certificate, b.certificate)
  return a.certificate === b.certificate && a.problem?.message === b.problem?.message
}
