import type { Gateway } from '../kinds/index.js'
import type { Reason } from '../topology/index.js'

const addressTypes = ['IPAddress', 'Hostname']

/** The reason why a Gateway as a whole is not accepted, its listeners aside (GatewaySpec.addresses, .infrastructure). */
export function whyGatewayRefused({ spec }: Gateway): Reason | undefined {
  const parameters = spec.infrastructure?.parametersRef
  if (parameters) {
    const message = `infrastructure.parametersRef: ${parameters.kind}.${parameters.group} is not a supported kind of parameters`
    return { reason: 'InvalidParameters', message }
  }
  const address = spec.addresses?.find(({ type }) => !addressTypes.includes(type ?? 'IPAddress'))
  if (!address) return undefined
  const message = `addresses of type ${address.type ?? ''} are not supported; use ${addressTypes.join(' or ')}`
  return { reason: 'UnsupportedAddress', message }
}
