import { request } from 'node:http'

/** Calls an Envoy's admin page at `host:port`. Rejects when it does not answer 200 within 5 s. */
export function callAdmin(admin: string, method: 'GET' | 'POST', path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // No agent: a kept-alive connection would count as one of the connections that draining waits for.
    const call = request(`http://${admin}${path}`, { method, agent: false, timeout: 5000 }, response => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(parts).toString()
        if (response.statusCode === 200) resolve(text)
        else reject(new Error(`${method} ${path} answered ${response.statusCode ?? 0}: ${text}`))
      })
    })
    call.on('timeout', () => call.destroy(new Error(`${method} ${path} did not answer within 5 s`)))
    call.on('error', reject)
    call.end()
  })
}

/** The bootstrap file of the Envoy that answers at `admin`; `undefined` when none does. */
export async function bootstrapPathOf(admin: string): Promise<string | undefined> {
  const answer = await callAdmin(admin, 'GET', '/server_info').catch(() => '{}')
  const info = JSON.parse(answer) as { command_line_options?: { config_path?: string } }
  return info.command_line_options?.config_path
}

/** Requests that the Envoy is answering now, its admin page left out; `undefined` when it keeps no such count. */
export async function requestsInFlight(admin: string): Promise<number | undefined> {
  const path = '/stats?filter=downstream_rq_active$&format=json'
  const { stats = [] } = JSON.parse(await callAdmin(admin, 'GET', path)) as {
    stats?: { name?: string; value?: number }[]
  }
  // The admin page's own count is always there, unless the bootstrap keeps none of these.
  if (stats.length === 0) return undefined
  const others = stats.filter(stat => stat.name?.startsWith('http.') && !stat.name.startsWith('http.admin.'))
  return others.reduce((sum, stat) => sum + (stat.value ?? 0), 0)
}

/**
 * Whether the Envoy routes to the cluster in the form that it acknowledged last: active, and no newer form of it
 * warming (`ClustersConfigDump`). Ask after the ACK.
 */
export async function isWarm(admin: string, cluster: string): Promise<boolean> {
  // Warming first: a cluster only moves from warming to active, so the other order could miss it twice.
  if (await isListed(admin, 'dynamic_warming_clusters', cluster)) return false
  return isListed(admin, 'dynamic_active_clusters', cluster)
}

async function isListed(admin: string, resource: string, cluster: string): Promise<boolean> {
  const regex = encodeURIComponent(cluster.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
  const dump = await callAdmin(admin, 'GET', `/config_dump?resource=${resource}&name_regex=${regex}`)
  const { configs = [] } = JSON.parse(dump) as { configs?: unknown[] }
  return configs.length > 0
}
