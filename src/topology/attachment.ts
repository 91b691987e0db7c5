import { locator, type Locator } from '../core/index.js'
import type { Collection, Context } from '../collections/index.js'
import {
  ids,
  meetingHostnames,
  selects,
  type HTTPRoute,
  type Namespace,
  type ParentReference,
} from '../kinds/index.js'
import { keyOf } from './listeners.js'
import type { Attachment, Listener, Reason, RouteAttachments } from './types.js'

/** One attempt of a route, through one of its parentRefs, to attach to one listener. */
export interface Attempt {
  readonly route: HTTPRoute
  readonly parentRef: ParentReference
  readonly listener: Listener
  /** Labels of the route's namespace, `kubernetes.io/metadata.name` included. */
  readonly namespaceLabels: () => Readonly<Record<string, string>>
}

type Check = (attempt: Attempt) => Reason | undefined

/** In the order in which they are asked: whoever fails later came nearer. */
const checks: readonly Check[] = [
  whyOtherSection,
  whyOtherPort,
  whyKindNotAllowed,
  whyNamespaceNotAllowed,
  whyListenerRefused,
  whyNoCommonHostname,
]

/** The reason why a route does not attach to a listener, or nothing when it does (CommonRouteSpec.parentRefs). */
export function whyNotAttached(attempt: Attempt): Reason | undefined {
  return firstFailure(attempt)?.reason
}

function firstFailure(attempt: Attempt): { readonly reason: Reason; readonly depth: number } | undefined {
  for (const [depth, check] of checks.entries()) {
    const reason = check(attempt)
    if (reason) return { reason, depth }
  }
  return undefined
}

function whyOtherSection({ parentRef, listener }: Attempt): Reason | undefined {
  const { sectionName } = parentRef
  if (sectionName === undefined || sectionName === '' || sectionName === listener.name) return undefined
  return { reason: 'NoMatchingParent', message: `the Gateway has no listener named ${sectionName}` }
}

function whyOtherPort({ parentRef, listener }: Attempt): Reason | undefined {
  const { port } = parentRef
  if (port === undefined || port === listener.port) return undefined
  return { reason: 'NoMatchingParent', message: `listener ${listener.name} is not on port ${port}` }
}

function whyKindNotAllowed({ listener }: Attempt): Reason | undefined {
  if (listener.kinds.includes(ids.HTTPRoute)) return undefined
  return { reason: 'NotAllowedByListeners', message: `listener ${listener.name} takes no HTTPRoute` }
}

function whyNamespaceNotAllowed({ route, listener, namespaceLabels }: Attempt): Reason | undefined {
  const namespace = route.metadata.namespace ?? ''
  const { from, selector } = listener.namespaces
  const gatewayNamespace = namespaceOf(listener.gateway)
  const allowed =
    from === 'All' ||
    (from === 'Same' && namespace === gatewayNamespace) ||
    (from === 'Selector' && selector !== undefined && selects(selector, namespaceLabels()))
  if (allowed) return undefined
  const message = `listener ${listener.name} takes no routes from namespace ${namespace} (allowedRoutes.namespaces.from is ${from})`
  return { reason: 'NotAllowedByListeners', message }
}

function whyListenerRefused({ listener }: Attempt): Reason | undefined {
  if (!listener.refused) return undefined
  const message = `listener ${listener.name} is not accepted: ${listener.refused.reason}`
  return { reason: 'NoMatchingParent', message }
}

function whyNoCommonHostname({ route, listener }: Attempt): Reason | undefined {
  if (meetingHostnames(listener.hostname, route.spec.hostnames).length > 0) return undefined
  const message = `none of the route's hostnames is one of listener ${listener.name} (${listener.hostname ?? '*'})`
  return { reason: 'NoMatchingListenerHostname', message }
}

function namespaceOf(object: Locator): string {
  return object.slice(object.indexOf(':') + 1, object.indexOf('/'))
}

export interface AttachmentInputs {
  /** Listeners of our Gateways, in order of spec, by Gateway. */
  readonly gatewayListeners: Collection<readonly Listener[]>
  readonly namespaces: Collection<Namespace>
}

/** What each parentRef to a Gateway of ours came to; `undefined` when there is none. Equal parentRefs count once. */
export function attach(
  route: HTTPRoute,
  key: Locator,
  context: Context,
  inputs: AttachmentInputs,
): RouteAttachments | undefined {
  const namespace = route.metadata.namespace ?? ''
  const namespaceLabels = () => ({
    ...context.get(inputs.namespaces, locator(ids.Namespace, undefined, namespace))?.metadata.labels,
    'kubernetes.io/metadata.name': namespace,
  })
  const seen = new Set<string>()
  const parents: Attachment[] = []
  for (const [position, parentRef] of (route.spec.parentRefs ?? []).entries()) {
    const gateway = gatewayOf(parentRef, namespace)
    const listeners = gateway === undefined ? undefined : context.get(inputs.gatewayListeners, gateway)
    const identity = `${gateway ?? ''}#${parentRef.sectionName ?? ''}:${parentRef.port ?? ''}`
    if (gateway === undefined || !listeners || seen.has(identity)) continue
    seen.add(identity)
    const attempts = listeners.map(listener => ({ route, parentRef, listener, namespaceLabels }))
    parents.push({ position, parentRef, gateway, ...outcome(attempts) })
  }
  return parents.length === 0 ? undefined : { route: key, parents }
}

function gatewayOf({ group, kind, name, namespace }: ParentReference, local: string): Locator | undefined {
  if (
    (group ?? 'gateway.networking.k8s.io') !== 'gateway.networking.k8s.io' ||
    (kind ?? 'Gateway') !== 'Gateway'
  ) {
    return undefined
  }
  return locator(ids.Gateway, namespace ?? local, name)
}

function outcome(attempts: readonly Attempt[]): Pick<Attachment, 'listeners' | 'missed' | 'refused'> {
  const tried = attempts.map(attempt => ({
    attempt,
    failure: firstFailure(attempt),
    key: keyOf(attempt.listener),
  }))
  const listeners = tried
    .filter(({ failure }) => !failure)
    .map(({ attempt, key }) => ({
      listener: key,
      hostnames: meetingHostnames(attempt.listener.hostname, attempt.route.spec.hostnames),
    }))
    .sort((a, b) => (a.listener < b.listener ? -1 : 1))
  const failures = tried.flatMap(({ failure, key }) => (failure ? [{ ...failure, listener: key }] : []))
  const missed = failures.map(({ listener, reason }) => ({ listener, reason }))
  if (listeners.length > 0) return { listeners, missed }
  const nearest = failures.reduce((best, failure) => (failure.depth > best.depth ? failure : best))
  return { listeners, missed, refused: nearest.reason }
}
