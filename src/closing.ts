/** What was started, stopped in reverse. */
export interface Closing {
  add(undo: () => unknown): void
  close(): Promise<void>
}

export function createClosing(): Closing {
  const undo: (() => unknown)[] = []
  return {
    add: each => void undo.push(each),
    async close() {
      for (const each of undo.splice(0).reverse()) await each()
    },
  }
}

/** Runs `start`; what it added to be stopped is stopped at once if it fails. */
export async function startedWith<T>(start: (closing: Closing) => Promise<T>): Promise<T> {
  const closing = createClosing()
  try {
    return await start(closing)
  } catch (error) {
    await closing.close()
    throw error
  }
}
