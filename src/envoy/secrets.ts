import type { Certificate } from '../model/index.js'
import { secretVersionOf } from './hash.js'
import type { Secret } from './types.gen.js'
import { typeUrls, type Resource } from './types.js'
import { encode } from './wire.js'

/** A key pair for SDS. The only place that unwraps a private key. */
export function secretResource({ name, chain, key }: Certificate, versionKey: string): Resource {
  const secret: Secret = {
    name,
    tls_certificate: {
      certificate_chain: { inline_string: chain },
      private_key: { inline_string: key.reveal() },
    },
  }
  const bytes = encode(typeUrls.secret, secret)
  return { type: 'secret', name, version: secretVersionOf(bytes, versionKey), bytes }
}
