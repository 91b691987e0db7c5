import type { View } from './view.js'

/** The view as JSON text; the same view gives the same bytes. */
export function toJSON(view: View): string {
  return `${JSON.stringify(view, null, 2)}\n`
}
