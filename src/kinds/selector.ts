import type { LabelSelector } from './types.js'

/** Whether labels meet a selector (meta/v1 LabelSelector): all of its requirements; an empty one meets all. */
export function selects(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const equalities = Object.entries(selector.matchLabels ?? {})
  if (!equalities.every(([key, value]) => labels[key] === value)) return false
  return (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const label = labels[key]
    if (operator === 'In') return label !== undefined && values.includes(label)
    if (operator === 'NotIn') return label === undefined || !values.includes(label)
    return (operator === 'Exists') === (label !== undefined)
  })
}
