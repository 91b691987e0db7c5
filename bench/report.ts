/** How every bench measures and prints: medians over N, the exponent of growth, and the goal beside it. */

/** The sizes that every bench is run at. */
export const sizes = [100, 1_000, 5_000, 10_000] as const

export interface Runs<T> {
  readonly times: number
  /** Runs before those, which do not count. Default: a third of them. */
  readonly warm?: number
  /** Makes what a run is given; not timed. */
  readonly prepare?: (turn: number) => T
}

/** The median of `times` runs in milliseconds. */
export function median<T>(run: (prepared: T) => unknown, options: Runs<T>): number {
  return middle(samples(run, options))
}

/** The median, and the best run: what remains of it when others use the machine. */
export function measured<T>(n: number, run: (prepared: T) => unknown, options: Runs<T>): Measured {
  const all = samples(run, options)
  return { n, value: middle(all), best: Math.min(...all) }
}

/** How long each of `times` runs took, in milliseconds. */
export function samples<T>(run: (prepared: T) => unknown, options: Runs<T>): number[] {
  const all: number[] = []
  const warm = options.warm ?? Math.ceil(options.times / 3)
  for (let turn = 0; turn < warm + options.times; turn++) {
    const prepared = options.prepare?.(turn) as T
    const start = performance.now()
    run(prepared)
    const took = performance.now() - start
    if (turn >= warm) all.push(took)
  }
  return all
}

/** The middle of the samples (the upper one of two). NaN for none. */
export function middle(samples: readonly number[]): number {
  return [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 2)] ?? NaN
}

/** The value below which the share `p` (0 to 1) of the samples lies. */
export function percentile(samples: readonly number[], p: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? NaN
}

export interface Measured {
  readonly n: number
  /** Milliseconds, unless the bench has a unit of its own. */
  readonly value: number
  /** The least of what was measured. */
  readonly best?: number
}

/** k of `value ∝ n^k`, by least squares over the logarithms. */
export function exponent(points: readonly Measured[]): number {
  const logs = points.map(({ n, value }) => [Math.log(n), Math.log(value)] as const)
  const mean = (of: 0 | 1) => logs.reduce((sum, point) => sum + point[of], 0) / logs.length
  const [x, y] = [mean(0), mean(1)]
  const over = logs.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0)
  return over / logs.reduce((sum, [a]) => sum + (a - x) ** 2, 0)
}

export interface Bench {
  readonly name: string
  /** What one measurement does. */
  readonly work: string
  /** Default `ms`. */
  readonly unit?: string
  readonly points: readonly Measured[]
  /** What others need for the same work, by N, in the same unit. */
  readonly anchors?: { readonly of: string; readonly at: ReadonlyMap<number, number> }
  readonly goals?: {
    /** The most that a measurement at N may be. */
    readonly at?: ReadonlyMap<number, number>
    /** The most that the exponent may be. */
    readonly exponent?: number
  }
}

/** The bench as a table of text. */
export function report(bench: Bench): string {
  const unit = bench.unit ?? 'ms'
  const { anchors, goals } = bench
  const head = ['N', `median ${unit}`, 'best', 'goal', 'met', anchors?.of ?? '']
  const rows = bench.points.map(({ n, value, best }) => {
    const goal = goals?.at?.get(n)
    const anchor = anchors?.at.get(n)
    return [
      n.toLocaleString('en'),
      figure(value),
      best === undefined ? '' : figure(best),
      goal === undefined ? '' : `<= ${figure(goal)}`,
      verdict(value, goal),
      anchor === undefined ? '' : `${figure(anchor)} (${figure(anchor / value)} times ours)`,
    ]
  })
  const k = exponent(bench.points)
  const most = goals?.exponent
  const growth = ['exponent', k.toFixed(2), '', most === undefined ? '' : `<= ${most}`, verdict(k, most), '']
  return [`${bench.name}: ${bench.work}`, ...align([head, ...rows, growth]), ''].join('\n')
}

export function printReport(bench: Bench): void {
  console.log(report(bench))
}

function verdict(value: number, most: number | undefined): string {
  if (most === undefined) return ''
  return value <= most ? 'yes' : 'NO'
}

function figure(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return Number(value.toPrecision(3)).toString()
}

function align(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows.map(row => `  ${row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  ')}`)
}
