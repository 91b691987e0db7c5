import type { Schema } from './schema.js'

/**
 * The schema of gatewright.io/v1alpha1 `Backend`: hosts and ports outside of Kubernetes' Services. The chart's CRD is
 * written from it.
 */
export const backendSchema = (): Schema => ({
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['endpoints'],
      properties: {
        protocol: { type: 'string', enum: ['http', 'h2c', 'ws'], default: 'http' },
        endpoints: {
          type: 'array',
          minItems: 1,
          maxItems: 128,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['host', 'port'],
          items: {
            type: 'object',
            required: ['host', 'port'],
            properties: {
              host: {
                type: 'string',
                minLength: 1,
                maxLength: 253,
                'x-kubernetes-validations': [
                  {
                    rule: "isIP(self) || self.matches(r'^[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*[.]?$')",
                    message: 'must be a host name or an IP address, without a scheme or a port',
                  },
                ],
              },
              port: { type: 'integer', format: 'int32', minimum: 1, maximum: 65535 },
              weight: { type: 'integer', format: 'int32', minimum: 0, maximum: 1000000, default: 1 },
            },
          },
        },
      },
    },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
})
