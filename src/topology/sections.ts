import type { KubeObject, Locator } from '../core/index.js'
import { groupOf, kindId } from '../core/index.js'
import type { Gateway, GatewayListener, ParentReference, Service } from '../kinds/index.js'
import { groups } from '../kinds/index.js'
import type { Section } from './node.js'
import { sectionNames } from './node.js'
import type { Route } from './routes.js'

export const listenerKind = kindId(groups.gatewayApi, 'Listener')
export const servicePortKind = kindId(groups.core, 'ServicePort')

export interface ListenerSet extends KubeObject {
  readonly spec: { readonly parentRef: ParentReference; readonly listeners?: readonly GatewayListener[] }
}

export function listenersOf(object: KubeObject, id: Locator): readonly Section[] {
  const listeners = (object as Gateway | ListenerSet).spec.listeners ?? []
  const names = sectionNames(listeners, 'listeners', listener => String(listener.port))
  return listeners.map((listener, i) => {
    const name = names[i] as string
    return {
      kind: 'Listener',
      kindId: listenerKind,
      name,
      field: `spec.listeners[${i}]`,
      payload: listener,
      aliases: [`${id}#*`, `${id}#*:${listener.port}`, `${id}#${name}:${listener.port}`],
    }
  })
}

export function rulesOf(object: KubeObject): readonly Section[] {
  const rules = (object as Route).spec.rules ?? []
  const names = sectionNames(rules, 'rules', (_, i) => `rule-${i + 1}`)
  const kind = `${object.kind}Rule`
  const id = kindId(groupOf(object.apiVersion), kind)
  return rules.map((rule, i) => ({
    kind,
    kindId: id,
    name: names[i] as string,
    field: `spec.rules[${i}]`,
    payload: rule,
  }))
}

export function portsOf(object: KubeObject, id: Locator): readonly Section[] {
  const ports = (object as Service).spec.ports ?? []
  const names = sectionNames(ports, 'ports', ({ port }) => String(port))
  return ports.map((port, i) => ({
    kind: 'ServicePort',
    kindId: servicePortKind,
    name: names[i] as string,
    field: `spec.ports[${i}]`,
    payload: port,
    aliases: [`${id}#*:${port.port}`],
  }))
}
