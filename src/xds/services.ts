import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js'
import type { ResourceType } from '../envoy/index.js'
import type { DeltaRequest, SotwRequest } from './wire.js'
import { decodeDeltaRequest, decodeSotwRequest } from './wire.js'

/** One gRPC service; `only` is the one type that it carries, all types together when absent (ADS). */
export interface Service {
  readonly only: ResourceType | undefined
  readonly definition: ServiceDefinition
}

/** Responses are encoded before they come here. */
const asIs = (bytes: Buffer) => bytes

function stream<R>(path: string, decode: (bytes: Uint8Array) => R): MethodDefinition<R, Buffer> {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: () => {
      throw new Error('this side sends no requests')
    },
    requestDeserialize: decode,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  }
}

function service(only: ResourceType | undefined, name: string, noun: string): Service {
  return {
    only,
    definition: {
      sotw: stream<SotwRequest>(`/envoy.service.${name}/Stream${noun}`, decodeSotwRequest),
      delta: stream<DeltaRequest>(`/envoy.service.${name}/Delta${noun}`, decodeDeltaRequest),
    },
  }
}

/** The services of envoy/service/<type>/v3; Fetch (REST) is not served. */
export const services: readonly Service[] = [
  service(undefined, 'discovery.v3.AggregatedDiscoveryService', 'AggregatedResources'),
  service('cluster', 'cluster.v3.ClusterDiscoveryService', 'Clusters'),
  service('endpoint', 'endpoint.v3.EndpointDiscoveryService', 'Endpoints'),
  service('listener', 'listener.v3.ListenerDiscoveryService', 'Listeners'),
  service('route', 'route.v3.RouteDiscoveryService', 'Routes'),
  service('secret', 'secret.v3.SecretDiscoveryService', 'Secrets'),
]
