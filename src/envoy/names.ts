import { parseLocator, type Locator } from '../core/index.js'
import type { ResourceType } from './types.js'

/** `<gateway>|<type>|<name>`: where a resource is placed. */
export function placeKey(gateway: Locator, type: ResourceType, name: string): string {
  return `${gateway}|${type}|${name}`
}

/** The name at the end of a {@link placeKey}. */
export function placedName(key: string): string {
  return key.slice(key.indexOf('|', key.indexOf('|') + 1) + 1)
}

/** `<ns>/<gateway>/<port>`. */
export function listenerName(gateway: Locator, port: number): string {
  const { namespace, name } = parseLocator(gateway)
  return `${namespace ?? ''}/${name}/${port}`
}

/** No cluster has this name: requests sent to it are answered with the route's `cluster_not_found_response_code`. */
export const INVALID_CLUSTER = 'gatewright/invalid-backend'

/** Envoy cuts a statistic's name at its dots. */
export function statName(name: string): string {
  return name.replaceAll('.', '_')
}
