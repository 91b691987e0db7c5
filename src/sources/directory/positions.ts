import { isAlias, isMap, isScalar, isSeq } from 'yaml'
import type { Document, LineCounter, Node, ParsedNode } from 'yaml'
import type { Place } from '../../core/index.js'

type Segments = readonly (string | number)[]

/** Says where things stand in one file. */
export class Positions {
  readonly #file: string
  readonly #lines: LineCounter

  constructor(file: string, lines: LineCounter) {
    this.#file = file
    this.#lines = lines
  }

  at(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset)
    return { file: this.#file, line: Math.max(line, 1), column: Math.max(col, 1) }
  }

  /** Where a field's name or an item stands; for what is not there, the nearest thing around it. */
  of(document: Document.Parsed, segments: Segments): Place {
    let offset = document.contents?.range[0] ?? document.range[0]
    let node: unknown = document.contents
    for (const segment of segments) {
      const step = stepInto(document, node, segment)
      if (step === undefined) break
      offset = step.offset
      node = step.node
    }
    return this.at(offset)
  }
}

interface Step {
  readonly offset: number
  readonly node: unknown
}

function stepInto(document: Document.Parsed, from: unknown, segment: string | number): Step | undefined {
  const node = isAlias(from) ? from.resolve(document) : from
  if (isSeq(node)) {
    const item = node.items[Number(segment)] as ParsedNode | undefined
    return item && { offset: item.range[0], node: item }
  }
  if (!isMap(node)) return undefined
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment))
  const key = pair?.key as Node | undefined
  return key?.range ? { offset: key.range[0], node: pair?.value } : undefined
}
