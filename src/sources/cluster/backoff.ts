/** In ms, ± 20 % so that many do not try again at once: 1 s after the first failure, twice as long after each, a minute at most. */
export function delayAfter(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** (failures - 1)) * (0.8 + 0.4 * Math.random())
}
