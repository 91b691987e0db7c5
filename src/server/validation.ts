import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FastifyInstance, RouteOptions } from 'fastify'

interface ObjectSchema {
  readonly properties?: object
}

/**
 * Validation as openapi.yaml states it, JSON Schema 2020-12: bodies are never coerced, cut or completed; queries
 * are coerced from text, and a parameter that no operation names is an error, not silence.
 */
export function validate(app: FastifyInstance): void {
  const strictness = { strictTypes: false, strictRequired: false, allowUnionTypes: true } as const
  const bodies = new Ajv2020(strictness)
  const texts = new Ajv2020({ ...strictness, coerceTypes: 'array', useDefaults: true, allErrors: true })
  app.setValidatorCompiler(({ schema, httpPart }) =>
    httpPart === 'body' ? bodies.compile(schema as object) : texts.compile(schema as object),
  )
  app.addHook('onRoute', closeQuery)
}

function closeQuery(route: RouteOptions): void {
  const query = (route.schema?.querystring ?? { type: 'object' }) as ObjectSchema
  route.schema = { ...route.schema, querystring: { properties: {}, ...query, additionalProperties: false } }
}
