import { isFields, type Fields } from './fields.js'
import { patternOf } from './pattern.js'
import type { KindRow } from './table.js'

/** A problem before it is known which object and file it belongs to. */
export interface Finding {
  readonly path: string
  readonly message: string
  readonly rule: string
}

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = `${label}(\\.${label})*`
const named = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'

interface Form {
  readonly pattern: string
  readonly most: number
  readonly text: string
}

const forms = {
  subdomain: {
    pattern: subdomain,
    most: 253,
    text: `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`,
  },
  label: {
    pattern: label,
    most: 63,
    text: `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`,
  },
  name: {
    pattern: named,
    most: 63,
    text: `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${named}')`,
  },
  value: {
    pattern: `(${named})?`,
    most: 63,
    text: `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${named})?')`,
  },
  dataKey: {
    pattern: '[-._a-zA-Z0-9]+',
    most: 253,
    text: `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
  },
} satisfies Record<string, Form>

/** Why a text is not of the named form, as the API server says it. */
export function whyNot(form: keyof typeof forms, text: string): string | undefined {
  const { pattern, most, text: reason } = forms[form]
  if (text.length > most) return `must be no more than ${most} characters`
  return patternOf(`^(?:${pattern})$`).test(text) ? undefined : reason
}

/** Why a text is no label or annotation key: an optional DNS subdomain and `/`, then a name. */
export function whyNotQualified(key: string): string | undefined {
  const [name = '', prefix, ...more] = key.split('/').reverse()
  if (more.length > 0) return forms.name.text.replace('name part', 'a valid label key')
  if (prefix === '') return 'prefix part must be non-empty'
  const why = prefix === undefined ? undefined : whyNot('subdomain', prefix)
  return why === undefined ? whyNot('name', name) : `prefix part ${why}`
}

export const invalid = (path: string, value: unknown, why: string): Finding => ({
  path,
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  rule: 'schema',
})

export const required = (path: string, why?: string): Finding => ({
  path,
  message: why === undefined ? 'Required value' : `Required value: ${why}`,
  rule: 'schema',
})

/** Whether something is missing, rather than wrong. */
export const isRequired = ({ message }: Finding) => message.startsWith('Required value')

function nameFindings(name: unknown, row: KindRow): Finding[] {
  const path = 'metadata.name'
  if (name === undefined || name === '') return [required(path, 'name or generateName is required')]
  if (typeof name !== 'string') return []
  if (row.nameForm !== 'subdomain' && name.includes('.'))
    return [invalid(path, name, 'must not contain dots')]
  const why = whyNot(row.nameForm, name)
  return why === undefined ? [] : [invalid(path, name, why)]
}

function namespaceFindings(namespace: unknown, row: KindRow): Finding[] {
  const path = 'metadata.namespace'
  if (!row.namespaced) return []
  if (namespace === undefined || namespace === '') return [required(path)]
  const why = typeof namespace === 'string' ? whyNot('label', namespace) : undefined
  return why === undefined ? [] : [invalid(path, namespace, why)]
}

function labelFindings(labels: unknown): Finding[] {
  if (!isFields(labels)) return []
  return Object.entries(labels).flatMap(([key, value]) => {
    const keyProblem = whyNotQualified(key)
    const valueProblem = typeof value === 'string' ? whyNot('value', value) : undefined
    return [
      ...(keyProblem === undefined ? [] : [invalid('metadata.labels', key, keyProblem)]),
      ...(valueProblem === undefined ? [] : [invalid('metadata.labels', value, valueProblem)]),
    ]
  })
}

function annotationFindings(annotations: unknown): Finding[] {
  if (!isFields(annotations)) return []
  return Object.keys(annotations).flatMap(key => {
    const why = whyNotQualified(key.toLowerCase())
    return why === undefined ? [] : [invalid('metadata.annotations', key, why)]
  })
}

/** What is wrong with an object's metadata beyond its types (meta/v1; apimachinery's ObjectMeta validation). */
export function metadataFindings(object: Fields, row: KindRow): Finding[] {
  const metadata = isFields(object['metadata']) ? object['metadata'] : {}
  return [
    ...nameFindings(metadata['name'], row),
    ...namespaceFindings(metadata['namespace'], row),
    ...labelFindings(metadata['labels']),
    ...annotationFindings(metadata['annotations']),
  ]
}
