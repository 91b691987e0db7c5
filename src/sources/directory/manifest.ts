import { Composer, LineCounter, Parser, isAlias, isMap, isScalar, isSeq } from 'yaml'
import type { Document, ParsedNode, YAMLError } from 'yaml'
import type { KubeObject, Locator, Place, Problem } from '../../core/index.js'
import { locatorOf } from '../../core/index.js'
import { pathSegments } from '../../kinds/index.js'
import type { Check } from '../check.js'
import { checkObject } from '../check.js'
import { isFields } from '../message.js'
import { Positions } from './positions.js'

/** An object and where it begins. */
export interface PlacedObject {
  readonly locator: Locator
  readonly object: KubeObject
  readonly place: Place
}

export interface Manifest {
  /** Those that are valid, in the order of the file. */
  readonly objects: readonly PlacedObject[]
  readonly problems: readonly Problem[]
}

export interface ManifestOptions {
  readonly check?: Check | undefined
  /** Awaited after each document and object. */
  readonly pause: () => Promise<void>
}

/**
 * Reads a file of YAML (1.2, with merge keys) or JSON: any number of documents, `List`s unfolded. Nothing in a text
 * makes it throw.
 *
 * @param file - as problems name it
 */
export async function parseManifest(text: string, file: string, options: ManifestOptions): Promise<Manifest> {
  const lines = new LineCounter()
  const reader = new ManifestReader(new Positions(file, lines), options.check)
  try {
    for (const document of documents(text.replace(/^\uFEFF/, ''), lines)) {
      for (const value of reader.values(document)) {
        reader.take(value)
        await options.pause()
      }
      await options.pause()
    }
  } catch (error) {
    reader.fail(error, 0)
  }
  return reader
}

function documents(text: string, lines: LineCounter): Iterable<Document.Parsed> {
  const parser = new Parser(lines.addNewLine)
  // Its own check for unique keys is quadratic; ours is duplicateKeys.
  const composer = new Composer({ lineCounter: lines, prettyErrors: false, merge: true, uniqueKeys: false })
  return composer.compose(parser.parse(text), true, text.length)
}

/** One object of a document as plain data, and the way to it. */
interface Value {
  readonly document: Document.Parsed
  readonly way: readonly (string | number)[]
  readonly data: unknown
}

class ManifestReader implements Manifest {
  readonly objects: PlacedObject[] = []
  readonly problems: Problem[] = []
  readonly #seen = new Map<Locator, Place>()
  readonly #positions: Positions
  readonly #check: Check | undefined

  constructor(positions: Positions, check: Check | undefined) {
    this.#positions = positions
    this.#check = check
  }

  /** The objects of a document; none when it is not well formed. */
  values(document: Document.Parsed): readonly Value[] {
    for (const { message, pos } of firstErrors(document.warnings)) this.#report('warning', message, pos[0])
    for (const { message, pos } of firstErrors(document.errors)) this.#report('error', message, pos[0])
    const sound = document.errors.length === 0 && this.#isUnambiguous(document)
    if (!sound || document.contents === null) return []
    try {
      return unfolded({ document, way: [], data: document.toJS({ maxAliasCount: 100 }) })
    } catch (error) {
      this.fail(error, document.range[0])
      return []
    }
  }

  take({ document, way, data }: Value): void {
    if (data === null || data === undefined) return
    const locate = (path: string) => this.#positions.of(document, [...way, ...pathSegments(path)])
    const { object, problems } = checkObject(data, this.#check, { locate })
    this.problems.push(...problems)
    if (object === undefined || problems.some(({ severity }) => severity === 'error')) return
    this.#add(object, locate('metadata.name'), locate(''))
  }

  /** A text that the parser gives up on: too many aliases, too deep, … */
  fail(error: unknown, offset: number): void {
    this.#report('error', (error as Error).message, offset)
  }

  #add(object: KubeObject, name: Place, place: Place): void {
    const locator = locatorOf(object)
    const first = this.#seen.get(locator)
    if (first !== undefined) {
      const message = `the same object stands at line ${first.line}: remove one of the two`
      this.problems.push({
        severity: 'error',
        object: locator,
        path: '',
        message,
        rule: 'duplicate',
        place: name,
      })
      return
    }
    this.#seen.set(locator, name)
    this.objects.push({ locator, object, place })
  }

  #isUnambiguous(document: Document.Parsed): boolean {
    const repeated = [...duplicateKeys(document.contents)]
    for (const { name, offset } of repeated)
      this.#report('error', `the key "${name}" stands twice in one map`, offset)
    return repeated.length === 0
  }

  #report(severity: Problem['severity'], message: string, offset: number): void {
    const place = this.#positions.at(offset)
    this.problems.push({ severity, path: '', message: withoutText(message), rule: 'yaml', place })
  }
}

/** One mistake makes many: the first one at each of the first places is worth reading. */
function firstErrors<E extends YAMLError>(errors: readonly E[]): readonly E[] {
  const byOffset = new Map<number, E>()
  for (const error of errors) if (!byOffset.has(error.pos[0])) byOffset.set(error.pos[0], error)
  return [...byOffset.values()].slice(0, 5)
}

/** The parser quotes what it stumbled over, which may be a secret. */
function withoutText(message: string): string {
  if (message.startsWith('Maximum call stack')) return 'it is nested too deeply'
  return message.replace(/ in YAML stream: .*/s, ' here').replace(/^(Unresolved alias[^)]*\)).*/s, '$1')
}

function unfolded(value: Value): readonly Value[] {
  const { data } = value
  if (!isListOfObjects(data)) return [value]
  const [apiVersion, kind] = [data.apiVersion, data.kind.slice(0, -'List'.length)]
  return data.items.flatMap((item, position): readonly Value[] => {
    // The items of a typed list (HTTPRouteList) leave out what they all are.
    const whole = kind === '' || !isFields(item) ? item : { apiVersion, kind, ...item }
    return unfolded({ ...value, way: [...value.way, 'items', position], data: whole })
  })
}

interface ListOfObjects {
  readonly apiVersion: string
  readonly kind: string
  readonly items: readonly unknown[]
}

function isListOfObjects(data: unknown): data is ListOfObjects {
  if (!isFields(data)) return false
  return typeof data['kind'] === 'string' && data['kind'].endsWith('List') && Array.isArray(data['items'])
}

function* duplicateKeys(node: ParsedNode | null): Generator<{ name: string; offset: number }> {
  if (isSeq(node)) {
    for (const item of node.items) yield* duplicateKeys(item)
  }
  if (!isMap(node)) return
  const seen = new Set<string>()
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.value) : undefined
    if (name !== undefined && seen.has(name) && name !== '<<') yield { name, offset: key.range[0] }
    if (name !== undefined) seen.add(name)
    if (!isAlias(value)) yield* duplicateKeys(value)
  }
}
