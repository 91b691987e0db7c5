import { setImmediate } from 'node:timers/promises'

/** Maps many items, giving the event loop back every 10 ms. */
export async function inSlices<I, O>(items: readonly I[], map: (item: I) => O): Promise<O[]> {
  const results: O[] = []
  let sliceEnd = performance.now() + 10
  for (const item of items) {
    if (performance.now() > sliceEnd) {
      await setImmediate()
      sliceEnd = performance.now() + 10
    }
    results.push(map(item))
  }
  return results
}
