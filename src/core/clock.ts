/** Time, injected: production uses {@link systemClock}, tests advance a manual one. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Runs `run` once after `ms` milliseconds; returns its undo. Never keeps the process alive. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

export interface ManualClock extends Clock {
  /** Moves time forward and runs what has come due, in order of time. */
  advance(ms: number): void
}

/** A clock that stands still until it is advanced. */
export function manualClock(start = 0): ManualClock {
  let now = start
  const due = new Set<{ at: number; run: () => void }>()
  const next = (limit: number) => [...due].filter(entry => entry.at <= limit).sort((a, b) => a.at - b.at)[0]
  return {
    now: () => now,
    after(ms, run) {
      const entry = { at: now + ms, run }
      due.add(entry)
      return () => void due.delete(entry)
    },
    advance(ms) {
      const end = now + ms
      for (let entry = next(end); entry; entry = next(end)) {
        due.delete(entry)
        now = Math.max(now, entry.at)
        entry.run()
      }
      now = end
    },
  }
}
