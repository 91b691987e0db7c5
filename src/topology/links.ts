import type { KindId, KubeObject, Locator } from '../core/index.js'
import { kindId, locator } from '../core/index.js'
import type { Gateway, GatewayListener, SecretReference } from '../kinds/index.js'
import { groups, ids } from '../kinds/index.js'
import type { Link, Node, NodeKind, Reference } from './node.js'
import { anyKind, anyPolicy } from './node.js'
import { grantsForBackends, grantsForCertificates, permits } from './permits.js'
import { backendsOf, listenersNamed, mirrorsOf, parentOf } from './routes.js'
import type { ListenerSet } from './sections.js'
import { listenerKind, listenersOf, portsOf, rulesOf, servicePortKind } from './sections.js'

/** What a topology is made of: which objects are nodes, and how they hang together. */
export interface Rules {
  readonly kinds: readonly NodeKind[]
  readonly links: readonly Link[]
}

const routes = ['HTTPRoute', 'GRPCRoute', 'TLSRoute', 'TCPRoute', 'UDPRoute'] as const
const routeKinds = routes.map((kind): KindId => ids[kind])
const ruleKinds = routes.map(route => kindId(groups.gatewayApi, `${route}Rule`))
const backendKinds: readonly KindId[] = [ids.Service, servicePortKind, ids.Backend]
const clusterScoped = new Set<KindId>([ids.GatewayClass, ids.Namespace])

const listeners = { kinds: [listenerKind], of: listenersOf }

const kinds: readonly NodeKind[] = [
  { kindId: ids.GatewayClass, role: 'target' },
  { kindId: ids.Gateway, role: 'target', sections: listeners },
  { kindId: ids.ListenerSet, role: 'target', sections: listeners },
  ...routes.map(routeKind),
  { kindId: ids.Service, role: 'target', sections: { kinds: [servicePortKind], of: portsOf } },
  { kindId: ids.Backend, role: 'target' },
  { kindId: ids.Namespace, role: 'target' },
  { kindId: ids.Secret, role: 'object' },
  { kindId: ids.ReferenceGrant, role: 'object', aliases: permits },
  { kindId: ids.BackendTLSPolicy, role: 'policy' },
]

const links: readonly Link[] = [
  {
    name: 'class',
    from: [ids.GatewayClass],
    to: [ids.Gateway],
    parents: ({ object }) => [
      {
        to: locator(ids.GatewayClass, undefined, (object as Gateway).spec.gatewayClassName),
        field: 'spec.gatewayClassName',
      },
    ],
  },
  {
    name: 'listeners',
    from: [ids.Gateway],
    to: [ids.ListenerSet],
    parents: ({ object, namespace }) => {
      const { parentRef } = (object as ListenerSet).spec
      return [{ to: parentOf(parentRef, namespace), field: 'spec.parentRef' }]
    },
  },
  { name: 'route', from: [listenerKind], to: routeKinds, parents: listenersNamed },
  { name: 'backend', from: ruleKinds, to: backendKinds, children: backendsOf },
  { name: 'mirror', from: ruleKinds, to: backendKinds, children: mirrorsOf },
  { name: 'certificate', from: [listenerKind], to: [ids.Secret], children: certificatesOf },
  {
    name: 'grant',
    from: [ids.ReferenceGrant],
    to: routeKinds,
    optional: true,
    parents: grantsForBackends,
  },
  {
    name: 'grant',
    from: [ids.ReferenceGrant],
    to: [ids.Gateway, ids.ListenerSet],
    optional: true,
    parents: grantsForCertificates,
  },
  { name: 'target', from: [anyPolicy], to: [anyKind], children: targetsOf },
]

/**
 * The Gateway API as a graph: GatewayClass → Gateway → Listener → route → rule → Service port, Service or Backend,
 * with Secrets, the ReferenceGrants that permit what crosses a namespace, and every policy with `targetRefs`.
 * To add kinds of your own: `createTopology({ kinds: [...gatewayApi.kinds, …], links: [...gatewayApi.links, …] })`.
 */
export const gatewayApi: Rules = { kinds, links }

function routeKind(route: (typeof routes)[number]): NodeKind {
  const kind = `${route}Rule`
  const id = kindId(groups.gatewayApi, kind)
  const sections = { kinds: [id], of: (object: KubeObject) => rulesOf(object, kind, id) }
  return { kindId: ids[route], role: 'target', sections }
}

function certificatesOf({ payload, namespace, field }: Node): Reference[] {
  return ((payload as GatewayListener).tls?.certificateRefs ?? []).map((ref, i) => ({
    to: secretOf(ref, namespace),
    field: `${field}.tls.certificateRefs[${i}]`,
  }))
}

function secretOf(ref: SecretReference, namespace: string | undefined): Locator {
  return locator(kindId(ref.group ?? groups.core, ref.kind ?? 'Secret'), ref.namespace ?? namespace, ref.name)
}

interface TargetReference {
  readonly group?: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly sectionName?: string
}

interface Targets {
  readonly targetRefs?: readonly TargetReference[]
  readonly targetRef?: TargetReference
}

function targetsOf({ object, namespace }: Node): Reference[] {
  const { targetRefs, targetRef } = (object as KubeObject & { readonly spec: Targets }).spec
  const refs = targetRefs?.map((ref, i) => ({ ref, at: `spec.targetRefs[${i}]` })) ?? []
  if (targetRef) refs.push({ ref: targetRef, at: 'spec.targetRef' })
  return refs.map(({ ref, at }) => {
    const kind = kindId(ref.group ?? groups.core, ref.kind)
    const to = locator(kind, clusterScoped.has(kind) ? undefined : (ref.namespace ?? namespace), ref.name)
    return { to, ...(ref.sectionName !== undefined && { section: ref.sectionName }), field: at }
  })
}
