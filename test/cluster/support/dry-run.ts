import { Agent, request, type RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import type { KubeObject, Problem } from '../../../src/core/index.js'
import { kindOf, validate } from '../../../src/kinds/index.js'

interface Status {
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly causes?: readonly Cause[] }
}

interface Cause {
  readonly field?: string
  readonly message?: string
}

/** Said of no field: that there may be more. */
const unchecked = 'some validation rules were not checked'

/** Of alternatives in a schema, and of formats of numbers, the field is told in the message alone. */
const fieldOf = ({ field = '', message = '' }: Cause) =>
  field === '<nil>' ? (/"([^"]+)" must validate| in (\S+)$/.exec(message)?.slice(1).join('') ?? field) : field

/** What somebody says of an object. */
export interface Verdict {
  readonly accepted: boolean
  /** The fields that are wrong, each once, in order. Empty: whoever refused it names none. */
  readonly fields: readonly string[]
  /** For people. */
  readonly said: readonly string[]
  /** The object's metadata has other types than they may, and of that the first is all that is told. */
  readonly unreadable?: boolean
}

/** Keys that are no names are spelled with brackets or without. */
const spelled = (field: string) => field.replaceAll(/\[(?!\d+\])([^\]]*)\]/g, '.$1')
const distinct = (fields: readonly string[]) => [...new Set(fields.map(spelled))].sort()

/** Asks the API server about the creation of objects that are not there, and has none created. */
export class DryRun {
  readonly #server: string
  readonly #options: RequestOptions

  private constructor(server: string, options: RequestOptions) {
    this.#server = server
    this.#options = options
  }

  static async connect(kubeconfig: string): Promise<DryRun> {
    const config = new KubeConfig()
    config.loadFromFile(kubeconfig)
    const options: RequestOptions = {}
    await config.applyToHTTPSOptions(options)
    const { ca, cert, key } = options as { ca?: string; cert?: string; key?: string }
    const agent = new Agent({
      keepAlive: true,
      ...(ca && { ca }),
      ...(cert && { cert }),
      ...(key && { key }),
    })
    return new DryRun(config.getCurrentCluster()?.server ?? '', { ...options, agent })
  }

  close(): void {
    ;(this.#options.agent as Agent).destroy()
  }

  async ask(object: KubeObject): Promise<Verdict> {
    const { status, body } = await this.#post(object)
    if (status < 300) return { accepted: true, fields: [], said: [] }
    const { message = '', reason, details } = JSON.parse(body) as Status
    // Whether it is there is asked last.
    if (reason === 'AlreadyExists') return { accepted: true, fields: [], said: [] }
    const [, unreadable] = /Go struct field ObjectMeta\.(\w+)/.exec(message) ?? []
    if (unreadable !== undefined)
      return { accepted: false, unreadable: true, fields: [`metadata.${unreadable}`], said: [message] }
    const causes = (details?.causes ?? []).filter(({ message }) => !message?.includes(unchecked))
    const unknown = [...message.matchAll(/unknown field "((?:[^"\\]|\\.)*)"/g)].map(([, field = '']) => field)
    const said = causes.map(({ field, message }) => `${field ?? ''}: ${message ?? ''}`)
    return {
      accepted: false,
      fields: distinct([...causes.map(fieldOf), ...unknown]),
      said: said.length > 0 ? said : [message],
    }
  }

  #post(object: KubeObject): Promise<{ readonly status: number; readonly body: string }> {
    const row = kindOf(object)
    if (!row) throw new Error(`no kind of ours: ${object.apiVersion} ${object.kind}`)
    const place = row.namespaced ? `/namespaces/${object.metadata.namespace ?? 'default'}` : ''
    const root = object.apiVersion.includes('/') ? 'apis' : 'api'
    const query = 'dryRun=All&fieldValidation=Strict'
    const url = `${this.#server}/${root}/${object.apiVersion}${place}/${row.plural}?${query}`
    const headers = { 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      const asking = request(url, { ...this.#options, method: 'POST', headers }, answer => {
        let body = ''
        answer.on('data', (part: Buffer) => (body += part.toString()))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
        answer.on('error', reject)
      })
      asking.on('error', reject)
      asking.end(JSON.stringify(object))
    })
  }
}

/** Our own verdict, told as the API server tells its own: what cannot be read is not looked at any further. */
export function ourVerdict(object: KubeObject): Verdict {
  const { problems } = validate(object)
  const unreadable = problems.filter(
    ({ path, message }) => path.startsWith('metadata.') && message.includes('in body must be of type'),
  )
  const unknown = problems.filter(({ rule }) => rule === 'unknown')
  const [told = problems] = [unreadable, unknown].filter(({ length }) => length > 0)
  const fieldOf = ({ path }: Problem) =>
    told === unreadable ? path.replace(/^(metadata\.\w+).*/, '$1') : path
  return {
    accepted: problems.length === 0,
    fields: distinct(told.map(fieldOf)),
    said: told.map(({ path, message }) => `${path}: ${message}`),
  }
}

/** How the two differ; undefined where they do not. */
export function difference(ours: Verdict, theirs: Verdict): string | undefined {
  const named = theirs.unreadable
    ? theirs.fields.every(field => ours.fields.includes(field))
    : ours.fields.join() === theirs.fields.join()
  if (ours.accepted === theirs.accepted && named) return undefined
  return `\n  we say${told(ours, theirs)}\n  the API server says${told(theirs, ours)}`
}

/** What one says, as far as the other does not say it too. */
function told({ accepted, said }: Verdict, other: Verdict): string {
  const lines = accepted ? ['fine'] : said.filter(line => !other.said.includes(line)).slice(0, 8)
  return lines.map(line => `\n    ${line.slice(0, 400)}`).join('')
}
