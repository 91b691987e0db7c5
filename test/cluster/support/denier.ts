import { createServer } from 'node:https'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { selfSigned } from '../../support/certificates.js'
import type { Installation } from './installation.js'
import { apply, remove } from './kubectl.js'
import { aService, someEndpoints, type Named } from './objects.js'

/** Objects with this label are denied: at once, or when everybody else has long answered. */
export const denied = (when: 'at-once' | 'late') => ({ 'test.gatewright.io/deny': when })

const lateMs = 700
const port = 9443

interface Review {
  readonly request: {
    readonly uid: string
    readonly object: { readonly metadata: { readonly labels: Readonly<Record<string, string>> } }
  }
}

export interface Denier {
  /** Reviews that it denied. */
  denials(): number
  close(): Promise<void>
}

/** Another ValidatingWebhook of the cluster, that asks nobody of ours. */
export async function startDenier(
  installation: Installation,
  { last, ...metadata }: Named & { readonly last: number },
): Promise<Denier> {
  const address = await installation.address(last)
  const { chain, key } = selfSigned(`${metadata.name}.${metadata.namespace}.svc`)
  let denials = 0
  const answer = async (body: string) => {
    const { request } = JSON.parse(body) as Review
    if (Object.values(request.object.metadata.labels).includes('late')) await pause(lateMs)
    denials++
    const response = { uid: request.uid, allowed: false, status: { code: 403, message: 'not by me' } }
    return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response })
  }
  const server = createServer({ cert: chain, key }, (request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => void answer(body).then(text => response.end(text)))
  })
  server.listen(port, address)
  await once(server, 'listening')
  const configuration = configurationOf(metadata, chain)
  await apply(aService(metadata, { port }), someEndpoints(metadata, port, address), configuration)
  return {
    denials: () => denials,
    async close() {
      await remove(configuration)
      server.closeAllConnections()
      server.close()
    },
  }
}

function configurationOf({ name, namespace }: Named, chain: string) {
  const [label = ''] = Object.keys(denied('late'))
  const rule = { operations: ['CREATE', 'UPDATE'], apiVersions: ['*'], resources: ['*'] }
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: `${namespace}-${name}` },
    webhooks: [
      {
        name: 'deny.test.gatewright.io',
        ...{ admissionReviewVersions: ['v1'], sideEffects: 'None', failurePolicy: 'Fail', timeoutSeconds: 5 },
        clientConfig: { service: { name, namespace, port }, caBundle: Buffer.from(chain).toString('base64') },
        objectSelector: { matchExpressions: [{ key: label, operator: 'Exists' }] },
        rules: [{ ...rule, apiGroups: ['gateway.networking.k8s.io'] }],
      },
    ],
  }
}
