import { podTokenFile, type KubeClient } from './kube/index.js'
import type { Credentials } from './sources/index.js'

/** What is shown to other processes of ours: in a pod its own token, unless something else is named. */
export function credentialsOf({ inCluster }: Pick<KubeClient, 'inCluster'>, given: Credentials): Credentials {
  const { tokenFile, hmacFile, certFile } = given
  const isNamed = tokenFile !== undefined || hmacFile !== undefined || certFile !== undefined
  return inCluster && !isNamed ? { ...given, tokenFile: podTokenFile } : given
}
