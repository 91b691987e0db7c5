import type { KubeObject } from '../../core/index.js'
import { locator } from '../../core/index.js'
import { ids } from '../../kinds/index.js'
import type { Gateway, GatewayListener } from '../../kinds/index.js'
import { ungranted } from './backends.js'
import { certificatesOf, isForeign } from './references.js'
import type { Surroundings } from './surroundings.js'
import type { CrossCheck, Finding } from './types.js'

/** What listeners can be served with; the others bind nothing and conflict with nobody. */
const served = ['HTTP', 'HTTPS']

/** A question about a Gateway that is not somebody else's. */
function ofGateways(
  name: string,
  find: (gateway: Gateway, around: Surroundings) => readonly Finding[],
): CrossCheck {
  return {
    name,
    kinds: [ids.Gateway],
    find: (object: KubeObject, around) =>
      isForeign(object as Gateway, around) ? [] : find(object as Gateway, around),
  }
}

const missingClass = ofGateways('class-exists', ({ spec: { gatewayClassName } }, around) =>
  around.get(locator(ids.GatewayClass, undefined, gatewayClassName))
    ? []
    : [{ path: 'spec.gatewayClassName', message: `GatewayClass ${gatewayClassName} does not exist yet` }],
)

type Ask = (listener: GatewayListener, path: string, gateway: Gateway) => Finding | undefined

function ofListeners(name: string, ask: Ask): CrossCheck {
  return ofGateways(name, gateway =>
    gateway.spec.listeners
      .map((listener, position) => ask(listener, `spec.listeners[${position}]`, gateway))
      .filter(finding => finding !== undefined),
  )
}

const unservedProtocols = ofListeners('protocol-served', ({ protocol }, path) =>
  served.includes(protocol)
    ? undefined
    : {
        path: `${path}.protocol`,
        message: `${protocol} is not served by this version: use ${served.join(' or ')}`,
      },
)

/** The same port with the same protocol and hostname is refused by the schema; this is not (GatewaySpec.listeners). */
const conflicts = ofListeners('protocol-conflict', (listener, path, { spec }) => {
  const { port, protocol } = listener
  if (!served.includes(protocol)) return undefined
  const other = spec.listeners.find(
    each => each.port === port && each.protocol !== protocol && served.includes(each.protocol),
  )
  return (
    other && {
      path: `${path}.port`,
      message: `port ${port} is ${protocol} here and ${other.protocol} in listener "${other.name}": neither is served`,
    }
  )
})

const unverifiedClients = ofListeners('clients-verified', ({ port, protocol }, path, { spec: { tls } }) => {
  const { perPort = [], default: common } = tls?.frontend ?? {}
  const own = perPort.find(each => each.port === port)
  if (protocol !== 'HTTPS' || !(own ? own.tls : common)?.validation) return undefined
  return {
    path,
    message: 'not served: spec.tls.frontend asks for certificates of clients, which is not supported',
  }
})

const grants = ofGateways('certificate-granted', (gateway, around) =>
  ungranted(gateway, certificatesOf(gateway), around),
)

/** Ports that whoever runs the proxies cannot have them listen on, for the reason it gives. */
export function portsBound(whyNotBound: (port: number) => string | undefined): CrossCheck {
  return ofListeners('port-bound', ({ port, protocol }, path) => {
    const why = served.includes(protocol) ? whyNotBound(port) : undefined
    return why === undefined ? undefined : { path: `${path}.port`, message: `port ${port} ${why}` }
  })
}

/** What keeps a Gateway, or listeners of it, from being served. */
export const gatewayChecks: readonly CrossCheck[] = [
  missingClass,
  unservedProtocols,
  conflicts,
  unverifiedClients,
  grants,
]
