/**
 * The graph of all objects with its drawings, and beside it what the references of Gateways and routes come to:
 * listeners, attachment, grants, backends. The model is made from the latter.
 */
export type * from './types.js'
export { toDot } from './dot.js'
export type { Filter } from './filter.js'
export type { Path, Topology, TopologyOptions } from './graph.js'
export { createTopology } from './graph.js'
export { toJSON } from './json.js'
export type { Rules } from './links.js'
export { gatewayApi } from './links.js'
export { toMermaid } from './mermaid.js'
export type { Link, Node, NodeKind, Reference, Role, Section } from './node.js'
export { anyKind, anyPolicy, sectionNames } from './node.js'
export { toTree } from './tree.js'
export type { Decisions } from './verdicts.js'
export type { Health, Live, View, ViewEdge, ViewNode, ViewOptions } from './view.js'
export { whyNotAttached, type Attempt } from './attachment.js'
export { whyServiceRefused } from './backends.js'
export { whyNotGranted, type Grants, type ReferenceFrom, type ReferenceTo } from './grants.js'
export { keyOf } from './listeners.js'
export { resolveReferences, type References } from './references.js'
