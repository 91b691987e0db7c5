/** What the API server checks of its built-in kinds in code, as far as Gatewright relies on it. */
import { isIPv4, isIPv6 } from 'node:net'
import { ids } from './ids.js'
import { invalid, required, whyNot, whyNotQualified, type Finding } from './metadata.js'
import { child } from './path.js'
import type { ConfigMap, EndpointSlice, Secret, Service } from './types.js'
import type { KubeObject } from '../core/index.js'

/** Runs on an object whose structure is sound. */
type Check<T extends KubeObject> = (object: T) => Finding[]

const duplicate = (path: string, value: unknown): Finding => ({
  path,
  message: `Duplicate value: ${JSON.stringify(value)}`,
  rule: 'schema',
})

/** Findings for every value that an earlier one equals. */
function repeated<T>(values: readonly T[], keyOf: (value: T) => string, found: (index: number) => Finding) {
  const first = new Map<string, number>()
  return values.flatMap((value, index) => {
    const key = keyOf(value)
    if (first.has(key)) return [found(index)]
    first.set(key, index)
    return []
  })
}

function externalName({ spec }: Service): Finding[] {
  return spec.type === 'ExternalName' && (spec.externalName ?? '') === ''
    ? [required('spec.externalName')]
    : []
}

function somePort({ spec }: Service): Finding[] {
  const mayHaveNone = spec.type === 'ExternalName' || spec.clusterIP === 'None'
  return mayHaveNone || (spec.ports?.length ?? 0) > 0 ? [] : [required('spec.ports')]
}

function portNames({ spec }: Service): Finding[] {
  const ports = spec.ports ?? []
  const names = ports.flatMap(({ name = '' }, index) => {
    const path = `spec.ports[${index}].name`
    if (name === '') return ports.length > 1 ? [required(path)] : []
    const why = whyNot('label', name)
    return why === undefined ? [] : [invalid(path, name, why)]
  })
  const named = ports
    .map(({ name }, index) => ({ name: name ?? '', index }))
    .filter(({ name }) => name !== '')
  return [
    ...names,
    ...repeated(
      named,
      ({ name }) => name,
      at => duplicate(`spec.ports[${named[at]?.index ?? at}].name`, named[at]?.name),
    ),
  ]
}

function portNumbers({ spec }: Service): Finding[] {
  const ports = spec.ports ?? []
  return repeated(
    ports,
    ({ port, protocol }) => `${port}/${protocol ?? 'TCP'}`,
    index =>
      duplicate(`spec.ports[${index}]`, { port: ports[index]?.port, protocol: ports[index]?.protocol }),
  )
}

function targetPorts({ spec }: Service): Finding[] {
  return (spec.ports ?? []).flatMap(({ targetPort }, index) => {
    const why = targetPort === undefined ? undefined : whyNotPort(targetPort)
    return why === undefined ? [] : [invalid(`spec.ports[${index}].targetPort`, targetPort, why)]
  })
}

function whyNotPort(port: number | string): string | undefined {
  if (typeof port === 'number')
    return port >= 1 && port <= 65535 ? undefined : 'must be between 1 and 65535, inclusive'
  if (port.length > 15) return 'must be no more than 15 characters'
  if (!/^[-a-z0-9]+$/i.test(port))
    return 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)'
  if (!/[a-z]/i.test(port)) return 'must contain at least one letter (a-z)'
  if (port.includes('--')) return 'must not contain consecutive hyphens'
  return /^-|-$/.test(port) ? 'must not begin or end with a hyphen' : undefined
}

function appProtocols(field: string, ports: readonly { readonly appProtocol?: string }[] = []): Finding[] {
  return ports.flatMap(({ appProtocol }, index) => {
    const why = appProtocol === undefined ? undefined : whyNotQualified(appProtocol)
    return why === undefined ? [] : [invalid(`${field}[${index}].appProtocol`, appProtocol, why)]
  })
}

/** discovery/v1: addresses of the slice's family; loopback and the like would turn a proxy against itself. */
function addresses({ addressType, endpoints = [] }: EndpointSlice): Finding[] {
  return endpoints.flatMap((endpoint, e) => {
    const path = `endpoints[${e}].addresses`
    if (endpoint.addresses.length === 0) return [required(path, 'must contain at least 1 address')]
    return endpoint.addresses.flatMap((address, a) => {
      const why = whyNotAddress(address, addressType)
      return why === undefined ? [] : [invalid(child(path, a), address, why)]
    })
  })
}

function whyNotAddress(address: string, type: EndpointSlice['addressType']): string | undefined {
  if (type === 'FQDN') return whyNot('subdomain', address)
  if (!isIPv4(address) && !isIPv6(address))
    return 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
  if (type === 'IPv4' && !isIPv4(address)) return 'must be an IPv4 address'
  if (type === 'IPv6' && !isIPv6(address)) return 'must be an IPv6 address'
  return special.find(([range]) => range.test(address))?.[1]
}

const special: readonly (readonly [RegExp, string])[] = [
  [/^(?:0\.0\.0\.0|::)$/, 'may not be unspecified (0.0.0.0)'],
  [/^(?:127\.|::1$)/, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [/^(?:169\.254\.|fe[89ab][0-9a-f]:)/i, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [/^(?:224\.0\.0\.|ff02:)/i, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
]

function slicePorts({ ports = [] }: EndpointSlice): Finding[] {
  const names = ports.flatMap(({ name = '' }, index) => {
    const why = name === '' ? undefined : whyNot('label', name)
    return why === undefined ? [] : [invalid(`ports[${index}].name`, name, why)]
  })
  const twice = repeated(
    ports,
    ({ name = '' }) => name,
    index => duplicate(`ports[${index}].name`, ports[index]?.name ?? ''),
  )
  return [...names, ...twice]
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Never shows a value: they are secret. */
function secretData({ data = {} }: Secret): Finding[] {
  return Object.entries(data).flatMap(([key, value]) => [
    ...dataKey('data', key),
    ...(base64.test(value.replace(/[\r\n]/g, ''))
      ? []
      : [{ path: child('data', key), message: 'Invalid value: must be base64', rule: 'schema' }]),
  ])
}

function dataKey(field: string, key: string): Finding[] {
  const why = whyNot('dataKey', key)
  return why === undefined ? [] : [invalid(child(field, key), key, why)]
}

function tlsSecret({ type, data = {} }: Secret): Finding[] {
  if (type !== 'kubernetes.io/tls') return []
  return ['tls.crt', 'tls.key'].filter(key => !(key in data)).map(key => required(child('data', key)))
}

function configData({ data = {}, binaryData = {} }: ConfigMap): Finding[] {
  return [
    ...Object.keys(data).flatMap(key => [
      ...dataKey('data', key),
      ...(key in binaryData
        ? [invalid(child('data', key), key, 'duplicate of key present in binaryData')]
        : []),
    ]),
    ...Object.keys(binaryData).flatMap(key => dataKey('binaryData', key)),
  ]
}

const serviceAppProtocols = ({ spec }: Service) => appProtocols('spec.ports', spec.ports)
const sliceAppProtocols = ({ ports }: EndpointSlice) => appProtocols('ports', ports)

const checks: Readonly<Record<string, readonly Check<never>[]>> = {
  [ids.Service]: [externalName, somePort, portNames, portNumbers, targetPorts, serviceAppProtocols],
  [ids.EndpointSlice]: [addresses, slicePorts, sliceAppProtocols],
  [ids.Secret]: [secretData, tlsSecret],
  [ids.ConfigMap]: [configData],
}

/** What is wrong with an object of a built-in kind beyond its schema. */
export function builtinFindings(object: KubeObject, kind: string): Finding[] {
  return (checks[kind] ?? []).flatMap(check => check(object as never))
}
