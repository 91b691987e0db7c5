import type { Context } from '../collections/index.js'
import { locator } from '../core/index.js'
import { ids, type Gateway, type GatewayClass } from '../kinds/index.js'
import type { Reason, References } from '../topology/index.js'

const addressTypes = ['IPAddress', 'Hostname']

/** The reason why a GatewayClass of ours is not accepted (GatewayClassSpec.parametersRef). */
export function whyClassRefused({ spec: { parametersRef } }: GatewayClass): Reason | undefined {
  return parametersRef && unsupportedParameters('parametersRef', parametersRef)
}

/** The reason why a Gateway as a whole is not accepted, its listeners aside: its class, its parameters, its addresses. */
export function whyGatewayRefused(
  { spec }: Gateway,
  context: Context,
  { classes }: References,
): Reason | undefined {
  const gatewayClass = context.get(classes, locator(ids.GatewayClass, undefined, spec.gatewayClassName))
  const unfit = gatewayClass && whyClassRefused(gatewayClass)
  if (unfit) return { ...unfit, message: `GatewayClass ${spec.gatewayClassName}: ${unfit.message}` }
  const parameters = spec.infrastructure?.parametersRef
  if (parameters) return unsupportedParameters('infrastructure.parametersRef', parameters)
  return whyAddressUnsupported(spec.addresses)
}

function unsupportedParameters(
  field: string,
  { group, kind }: { readonly group: string; readonly kind: string },
): Reason {
  return {
    reason: 'InvalidParameters',
    message: `${field}: ${kind}.${group} is not a supported kind of parameters`,
  }
}

function whyAddressUnsupported(addresses: Gateway['spec']['addresses']): Reason | undefined {
  const address = addresses?.find(({ type }) => !addressTypes.includes(type ?? 'IPAddress'))
  if (!address) return undefined
  const message = `addresses of type ${address.type ?? ''} are not supported; use ${addressTypes.join(' or ')}`
  return { reason: 'UnsupportedAddress', message }
}
