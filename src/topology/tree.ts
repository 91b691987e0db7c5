import type { Locator } from '../core/index.js'
import { nameOf } from './dot.js'
import type { View, ViewEdge, ViewNode } from './view.js'

/**
 * Text for a terminal. Sections and what is below them are nested, `~` marks the policies and grants of the node
 * above, `✗` what is broken with its reason, and `↑` a node whose branches stand further up. A Service that is
 * reached through all of its ports is not repeated.
 */
export function toTree(view: View): string {
  const tree = new Tree(view)
  return tree.text()
}

class Tree {
  readonly #nodes: ReadonlyMap<Locator, ViewNode>
  readonly #below: ReadonlyMap<Locator, readonly ViewEdge[]>
  readonly #above: ReadonlyMap<Locator, readonly ViewEdge[]>
  readonly #view: View
  readonly #seen = new Set<Locator>()
  readonly #lines: string[] = []

  constructor(view: View) {
    this.#view = view
    this.#nodes = new Map(view.nodes.map(node => [node.id, node]))
    this.#below = byEnd(view.edges, 'from')
    this.#above = byEnd(view.edges, 'to')
  }

  text(): string {
    const { nodes } = this.#view
    const roots = nodes.filter(({ id }) => !this.#above.has(id) && !this.#isNote(id))
    const tops = [...roots.filter(isTop), ...roots.filter(node => !isTop(node))]
    for (const root of tops) if (!this.#shownByParts(root.id)) this.#branch(root, '', '')
    for (const node of nodes)
      if (!this.#seen.has(node.id) && !this.#isAside(node.id)) this.#branch(node, '', '')
    return this.#lines.map(line => `${line}\n`).join('')
  }

  #branch(node: ViewNode, first: string, rest: string, edge?: ViewEdge): void {
    const below = (this.#below.get(node.id) ?? []).filter(({ to }) => this.#nodes.has(to))
    const again = this.#seen.has(node.id) && below.length > 0
    this.#lines.push(`${first}${textOf(node)}${again ? ' ↑' : ''}${whatIsWrong(edge)}`)
    if (this.#seen.has(node.id)) return
    this.#seen.add(node.id)
    const inner = below.length > 0 ? '│  ' : '   '
    for (const note of this.#notes(node.id)) this.#lines.push(`${rest}${inner}~ ${note}`)
    below.forEach((next, i) => {
      const last = i === below.length - 1
      const child = this.#nodes.get(next.to) as ViewNode
      this.#branch(child, `${rest}${last ? '└─ ' : '├─ '}`, `${rest}${last ? '   ' : '│  '}`, next)
    })
  }

  #notes(id: Locator): string[] {
    return (this.#above.get(id) ?? [])
      .filter(({ from }) => this.#isNote(from))
      .map(edge => `${textOf(this.#nodes.get(edge.from) as ViewNode)}${whatIsWrong(edge)}`)
  }

  /** Policies and grants stand beside what they are for, if that is there. */
  #isNote(id: Locator): boolean {
    const edges = this.#below.get(id) ?? []
    const aside = edges.length > 0 && edges.every(({ link }) => link === 'target' || link === 'grant')
    return aside && !this.#above.has(id) && edges.every(({ to }) => !this.#nodes.get(to)?.missing)
  }

  #isAside(id: Locator): boolean {
    return this.#isNote(id) || this.#shownByParts(id)
  }

  #shownByParts(id: Locator): boolean {
    const edges = this.#below.get(id) ?? []
    if (edges.length === 0 || this.#above.has(id)) return false
    return edges.every(({ link, to }) => link === 'section' && this.#seen.has(to))
  }
}

function byEnd(edges: readonly ViewEdge[], end: 'from' | 'to'): Map<Locator, ViewEdge[]> {
  const found = new Map<Locator, ViewEdge[]>()
  for (const edge of edges) {
    const held = found.get(edge[end])
    if (held) held.push(edge)
    else found.set(edge[end], [edge])
  }
  return found
}

/** What traffic comes through first is shown first. */
function isTop({ id, kind }: ViewNode): boolean {
  return kind === 'GatewayClass' || kind === 'Gateway' || id.startsWith('gateway')
}

function textOf(node: ViewNode): string {
  const health = node.health === undefined || node.health === 'ok' ? '' : ` [${node.health}]`
  return `${node.kind} ${nameOf(node)}${node.missing ? ' (missing)' : ''}${health}`
}

function whatIsWrong(edge: ViewEdge | undefined): string {
  if (!edge || edge.state === 'ok') return ''
  return `  ✗ ${edge.reason ? `${edge.reason.reason}: ${edge.reason.message}` : edge.state}`
}
