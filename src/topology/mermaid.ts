import type { Locator } from '../core/index.js'
import { nameOf } from './dot.js'
import type { View, ViewEdge, ViewNode } from './view.js'

const shapes = { target: ['[', ']'], policy: ['>', ']'], object: ['([', '])'] } as const

/** A Mermaid flow chart; what is broken is dashed and red. Nodes are numbered in the order of their ids. */
export function toMermaid({ nodes, edges }: View): string {
  const numbers = new Map<Locator, string>(nodes.map(({ id }, i) => [id, `n${i}`]))
  const bad = edges.flatMap(({ state }, i) => (state === 'ok' ? [] : [i]))
  const lines = [
    ...nodes.map((node, i) => nodeLine(node, `n${i}`)),
    ...edges.map(edge => edgeLine(edge, numbers)),
    'classDef missing stroke:#d33,color:#d33,stroke-dasharray:4',
    'classDef warning fill:#fff3cd',
    'classDef error fill:#f8d7da',
    ...(bad.length > 0 ? [`linkStyle ${bad.join(',')} stroke:#d33,color:#d33`] : []),
  ]
  return `flowchart LR\n${lines.map(line => `  ${line}\n`).join('')}`
}

function nodeLine(node: ViewNode, number: string): string {
  const [open, close] = shapes[node.role]
  const mark = node.missing ? 'missing' : node.health === 'ok' ? undefined : node.health
  const label = `"${escaped(node.kind)}<br/>${escaped(nameOf(node))}"`
  return `${number}${open}${label}${close}${mark === undefined ? '' : `:::${mark}`}`
}

function edgeLine(
  { from, to, link, state, reason }: ViewEdge,
  numbers: ReadonlyMap<Locator, string>,
): string {
  const ends = [numbers.get(from), numbers.get(to)]
  if (state !== 'ok') return ends.join(` -. "${escaped(reason?.reason ?? state)}" .-> `)
  return ends.join(link === 'target' || link === 'grant' ? ' -.-> ' : ' --> ')
}

function escaped(text: string): string {
  return text.replaceAll('#', '#35;').replaceAll('"', '#quot;').replaceAll('<', '#lt;').replaceAll('\n', ' ')
}
