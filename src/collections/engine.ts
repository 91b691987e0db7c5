import { nextTurn } from '../core/index.js'
import { Expanded, Grouped, Mapped, Rostered, United, type DerivedOptions } from './derived.js'
import { equal } from './equal.js'
import { indexOf, KeyedIndex } from './keyed-index.js'
import { keyedOf, type Keyed } from './keyed.js'
import { SourceCollection } from './source.js'
import type { CollectionOptions, Engine, EngineOptions } from './types.js'

/** An empty graph. Collections are made by its methods and live as long as it does. */
export function createEngine(options: EngineOptions = {}): Engine {
  const graph: Keyed<never>[] = []
  const add = <C>(collection: C): C => {
    graph.push(collection as Keyed<never>)
    return collection
  }
  const derivedOptions = <V>(name: string, own: CollectionOptions<V> = {}): DerivedOptions<V> => ({
    name,
    rank: graph.length,
    equal: own.equal ?? equal,
    onError: options.onError,
  })
  const run = createRun(graph)
  return {
    source: <V>(name: string, own: CollectionOptions<V> = {}) =>
      add(new SourceCollection<V>(name, graph.length, own.equal ?? equal)),
    derive: (name, from, fn, own) => add(new Mapped(derivedOptions(name, own), keyedOf(from), fn)),
    expand: (name, from, fn, own) => add(new Expanded(derivedOptions(name, own), keyedOf(from), fn)),
    index: (name, from, fn) => new KeyedIndex(name, keyedOf(from), fn),
    group: (name, index, fn, own) => add(new Grouped(derivedOptions(name, own), indexOf(index), fn)),
    union: (name, parts) => add(new United(derivedOptions(name), parts.map(keyedOf))),
    roster: (name, index) => add(new Rostered(name, graph.length, indexOf(index))),
    watch(of, listener) {
      const { watchers } = keyedOf(of)
      watchers.add(listener)
      return () => void watchers.delete(listener)
    },
    doubt: () => graph.forEach(collection => collection.doubt()),
    ...run,
    get flushing() {
      return run.flushing()
    },
  }
}

/** The flush: every collection once, in the order of making, then the watchers. */
function* settleAll(graph: readonly Keyed<never>[]): Generator<void, void> {
  for (const collection of graph) yield* collection.settle()
  for (const collection of graph) collection.announce()
}

function createRun(graph: readonly Keyed<never>[]) {
  let underWay: Generator<void, void> | undefined
  let sliced: Promise<void> | undefined
  const finish = (wave: Generator<void, void>) => {
    try {
      while (!wave.next().done);
    } finally {
      underWay = undefined
    }
  }
  const flush = () => {
    if (underWay) finish(underWay)
    finish((underWay = settleAll(graph)))
  }
  const inSlices = async (sliceMs: number, now: () => number) => {
    const wave = (underWay = settleAll(graph))
    try {
      while (underWay === wave && !runSlice(wave, now() + sliceMs, now)) await nextTurn()
    } finally {
      if (underWay === wave) underWay = undefined
    }
  }
  const flushSliced = async ({ sliceMs = 5, now = () => performance.now() } = {}) => {
    while (sliced) await sliced
    sliced = inSlices(sliceMs, now).finally(() => (sliced = undefined))
    await sliced
  }
  return { flush, flushSliced, flushing: () => underWay !== undefined }
}

/** Works until `deadline`; true when nothing is left. Looks at the clock every 32 pieces of work. */
function runSlice(wave: Generator<void, void>, deadline: number, now: () => number): boolean {
  for (let done = 0; ; done++) {
    if (wave.next().done) return true
    if (done % 32 === 31 && now() >= deadline) return false
  }
}
