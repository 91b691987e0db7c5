import { Agent, request, type RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import type { KubeObject, Problem } from '../../../src/core/index.js'
import { kindOf, validate } from '../../../src/kinds/index.js'

interface Status {
  readonly code?: number
  readonly message?: string
  readonly details?: { readonly causes?: readonly { readonly field?: string; readonly message?: string }[] }
}

/** What somebody says of an object. */
export interface Verdict {
  readonly accepted: boolean
  /** The fields that are wrong, each once, in order. Empty: whoever refused it names none. */
  readonly fields: readonly string[]
  /** For people. */
  readonly said: readonly string[]
}

const distinct = (fields: readonly string[]) => [...new Set(fields)].sort()

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
    const { message = '', details } = JSON.parse(body) as Status
    // That the rest was not looked at is said of no field.
    const causes = (details?.causes ?? []).filter(({ field }) => field !== undefined && field !== '<nil>')
    const unknown = [...message.matchAll(/unknown field "((?:[^"\\]|\\.)*)"/g)].map(([, field = '']) => field)
    const fields = distinct([...causes.map(({ field = '' }) => field), ...unknown])
    const said = causes.map(({ field, message }) => `${field ?? ''}: ${message ?? ''}`)
    return { accepted: false, fields, said: said.length > 0 ? said : [message] }
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
  return verdictOf(problems)
}

export function verdictOf(all: readonly Problem[]): Verdict {
  const problems = all.filter(({ severity }) => severity === 'error')
  const unknown = problems.filter(({ rule }) => rule === 'unknown')
  const told = unknown.length > 0 ? unknown : problems
  return {
    accepted: problems.length === 0,
    fields: distinct(told.map(({ path }) => path)),
    said: told.map(({ path, message }) => `${path}: ${message}`),
  }
}

/** How the two differ; undefined where they do not. */
export function difference(ours: Verdict, theirs: Verdict): string | undefined {
  if (ours.accepted === theirs.accepted && ours.fields.join() === theirs.fields.join()) return undefined
  const tell = ({ accepted, said }: Verdict) =>
    (accepted ? ['fine'] : said).map(line => `\n    ${line}`).join('')
  return `\n  we say${tell(ours)}\n  the API server says${tell(theirs)}`
}
