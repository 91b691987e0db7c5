/** Envoys on this machine: the binary, and one process for each Gateway. */
export type { InstallOptions } from './install.js'
export { cacheDirectory, envoyVersion, findEnvoy, installEnvoy } from './install.js'
export type { Proxies, ProxiesOptions } from './proxies.js'
export { startProxies } from './proxies.js'
export type { ProxyState } from './proxy.js'
