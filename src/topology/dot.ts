import type { View, ViewEdge, ViewNode } from './view.js'

const shapes = { target: 'box', policy: 'note', object: 'ellipse' } as const
const roleStyles = {
  target: 'style=filled, fillcolor="#e5e5e5"',
  policy: 'style=dashed',
  object: '',
} as const
const healthStyles = {
  ok: '',
  warning: 'style=filled, fillcolor="#fff3cd"',
  error: 'style=filled, fillcolor="#f8d7da"',
} as const

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
  const style = healthStyles[node.health ?? 'ok'] || roleStyles[node.role]
  return [label, `shape=${shapes[node.role]}`, style].filter(part => part !== '').join(', ')
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
