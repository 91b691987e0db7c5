import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { registry, typeNameOf } from './descriptors.js'

const TLS = 'envoy.extensions.transport_sockets.tls.v3'
const GOOGLE = 'envoy.config.core.v3.GrpcService.GoogleGrpc'

/**
 * The fields that hold secret text, by message and field, wherever the message stands. Every dump, golden and API answer
 * passes through this table; what an inline-only filter needs is added here together with the filter.
 */
export const redactedFields: readonly string[] = [
  `${TLS}.TlsCertificate.private_key`,
  `${TLS}.TlsCertificate.password`,
  `${TLS}.TlsCertificate.pkcs12`,
  `${TLS}.TlsSessionTicketKeys.keys`,
  `${TLS}.GenericSecret.secret`,
  `${TLS}.GenericSecret.secrets`,
  `${TLS}.PrivateKeyProvider.typed_config`,
  `${GOOGLE}.SslCredentials.private_key`,
  `${GOOGLE}.CallCredentials.access_token`,
  `${GOOGLE}.CallCredentials.google_refresh_token`,
  `${GOOGLE}.CallCredentials.ServiceAccountJWTAccessCredentials.json_key`,
  `${GOOGLE}.CallCredentials.GoogleIAMCredentials.authorization_token`,
  'envoy.config.trace.v3.LightstepConfig.access_token',
  'envoy.extensions.common.aws.v3.InlineCredentialProvider.secret_access_key',
  'envoy.extensions.common.aws.v3.InlineCredentialProvider.session_token',
  'envoy.extensions.filters.http.basic_auth.v3.BasicAuth.users',
  'envoy.extensions.filters.http.basic_auth.v3.BasicAuthPerRoute.users',
  'envoy.extensions.filters.http.api_key_auth.v3.Credential.key',
  // A key set may hold symmetric keys.
  'envoy.extensions.filters.http.jwt_authn.v3.JwtProvider.local_jwks',
]

const REDACTED = '[redacted]'

const DATA_SOURCE = 'envoy.config.core.v3.DataSource'
const hidden = new Set(redactedFields)

type Json = unknown

/** A copy of a decoded message in which every secret text reads `[redacted]`. File names and the like stay. */
export function redact(descriptor: DescMessage, value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (descriptor.typeName === 'google.protobuf.Any') return redactAny(value as Record<string, Json>)
  if (descriptor.typeName.startsWith('google.protobuf.')) return value
  const fields = new Map(descriptor.fields.map(field => [field.name, field]))
  return mapValues(value as Record<string, Json>, (item, name) => {
    const field = fields.get(name)
    if (!field) return item
    return hidden.has(`${descriptor.typeName}.${name}`) ? hide(field, item) : redactField(field, item)
  })
}

function redactAny(value: Record<string, Json>): Json {
  const url = value['@type']
  const descriptor = typeof url === 'string' ? registry().getMessage(typeNameOf(url)) : undefined
  return descriptor ? redact(descriptor, value) : value
}

function redactField(field: DescField, item: Json): Json {
  if (!field.message) return item
  const message = field.message
  if (field.fieldKind === 'list') return (item as Json[]).map(each => redact(message, each))
  if (field.fieldKind === 'map') return mapValues(item as Record<string, Json>, each => redact(message, each))
  return redact(message, item)
}

function hide(field: DescField, item: Json): Json {
  if (field.fieldKind === 'list') return (item as Json[]).map(each => hideOne(field.message, each))
  if (field.fieldKind === 'map')
    return mapValues(item as Record<string, Json>, each => hideOne(field.message, each))
  return hideOne(field.message, item)
}

function hideOne(message: DescMessage | undefined, item: Json): Json {
  if (message?.typeName !== DATA_SOURCE) return REDACTED
  return mapValues(item as Record<string, Json>, (each, name) =>
    name === 'inline_string' || name === 'inline_bytes' ? REDACTED : each,
  )
}

function mapValues(
  value: Readonly<Record<string, Json>>,
  change: (item: Json, name: string) => Json,
): Record<string, Json> {
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, change(item, name)]))
}
