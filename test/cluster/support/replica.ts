import { request } from 'node:https'
import { get } from 'node:http'
import type { Program } from './program.js'

export interface Caller {
  /** PEM: who signed the certificates of replicas. */
  readonly ca: string
  readonly serverName: string
  readonly token?: string
}

export interface Answer {
  readonly status: number
  readonly body: string
}

/** One call of a replica's HTTPS; the token of `caller` unless headers say otherwise. */
export function call(
  address: string,
  { ca, serverName, token }: Caller,
  path: string,
  { method = 'GET', body }: { readonly method?: string; readonly body?: string } = {},
): Promise<Answer> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  return new Promise((resolve, reject) => {
    const options = { method, headers, ca, servername: serverName, agent: false, timeout: 10_000 }
    const asking = request(`https://${address}${path}`, options, answer => {
      let text = ''
      answer.on('data', (part: Buffer) => (text += part.toString()))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: text }))
      answer.on('error', reject)
    })
    asking.on('timeout', () => asking.destroy(new Error(`${path}: no answer in 10 s`)))
    asking.on('error', reject)
    asking.end(body)
  })
}

/** GET of plain HTTP: health and metrics. Rejects on another answer than 200. */
export function read(address: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = get(`http://${address}${path}`, { agent: false, timeout: 10_000 }, answer => {
      let text = ''
      answer.on('data', (part: Buffer) => (text += part.toString()))
      answer.on('end', () =>
        answer.statusCode === 200
          ? resolve(text)
          : reject(new Error(`${path}: ${answer.statusCode ?? 0} ${text}`)),
      )
      answer.on('error', reject)
    })
    asking.on('timeout', () => asking.destroy(new Error(`${path}: no answer in 10 s`)))
    asking.on('error', reject)
  })
}

export interface Addresses {
  /** HTTPS: queries and webhooks. */
  readonly http: string
  /** Plain HTTP: health and metrics. */
  readonly ops: string
  /** Where its Envoy asks for its configuration. */
  readonly xds: string
  /** The loopback address that the listeners of its Envoy are bound to. */
  readonly listener: string
}

interface XdsResource {
  readonly gateway: string
  readonly type: string
  readonly name: string
  readonly version: string
  readonly resource: object
}

/** A `gatewright serve` of its own process, on addresses that stay when it is started again. */
export class Replica {
  readonly program: Program
  readonly addresses: Addresses
  readonly #caller: Caller

  constructor(program: Program, addresses: Addresses, caller: Caller) {
    this.program = program
    this.addresses = addresses
    this.#caller = caller
  }

  /** Asked as somebody who may see everything. */
  async ask<T>(path: string, method = 'GET'): Promise<T> {
    const { status, body } = await call(this.addresses.http, this.#caller, path, { method })
    if (status !== 200) throw new Error(`${this.program.name}: ${path}: ${status} ${body}`)
    return JSON.parse(body) as T
  }

  /** Has everything listed again. */
  reconcile(): Promise<unknown> {
    return this.ask('/v1/reconcile', 'POST')
  }

  /**
   * What proxies are given: a line for each resource, with its version. Listeners are compared without the address that
   * each replica was told to have them bound to.
   */
  async xds(): Promise<readonly string[]> {
    const { resources } = await this.ask<{ readonly resources: readonly XdsResource[] }>('/v1/xds/resources')
    const content = ({ type, version, resource }: XdsResource) =>
      type === 'listener' ? JSON.stringify(resource).replaceAll(this.addresses.listener, '*') : version
    return resources.map(each => `${each.gateway} ${each.type} ${each.name} ${content(each)}`).sort()
  }

  /** What it holds: a line for each object of the namespace, with its version. */
  async objects(namespace: string): Promise<readonly string[]> {
    interface Item {
      readonly kind: string
      readonly metadata: { readonly name: string; readonly resourceVersion?: string }
    }
    const { items } = await this.ask<{ readonly items: readonly Item[] }>(
      `/v1/resources?namespace=${namespace}`,
    )
    return items
      .map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion ?? ''}`)
      .sort()
  }

  /** How often it was asked for a review. */
  reviews(): Promise<number> {
    return this.metric('gatewright_http_request_duration_seconds_count', 'operation="reviewAdmission"')
  }

  /** The sum of a metric over all its labels, or those with this one. */
  async metric(name: string, label = ''): Promise<number> {
    const lines = (await read(this.addresses.ops, '/metrics')).split('\n')
    const values = lines.filter(line => line.startsWith(name) && line.includes(label))
    return values.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
}
