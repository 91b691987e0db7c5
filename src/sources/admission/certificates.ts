import { X509Certificate, createPrivateKey } from 'node:crypto'
import type { KubeObject, Locator } from '../../core/index.js'
import { kindId, kindIdOf } from '../../core/index.js'
import { covers, ids } from '../../kinds/index.js'
import type { Gateway, Secret } from '../../kinds/index.js'
import { hostnameOf } from './attachment.js'
import type { Reference } from './references.js'
import { certificatesOf, isForeign, keyOf, nameOf, secretAt, whyNotGranted } from './references.js'
import type { Surroundings } from './surroundings.js'
import type { Finding } from './types.js'

/** What was read; a key that is missing could not be. */
export type Fresh = ReadonlyMap<Locator, KubeObject | undefined>

/** The Secrets whose certificates are worth a look: of a Gateway that may be ours, and never behind a closed door. */
export function secretsOf(object: KubeObject, around: Surroundings): readonly Locator[] {
  if (kindIdOf(object) !== ids.Gateway || isForeign(object as Gateway, around)) return []
  return [...new Set(readable(object as Gateway, around).map(keyOf))]
}

function readable(gateway: Gateway, around: Surroundings): readonly Reference[] {
  return certificatesOf(gateway).filter(
    ref => kindId(ref.group, ref.kind) === ids.Secret && whyNotGranted(gateway, ref, around) === undefined,
  )
}

/** What is wrong with the certificates that could be read, at this time (ms). Nothing of a Secret's content is told. */
export function certificateFindings(
  object: KubeObject,
  around: Surroundings,
  fresh: Fresh,
  now: number,
): readonly Finding[] {
  const gateway = object as Gateway
  const unusable = readable(gateway, around).flatMap(ref => {
    if (!fresh.has(keyOf(ref))) return []
    const message = whyUnusable(nameOf(ref), fresh.get(keyOf(ref)), now)
    return message === undefined ? [] : [{ path: ref.path, message }]
  })
  return [...unusable, ...unnamed(gateway, fresh)]
}

/** Listeners for whose hostname none of their certificates is; silent while one of them is not known. */
function unnamed(gateway: Gateway, fresh: Fresh): readonly Finding[] {
  return gateway.spec.listeners.flatMap((listener, position) => {
    const hostname = hostnameOf(listener)
    const refs = listener.tls?.certificateRefs ?? []
    const leaves = refs.map(ref => leafOf(fresh.get(keyOf(secretAt(gateway, ref, '')))))
    if (hostname === '*' || leaves.length === 0) return []
    if (leaves.some(leaf => leaf === undefined || isFor(leaf, hostname))) return []
    const path = `spec.listeners[${position}].hostname`
    return [{ path, message: `no certificate of listener "${listener.name}" is for ${hostname}` }]
  })
}

/** A listener of a wildcard is served well by certificates of single hosts under it. */
function isFor(leaf: X509Certificate, hostname: string): boolean {
  if (!hostname.startsWith('*.')) return leaf.checkHost(hostname) !== undefined
  const names = (leaf.subjectAltName ?? '').split(', ').filter(name => name.startsWith('DNS:'))
  return names
    .map(name => name.slice('DNS:'.length).toLowerCase())
    .some(name => name === hostname || covers(hostname, name))
}

function whyUnusable(called: string, secret: KubeObject | undefined, now: number): string | undefined {
  const leaf = leafOf(secret)
  // One sentence for a Secret that is not there and for one of another purpose: whoever asks need not be allowed to
  // know which Secrets there are.
  if (!leaf) return `there is no certificate with its key in ${called} yet`
  if (!isKeyOf(leaf, dataOf(secret, 'tls.key')))
    return `${called} has no tls.key that belongs to its certificate`
  if (Date.parse(leaf.validTo) < now) return `the certificate in ${called} expired on ${day(leaf.validTo)}`
  if (Date.parse(leaf.validFrom) > now)
    return `the certificate in ${called} is not valid before ${day(leaf.validFrom)}`
  return undefined
}

const day = (text: string) => new Date(text).toISOString().slice(0, 10)

function dataOf(secret: KubeObject | undefined, name: string): string {
  const held: unknown = (secret as Secret | undefined)?.data?.[name]
  return typeof held === 'string' ? Buffer.from(held, 'base64').toString('utf8') : ''
}

function leafOf(secret: KubeObject | undefined): X509Certificate | undefined {
  try {
    return new X509Certificate(dataOf(secret, 'tls.crt'))
  } catch {
    return undefined
  }
}

function isKeyOf(leaf: X509Certificate, key: string): boolean {
  try {
    return leaf.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
