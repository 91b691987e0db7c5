import t from 'tap'
import { problemText, type KubeObject } from '../../src/core/index.js'
import { celValue, whyBroken } from '../../src/kinds/cel.js'
import { kindOf, kinds, pathSegments, validate, type Rule, type Schema } from '../../src/kinds/index.js'
import { ruleCases } from './rule-cases.js'

function rulesIn(schema: Schema): Rule[] {
  const below = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
    ...(schema.additionalProperties ? [schema.additionalProperties] : []),
  ]
  return [...(schema['x-kubernetes-validations'] ?? []), ...below.flatMap(rulesIn)]
}

/** The value and the schema at a path that exists. */
function nodeAt(object: KubeObject, path: string): { readonly value: unknown; readonly schema: Schema } {
  let value: unknown = object
  let schema = kindOf(object)!.schema(object.apiVersion.split('/')[1]!)
  for (const segment of pathSegments(path)) {
    value = (value as Record<string | number, unknown>)[segment]
    schema = typeof segment === 'number' ? schema.items! : schema.properties![segment]!
  }
  return { value, schema }
}

/** The rule with the message at the path, if its evaluation there says that it is broken. */
function brokenAlone(object: KubeObject, path: string, message: string): string | undefined {
  const { value, schema } = nodeAt(object, path)
  const rule = schema['x-kubernetes-validations']!.find(rule => rule.message === message)!
  return whyBroken(rule, { self: celValue(value, schema, new WeakMap()) }) === message ? rule.rule : undefined
}

const gatewayApi = kinds.filter(({ group }) => group.startsWith('gateway.networking.'))
const everyRule = gatewayApi.flatMap(row => row.versions.flatMap(version => rulesIn(row.schema(version))))
const distinct = new Set(everyRule.map(({ rule }) => rule))
const worded = new Set(everyRule.map(({ rule, message }) => `${message}\n${rule}`))
const covered = new Set<string>()

for (const { file, built, cases } of ruleCases()) {
  const problemsOf = (change: object, old?: object) =>
    validate(built(change), { status: 'status' in change, oldObject: old && built(old) }).problems
  t.test(file.replace('.yaml', ''), t => {
    for (const { path, message, also = [], shadowedBy, old, bad, good } of cases) {
      t.test(`${path}: ${message}`, t => {
        const problems = problemsOf(bad, old)
        const own = shadowedBy
          ? brokenAlone(built(bad), path, message)
          : problems.find(problem => problem.path === path && problem.message === message)?.rule
        t.ok(own, `breaks the rule: ${problems.map(problemText).join(' | ')}`)
        covered.add(`${message}\n${own ?? ''}`)
        const others = problems
          .filter(({ rule }) => rule !== own)
          .map(problem => `${problem.path}: ${problem.message}`)
        const expected = shadowedBy ? [shadowedBy] : also
        t.equal(others.length, expected.length, `nothing else is wrong: ${others.join(' | ')}`)
        t.ok(
          expected.every((start, index) => others[index]?.startsWith(start)),
          others.join(' | '),
        )
        t.same(problemsOf(good, old), [], 'the good object is accepted')
        t.end()
      })
    }
    t.end()
  })
}

t.test('every rule of the Gateway API has its case', t => {
  t.equal(distinct.size, 94, 'distinct rules by text in the experimental channel of v1.6.3')
  t.equal(worded.size, 98, 'distinct pairs of rule and message')
  t.same([...worded].filter(pair => !covered.has(pair)).sort(), [], 'none is missing')
  t.end()
})
