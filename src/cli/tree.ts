/** A topology as `/v1/topology` prints it, as far as a tree needs it. */
export interface Graph {
  readonly nodes: readonly {
    readonly id: string
    readonly kind: string
    readonly namespace?: string
    readonly name: string
    readonly section?: string
  }[]
  readonly edges: readonly {
    readonly from: string
    readonly to: string
    readonly broken?: { readonly reason: string; readonly message: string }
  }[]
}

/**
 * The graph as an indented tree, from every node that nothing leads to. What is below a node is shown where the
 * node comes first; later it ends in `…`. A broken edge says why.
 */
export function tree(graph: Graph): string {
  const names = new Map(graph.nodes.map(node => [node.id, nameOf(node)]))
  const children = new Map<string, Graph['edges'][number][]>()
  const below = new Set<string>()
  for (const edge of graph.edges) {
    children.set(edge.from, [...(children.get(edge.from) ?? []), edge])
    below.add(edge.to)
  }
  const lines: string[] = []
  const shown = new Set<string>()
  const visit = (id: string, head: string, indent: string, note: string) => {
    const edges = children.get(id) ?? []
    const again = shown.has(id) && edges.length > 0
    lines.push(`${head}${names.get(id) ?? id}${note}${again ? ' …' : ''}`)
    if (again) return
    shown.add(id)
    edges.forEach((edge, position) => {
      const last = position === edges.length - 1
      const reason = edge.broken ? `  ✗ ${edge.broken.reason}: ${edge.broken.message}` : ''
      visit(edge.to, `${indent}${last ? '└─ ' : '├─ '}`, `${indent}${last ? '   ' : '│  '}`, reason)
    })
  }
  for (const node of graph.nodes) if (!below.has(node.id)) visit(node.id, '', '', '')
  return lines.map(line => `${line}\n`).join('')
}

function nameOf({ kind, namespace, name, section }: Graph['nodes'][number]): string {
  const place = namespace === undefined ? name : `${namespace}/${name}`
  return `${kind} ${place}${section === undefined ? '' : `#${section}`}`
}
