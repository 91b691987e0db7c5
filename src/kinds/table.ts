import { groupOf, kindId, type KindId } from '../core/index.js'
import { backendSchema } from './backend.js'
import {
  configMapSchema,
  endpointSliceSchema,
  namespaceSchema,
  secretSchema,
  serviceSchema,
} from './builtin.js'
import { groups } from './ids.js'
import { generatedSchemas, withEnvelope, type Schema } from './schema.js'

/** One kind that Gatewright knows. */
export interface KindRow {
  readonly id: KindId
  readonly group: string
  readonly kind: string
  /** As in URLs of the API server. */
  readonly plural: string
  readonly namespaced: boolean
  /** Served versions, the one to list and watch first. */
  readonly versions: readonly string[]
  /** True: this release acts on it. False: it is only validated. */
  readonly served: boolean
  /** What the API server allows as a name. */
  readonly nameForm: 'subdomain' | 'label'
  /** The schema with defaults and CEL rules; read and built on the first call. */
  readonly schema: (version: string) => Schema
}

type Row = Partial<KindRow> & { readonly kind: string; readonly plural: string }

const row = (group: string, { versions = ['v1'], ...rest }: Row): KindRow => ({
  id: kindId(group, rest.kind),
  group,
  namespaced: true,
  versions,
  served: false,
  nameForm: 'subdomain',
  schema: generatedSchemas(rest.kind),
  ...rest,
})

const built = (build: () => Schema) => {
  let schema: Schema | undefined
  return () => (schema ??= withEnvelope(build()))
}

const both = ['v1', 'v1beta1']

/** Every kind, in the order of the documentation. One row per kind, whatever its versions. */
export const kinds: readonly KindRow[] = [
  ...[
    { kind: 'GatewayClass', plural: 'gatewayclasses', versions: both, namespaced: false, served: true },
    { kind: 'Gateway', plural: 'gateways', versions: both, served: true },
    { kind: 'HTTPRoute', plural: 'httproutes', versions: both, served: true },
    { kind: 'ReferenceGrant', plural: 'referencegrants', versions: both, served: true },
    { kind: 'GRPCRoute', plural: 'grpcroutes' },
    { kind: 'TLSRoute', plural: 'tlsroutes', versions: ['v1', 'v1alpha3', 'v1alpha2'] },
    { kind: 'TCPRoute', plural: 'tcproutes', versions: ['v1', 'v1alpha2'] },
    { kind: 'UDPRoute', plural: 'udproutes', versions: ['v1', 'v1alpha2'] },
    { kind: 'ListenerSet', plural: 'listenersets' },
    { kind: 'BackendTLSPolicy', plural: 'backendtlspolicies', versions: ['v1', 'v1alpha3'] },
  ].map(entry => row(groups.gatewayApi, entry)),
  ...[
    { kind: 'XBackend', plural: 'xbackends', versions: ['v1alpha1'] },
    { kind: 'XBackendTrafficPolicy', plural: 'xbackendtrafficpolicies', versions: ['v1alpha1'] },
    { kind: 'XMesh', plural: 'xmeshes', versions: ['v1alpha1'], namespaced: false },
  ].map(entry => row(groups.gatewayApiExperimental, entry)),
  row(groups.gatewright, {
    kind: 'Backend',
    plural: 'backends',
    versions: ['v1alpha1'],
    served: true,
    schema: built(backendSchema),
  }),
  row(groups.core, {
    kind: 'Namespace',
    plural: 'namespaces',
    namespaced: false,
    served: true,
    nameForm: 'label',
    schema: built(namespaceSchema),
  }),
  row(groups.core, {
    kind: 'Service',
    plural: 'services',
    served: true,
    nameForm: 'label',
    schema: built(serviceSchema),
  }),
  row(groups.core, { kind: 'Secret', plural: 'secrets', served: true, schema: built(secretSchema) }),
  row(groups.core, { kind: 'ConfigMap', plural: 'configmaps', served: true, schema: built(configMapSchema) }),
  row(groups.discovery, {
    kind: 'EndpointSlice',
    plural: 'endpointslices',
    served: true,
    schema: built(endpointSliceSchema),
  }),
]

/** The kinds that this release acts on. */
export const servedKinds: readonly KindId[] = kinds.filter(({ served }) => served).map(({ id }) => id)

const byVersion = new Map(
  kinds.flatMap(entry =>
    entry.versions.map(version => [
      `${entry.group === '' ? version : `${entry.group}/${version}`} ${entry.kind}`,
      entry,
    ]),
  ),
)
const byId = new Map(kinds.map(entry => [entry.id, entry]))

/** The row of an object's kind and version; undefined for a kind or version that is not in the table. */
export function kindOf(object: { readonly apiVersion: string; readonly kind: string }): KindRow | undefined {
  return byVersion.get(`${object.apiVersion} ${object.kind}`)
}

/** The row of a KindId. */
export function kindById(id: KindId): KindRow | undefined {
  return byId.get(id)
}

/** `v1beta1` of `gateway.networking.k8s.io/v1beta1`; `v1` of `v1`. */
export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1)
}

/** Whether the group has kinds in the table, so that an unknown kind in it is a mistake and not somebody else's. */
export function isOurGroup(apiVersion: string): boolean {
  const group = groupOf(apiVersion)
  return group !== groups.core && kinds.some(entry => entry.group === group)
}
