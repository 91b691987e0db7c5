import { createMetrics, silentLog } from '../../src/core/index.js'
import type { KubeObject, Locator } from '../../src/core/index.js'
import type { ServerContext, WatchMessage } from '../../src/server/index.js'
import type { AdmissionRequest } from '../../src/sources/index.js'
import type { Status } from '../../src/status/index.js'
import { createStore } from '../../src/store/index.js'
import type { Store } from '../../src/store/index.js'

/** As Kubernetes details what is wrong with an object. */
export const badDetails = {
  ...{ group: '', kind: 'Thing', name: 'bad' },
  causes: [{ reason: 'FieldValueInvalid', message: 'is bad', field: 'spec' }],
}

export const gatewayId = 'gateway.gateway.networking.k8s.io:infra/public'
export const routeId = 'httproute.gateway.networking.k8s.io:shop/cart'
export const secretText = 'c2VjcmV0'

/** A control plane in small: a real store, everything else by hand, and a record of what was asked to change it. */
export interface World {
  readonly store: Store
  readonly context: ServerContext
  readonly statuses: Map<Locator, Status>
  readonly received: WatchMessage[]
  readonly reviewed: AdmissionRequest[]
  reconciled: number
}

export function aWorld(overrides: Partial<ServerContext> = {}): World {
  const store = createStore({ freeze: true })
  store.apply(objects.map(object => ({ type: 'upsert', object })))
  const statuses = new Map<Locator, Status>([[gatewayId, gatewayStatus]])
  const world: World = {
    store,
    statuses,
    received: [],
    reviewed: [],
    reconciled: 0,
    context: {} as ServerContext,
  }
  const context: ServerContext = {
    version: '0.1.0',
    log: silentLog,
    metrics: createMetrics(),
    settled: () => Promise.resolve(),
    revision: () => store.snapshot().revision,
    snapshot: () => store.snapshot(),
    status: locator => statuses.get(locator),
    problems: () => [
      { severity: 'error', path: 'spec', message: 'is required', rule: 'schema', object: routeId, place },
    ],
    topology,
    xds,
    admit(request) {
      world.reviewed.push(request)
      return {
        allowed: request.name !== 'bad',
        status: { code: 422, reason: 'Invalid', message: 'spec: is bad', details: badDetails },
        warnings: ['w'],
      }
    },
    receive(messages) {
      world.received.push(...messages)
      return { accepted: messages.length, stale: 0, duplicate: 0, rejected: [] }
    },
    reconcile() {
      world.reconciled++
      return Promise.resolve({ accepted: 1, stale: 0, duplicate: 2, degraded: [] })
    },
    readiness: () => ({ ready: true, reasons: [] }),
    ...overrides,
  }
  return Object.assign(world, { context })
}

const place = { file: 'shop.yaml', line: 3, column: 5 }

const objects: readonly KubeObject[] = [
  aThing('v1', 'Secret', 'shop', 'tls', {
    type: 'kubernetes.io/tls',
    data: { 'tls.key': secretText },
    stringData: { 'tls.key': secretText },
    metadata: {
      name: 'tls',
      namespace: 'shop',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': secretText, team: 'a' },
    },
  }),
  aThing('v1', 'ConfigMap', 'shop', 'page', { data: { page: secretText }, binaryData: { b: secretText } }),
  aThing('gateway.networking.k8s.io/v1', 'Gateway', 'infra', 'public', { spec: { listeners: [] } }),
  aThing('gateway.networking.k8s.io/v1', 'HTTPRoute', 'shop', 'cart', { spec: { hostnames: ['a.example'] } }),
]

function aThing(apiVersion: string, kind: string, namespace: string, name: string, more: object): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace }, ...more }
}

const gatewayStatus: Status = {
  addresses: [],
  conditions: [
    {
      type: 'Programmed',
      status: 'False',
      reason: 'Pending',
      message: 'no proxy is connected',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-02T03:04:05Z',
    },
  ],
  listeners: [],
}

const topology: ServerContext['topology'] = {
  has: id => id === gatewayId || id === routeId,
  graph: filter => ({
    nodes: [
      { id: gatewayId, kind: 'Gateway', namespace: 'infra', name: 'public', role: 'object', health: 'ok' },
      { id: routeId, kind: 'HTTPRoute', namespace: 'shop', name: JSON.stringify(filter), missing: true },
    ],
    edges: [
      {
        from: gatewayId,
        to: routeId,
        link: 'parentRef',
        state: 'broken',
        reason: { reason: 'R', message: 'm' },
        fields: ['spec.parentRefs[0]'],
      },
    ],
  }),
  text: (_filter, format) => `as ${format}`,
  *paths(from, to) {
    for (;;) yield [from, to]
  },
}

const xds: ServerContext['xds'] = {
  gateways: () => [gatewayId],
  clients: () => [
    {
      id: 1,
      node: 'envoy-1',
      gateway: gatewayId,
      address: '127.0.0.1:5',
      connectedAt: 1_000,
      types: {
        listener: {
          protocol: 'delta',
          subscribed: '*',
          sentNonce: '2',
          state: 'refused',
          refusal: { message: 'no', at: 2_000, resources: ['infra/public/80'] },
        },
        cluster: { protocol: 'delta', subscribed: 3, sentNonce: '1', state: 'synced' },
      },
    },
  ],
  resources: () => [
    { type: 'cluster', name: 'service/shop/cart/80/1', version: 'aa', bytes: new Uint8Array() },
    { type: 'secret', name: 'shop/tls', version: 'bb', bytes: new Uint8Array() },
  ],
  describe: ({ type, name }) =>
    type === 'secret'
      ? {
          name,
          tls_certificate: {
            private_key: { inline_bytes: secretText },
            certificate_chain: { inline_bytes: 'cHVibGlj' },
          },
          generic: [{ inlineString: secretText }],
        }
      : { name },
}
