const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** Milliseconds of a Gateway API Duration (GEP-2257): one to four parts such as `1h30m`; `undefined` if it is none. */
export function durationMs(text: string): number | undefined {
  if (!/^(\d{1,5}(h|ms|m|s)){1,4}$/.test(text)) return undefined
  let sum = 0
  for (const [, digits, unit] of text.matchAll(/(\d+)(h|ms|m|s)/g)) {
    sum += Number(digits) * (unitMs[unit as string] as number)
  }
  return sum
}
