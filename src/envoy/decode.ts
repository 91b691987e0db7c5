import { fromBinary, toJson } from '@bufbuild/protobuf'
import { descriptorOf, registry, typeNameOf } from './descriptors.js'
import { redact } from './redaction.js'

/**
 * What the bytes of a message say, in Envoy's documented JSON shape, with every secret text as `[redacted]`.
 *
 * @param type the message's full name, or its type URL
 */
export function decode(type: string, bytes: Uint8Array): unknown {
  return redact(descriptorOf(typeNameOf(type)), decodeSecrets(type, bytes))
}

/** The same with its secrets: for a proxy's own configuration only, never for output. */
export function decodeSecrets(type: string, bytes: Uint8Array): unknown {
  const descriptor = descriptorOf(typeNameOf(type))
  return toJson(descriptor, fromBinary(descriptor, bytes), { registry: registry(), useProtoFieldName: true })
}
