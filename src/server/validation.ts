import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv'
import type { FastifyInstance, RouteOptions } from 'fastify'

interface ObjectSchema {
  readonly properties?: object
}

/**
 * Validation as openapi.yaml states it, JSON Schema 2020-12: bodies are never coerced, cut or completed; queries
 * are coerced from text, and a parameter that no operation names is an error, not silence.
 */
export function validate(app: FastifyInstance): void {
  // openapi.yaml is checked when it is changed (`npm run check`), not at every start.
  const strictness = {
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
    validateSchema: false,
  } as const
  const bodies = new Ajv2020(strictness)
  const texts = new Ajv2020({ ...strictness, coerceTypes: 'array', useDefaults: true, allErrors: true })
  app.setValidatorCompiler(({ schema, httpPart }) =>
    onFirstUse(() => (httpPart === 'body' ? bodies : texts).compile(schema as object)),
  )
  app.addHook('onRoute', closeQuery)
}

/** Compiling takes milliseconds per schema: a start should not wait for those that nobody uses. */
function onFirstUse(compile: () => ValidateFunction) {
  let compiled: ValidateFunction | undefined
  const validator = (data: unknown): boolean => {
    compiled ??= compile()
    const valid = compiled(data)
    validator.errors = compiled.errors ?? null
    return valid
  }
  validator.errors = null as NonNullable<ValidateFunction['errors']> | null
  return validator
}

function closeQuery(route: RouteOptions): void {
  const query = (route.schema?.querystring ?? { type: 'object' }) as ObjectSchema
  route.schema = { ...route.schema, querystring: { properties: {}, ...query, additionalProperties: false } }
}
