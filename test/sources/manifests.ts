import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Directory } from '../../src/sources/index.js'
import type { Snapshot } from '../../src/store/index.js'

/** A Service as YAML; the port tells versions apart. */
export function aService(name: string, port = 80, namespace = 'shop'): string {
  return `apiVersion: v1
kind: Service
metadata:
  name: ${name}
  namespace: ${namespace}
spec:
  ports:
    - port: ${port}
`
}

export function aRoute(name: string, spec = 'parentRefs: [{ name: public }]'): string {
  return `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: ${name}, namespace: shop }
spec: { ${spec} }
`
}

/** An empty folder that goes away with the test. */
export async function aFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatewright-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The port of each Service. */
export function ports(snapshot: Snapshot): Record<string, number | undefined> {
  const services = snapshot.list('service') as readonly unknown[]
  const entries = services.map(object => {
    const service = object as { metadata: { name: string }; spec: { ports: { port: number }[] } }
    return [service.metadata.name, service.spec.ports[0]?.port] as const
  })
  return Object.fromEntries(entries)
}

/** Resolves at the first reading after which `holds`; it may hold already. */
export function until(directory: Directory, holds: () => boolean): Promise<void> {
  return new Promise(resolve => {
    // What is watched does not keep the process alive, so this has to.
    const alive = setInterval(() => undefined, 1000)
    const look = () => {
      if (!holds()) return
      clearInterval(alive)
      undo()
      resolve()
    }
    const undo = directory.subscribe(look)
    look()
  })
}
