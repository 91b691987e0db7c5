import { nextTurn } from '../core/index.js'

/**
 * Makes a function that gives the event loop back, once more than `ms` milliseconds have passed since it last did.
 * Awaited between pieces of work, it keeps a long one from holding everything else up.
 */
export function pauses(ms = 8): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < ms) return
    await nextTurn()
    since = performance.now()
  }
}
