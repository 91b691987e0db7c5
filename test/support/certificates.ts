import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** A certificate that signs itself, and its key, both as PEM. */
export interface KeyPair {
  readonly chain: string
  readonly key: string
}

/** DER: a tag, a length, and what is inside. */
function der(tag: number, ...inside: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(inside)
  const size = content.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

const sequence = (...inside: readonly Uint8Array[]) => der(0x30, ...inside)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const time = (year: number) => der(0x18, Buffer.from(`${year}0101000000Z`))

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
const commonName = oid('550403')
const subjectAltName = oid('551d11')

/** Valid from 2020 to 2099 for these DNS names. */
export const selfSigned = (...names: readonly string[]): KeyPair => signedUntil(2099, ...names)

/** Valid from 2020 to the beginning of that year. */
export function signedUntil(year: number, ...names: readonly string[]): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from(names[0] ?? 'test')))))
  const altNames = sequence(...names.map(name => der(0x82, Buffer.from(name))))
  const serial = Buffer.from(randomBytes(8).map((byte, i) => (i === 0 ? (byte & 0x7f) | 1 : byte)))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    subject,
    sequence(time(2020), time(year)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(subjectAltName, der(0x04, altNames)))),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey))
  const base64 = sequence(body, ecdsaWithSha256, signature).toString('base64')
  return {
    chain: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}
