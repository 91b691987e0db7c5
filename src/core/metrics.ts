import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/**
 * The metrics of one process; every room registers its own, with names that begin with `gatewright_`. Who asks for a
 * name again, as a second server does, is given the same one.
 */
export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[]): Counter
  gauge(name: string, help: string, labels?: readonly string[]): Gauge
  histogram(name: string, help: string, buckets: readonly number[], labels?: readonly string[]): Histogram
  /** Prometheus text exposition. */
  text(): Promise<string>
  readonly contentType: string
}

export function createMetrics(options: { processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry()
  if (options.processMetrics) collectDefaultMetrics({ register: registry })
  const base = (name: string, help: string, labels: readonly string[] = []) => ({
    name: `gatewright_${name}`,
    help,
    labelNames: [...labels],
    registers: [registry],
  })
  const held = (name: string) => registry.getSingleMetric(`gatewright_${name}`) as unknown
  return {
    counter: (name, help, labels) =>
      (held(name) as Counter | undefined) ?? new Counter(base(name, help, labels)),
    gauge: (name, help, labels) => (held(name) as Gauge | undefined) ?? new Gauge(base(name, help, labels)),
    histogram: (name, help, buckets, labels) =>
      (held(name) as Histogram | undefined) ??
      new Histogram({ ...base(name, help, labels), buckets: [...buckets] }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
