/** What was started, stopped in reverse. */
export interface Closing {
  add(undo: () => unknown): void
  /** Stops all of it, also where stopping something fails; rejects then with what failed first. */
  close(): Promise<void>
}

function createClosing(): Closing {
  const undo: (() => unknown)[] = []
  return {
    add: each => void undo.push(each),
    async close() {
      const failures: unknown[] = []
      for (const each of undo.splice(0).reverse()) {
        try {
          await each()
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}

/** Runs `start`; what it added to be stopped is stopped at once if it fails, and what it failed with is told. */
export async function startedWith<T>(start: (closing: Closing) => Promise<T>): Promise<T> {
  const closing = createClosing()
  try {
    return await start(closing)
  } catch (error) {
    await closing.close().catch(() => undefined)
    throw error
  }
}
