import type { KubeObject, ObjectMeta } from '../../src/core/index.js'

export interface Widget extends KubeObject {
  readonly spec: { readonly size: number }
  readonly status?: unknown
}

/** An object of a kind that only the store's tests know. */
export function aWidget(name: string, size = 0, metadata: Partial<ObjectMeta> = {}): Widget {
  return {
    apiVersion: 'example.test/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'shop', ...metadata },
    spec: { size },
  }
}

export const widgetKind = 'widget.example.test'
export const widgetKey = (name: string) => `${widgetKind}:shop/${name}`
