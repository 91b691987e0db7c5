/**
 * Schemas of the kinds that the API server has built in: every field name, so that no valid field is reported as
 * unknown, with types and limits for what Gatewright reads. What a schema cannot say is in checks.ts.
 */
import type { Schema } from './schema.js'

const text: Schema = { type: 'string' }
const flag: Schema = { type: 'boolean' }
const number: Schema = { type: 'integer', format: 'int32' }
const texts: Schema = { type: 'array', items: text }
const loose: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const strings: Schema = { type: 'object', additionalProperties: text }
const port: Schema = { type: 'integer', format: 'int32', minimum: 1, maximum: 65535 }
const protocol: Schema = { type: 'string', enum: ['SCTP', 'TCP', 'UDP'], default: 'TCP' }
const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more })
const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  required,
})

const servicePort = object(
  {
    name: text,
    protocol,
    appProtocol: text,
    port,
    targetPort: { 'x-kubernetes-int-or-string': true },
    nodePort: number,
  },
  ['port'],
)

/** core/v1 Service. */
export const serviceSchema = (): Schema =>
  object(
    {
      spec: object({
        type: {
          type: 'string',
          enum: ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'],
          default: 'ClusterIP',
        },
        ports: list(servicePort),
        selector: strings,
        externalName: text,
        clusterIP: text,
        clusterIPs: texts,
        externalIPs: texts,
        ipFamilies: texts,
        ipFamilyPolicy: { type: 'string', enum: ['SingleStack', 'PreferDualStack', 'RequireDualStack'] },
        internalTrafficPolicy: { type: 'string', enum: ['Cluster', 'Local'] },
        externalTrafficPolicy: { type: 'string', enum: ['Cluster', 'Local'] },
        trafficDistribution: text,
        sessionAffinity: { type: 'string', enum: ['ClientIP', 'None'], default: 'None' },
        sessionAffinityConfig: loose,
        publishNotReadyAddresses: flag,
        healthCheckNodePort: number,
        allocateLoadBalancerNodePorts: flag,
        loadBalancerClass: text,
        loadBalancerIP: text,
        loadBalancerSourceRanges: texts,
      }),
      status: loose,
    },
    ['spec'],
  )

const endpoint = object(
  {
    addresses: list(text, { maxItems: 100 }),
    conditions: object({ ready: flag, serving: flag, terminating: flag }),
    hostname: text,
    nodeName: text,
    zone: text,
    targetRef: loose,
    hints: loose,
    deprecatedTopology: strings,
  },
  ['addresses'],
)

/** discovery.k8s.io/v1 EndpointSlice. */
export const endpointSliceSchema = (): Schema =>
  object(
    {
      addressType: { type: 'string', enum: ['FQDN', 'IPv4', 'IPv6'] },
      endpoints: list(endpoint, { maxItems: 1000 }),
      ports: list(object({ name: { ...text, default: '' }, protocol, port, appProtocol: text }), {
        maxItems: 100,
      }),
    },
    ['addressType'],
  )

/** core/v1 Secret; `data` is base64. */
export const secretSchema = (): Schema =>
  object({ type: { ...text, default: 'Opaque' }, immutable: flag, data: strings, stringData: strings })

/** core/v1 ConfigMap; `binaryData` is base64. */
export const configMapSchema = (): Schema => object({ immutable: flag, data: strings, binaryData: strings })

/** core/v1 Namespace. */
export const namespaceSchema = (): Schema => object({ spec: object({ finalizers: texts }), status: loose })
