import type { KindId, KubeObject } from '../core/index.js'
import { kindId } from '../core/index.js'
import type { Gateway, GatewayListener, ParentReference, Service } from '../kinds/index.js'
import { groups } from '../kinds/index.js'
import type { Section } from './node.js'
import { numbered, sectionNames } from './node.js'
import type { Route } from './routes.js'

export const listenerKind = kindId(groups.gatewayApi, 'Listener')
export const servicePortKind = kindId(groups.core, 'ServicePort')

const listenerField = numbered('spec.listeners')
const ruleField = numbered('spec.rules')
const portField = numbered('spec.ports')

export interface ListenerSet extends KubeObject {
  readonly spec: { readonly parentRef: ParentReference; readonly listeners?: readonly GatewayListener[] }
}

export function listenersOf(object: KubeObject): readonly Section[] {
  const listeners = (object as Gateway | ListenerSet).spec.listeners ?? []
  const names = sectionNames(listeners, 'listeners', listener => String(listener.port))
  return listeners.map((listener, i) => {
    const name = names[i] as string
    return {
      kind: 'Listener',
      kindId: listenerKind,
      name,
      field: listenerField(i),
      payload: listener,
      aliases: ['*', `*:${listener.port}`, `${name}:${listener.port}`],
    }
  })
}

export function rulesOf(object: KubeObject, kind: string, id: KindId): readonly Section[] {
  const rules = (object as Route).spec.rules ?? []
  const names = sectionNames(rules, 'rules', (_, i) => `rule-${i + 1}`)
  return rules.map((rule, i) => ({
    kind,
    kindId: id,
    name: names[i] as string,
    field: ruleField(i),
    payload: rule,
  }))
}

export function portsOf(object: KubeObject): readonly Section[] {
  const ports = (object as Service).spec.ports ?? []
  const names = sectionNames(ports, 'ports', ({ port }) => String(port))
  return ports.map((port, i) => ({
    kind: 'ServicePort',
    kindId: servicePortKind,
    name: names[i] as string,
    field: portField(i),
    payload: port,
    aliases: [`*:${port.port}`],
  }))
}
