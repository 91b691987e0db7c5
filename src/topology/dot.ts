import type { View, ViewEdge, ViewNode } from './view.js'

const shapes = {
  target: 'shape=box, style=filled, fillcolor="#e5e5e5"',
  policy: 'shape=note, style=dashed',
  object: 'shape=ellipse',
} as const
const fills = { ok: undefined, warning: '#fff3cd', error: '#f8d7da' } as const

/** Graphviz: boxes for targets, notes for policies, ellipses for other objects; what is broken is dashed and red. */
export function toDot({ nodes, edges }: View): string {
  const lines = [
    'rankdir=LR',
    'node [fontname="sans-serif", fontsize=10]',
    'edge [fontname="sans-serif", fontsize=8]',
    ...nodes.map(node => `${quoted(node.id)} [${nodeStyle(node)}]`),
    ...edges.map(edge => `${quoted(edge.from)} -> ${quoted(edge.to)} [${edgeStyle(edge)}]`),
  ]
  return `digraph topology {\n${lines.map(line => `  ${line}\n`).join('')}}\n`
}

function nodeStyle(node: ViewNode): string {
  const label = `label=${quoted(`${node.kind}\n${nameOf(node)}`)}`
  if (node.missing) return `${label}, shape=box, style=dashed, color=red, fontcolor=red`
  const fill = node.health && fills[node.health]
  return fill
    ? `${label}, ${shapes[node.role]}, style=filled, fillcolor="${fill}"`
    : `${label}, ${shapes[node.role]}`
}

function edgeStyle({ link, state, reason }: ViewEdge): string {
  const comment = `comment=${quoted(link)}`
  if (state === 'ok') return link === 'target' || link === 'grant' ? `${comment}, style=dashed` : comment
  return `${comment}, style=dashed, color=red, fontcolor=red, label=${quoted(reason?.reason ?? state)}, tooltip=${quoted(reason?.message ?? '')}`
}

/** `shop/public#https`. */
export function nameOf({ namespace, name, section }: ViewNode): string {
  const object = namespace === undefined ? name : `${namespace}/${name}`
  return section === undefined ? object : `${object}#${section}`
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}
