/** Gives the event loop back once: what waits for it (sockets, timers) comes first. */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
