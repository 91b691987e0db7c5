import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { PersistentMap, diff } from '../../src/collections/persistent-map.js'

/** Hashes that collide often, at the first level, only deep down, or never: every shape of the trie. */
const hashes: Readonly<Record<string, ((key: string) => number) | undefined>> = {
  'its own hash': undefined,
  'one hash for all': () => 7,
  'three hashes': key => key.length % 3,
  'hashes that differ in the last two bits only': key => (key.charCodeAt(0) || 0) << 30,
  'negative hashes': key => -1 - (key.charCodeAt(0) || 0),
}

type Edit = readonly [key: string, value: number | null]
type Version = readonly [map: PersistentMap<number>, model: Map<string, number>]

const edits: fc.Arbitrary<Edit[]> = fc.array(
  fc.tuple(
    fc.string({ maxLength: 3, unit: fc.constantFrom('a', 'b', 'c', 'd', 'ü') }),
    fc.option(fc.integer({ max: 3, min: 0 }), { nil: null }),
  ),
  { maxLength: 60 },
)

function edited([map, model]: Version, list: readonly Edit[]): Version {
  let next = map
  const nextModel = new Map(model)
  for (const [key, value] of list) {
    next = value === null ? next.delete(key) : next.set(key, value)
    if (value === null) nextModel.delete(key)
    else nextModel.set(key, value)
  }
  return [next, nextModel]
}

const byKey = <E extends readonly [string, ...unknown[]]>([a]: E, [b]: E) => (a < b ? -1 : 1)
const sorted = (entries: Iterable<[string, number]>) => [...entries].sort(byKey)

for (const [name, hash] of Object.entries(hashes)) {
  const nothing: Version = [PersistentMap.empty<number>(hash), new Map()]

  t.test(`persistent map with ${name}`, t => {
    t.test('behaves as a Map, and older versions stay as they were', t => {
      const holds = (first: Edit[], second: Edit[]) => {
        const one = edited(nothing, first)
        const before = sorted(one[0].entries())
        const [map, model] = edited(one, second)
        assert.deepEqual(sorted(map.entries()), sorted(model.entries()))
        assert.equal(map.size, model.size)
        for (const [key] of [...first, ...second]) {
          assert.equal(map.get(key), model.get(key))
          assert.equal(map.has(key), model.has(key))
        }
        assert.deepEqual(sorted(one[0].entries()), before)
      }
      fc.assert(fc.property(edits, edits, holds), { numRuns: 150 })
      t.end()
    })

    t.test('one edit of many changes is the same as the changes one by one', t => {
      const holds = (first: Edit[], second: Edit[]) => {
        const one = edited(nothing, first)
        const [, model] = edited(one, second)
        const map = one[0].edit(draft => {
          for (const [key, value] of second) {
            if (value === null) draft.delete(key)
            else draft.set(key, value)
          }
        })
        assert.deepEqual(sorted(map.entries()), sorted(model.entries()))
        assert.equal(map.size, model.size)
        assert.deepEqual(sorted(one[0].entries()), sorted(one[1].entries()))
      }
      fc.assert(fc.property(edits, edits, holds), { numRuns: 150 })
      t.end()
    })

    t.test('diff says what a comparison of two Maps says', t => {
      const holds = (first: Edit[], second: Edit[], related: boolean) => {
        const [one, oneModel] = edited(nothing, first)
        const [two, twoModel] = edited(related ? [one, oneModel] : nothing, second)
        const wanted = [...new Set([...oneModel.keys(), ...twoModel.keys()])]
          .filter(key => oneModel.get(key) !== twoModel.get(key))
          .map(key => [key, oneModel.get(key), twoModel.get(key)] as const)
        const found = [...diff(one, two)].map(change => [change.key, change.old, change.new] as const)
        assert.deepEqual(found.sort(byKey), wanted.sort(byKey))
      }
      fc.assert(fc.property(edits, edits, fc.boolean(), holds), { numRuns: 300 })
      t.end()
    })

    t.test('the order of entries depends on the content alone, whatever was there meanwhile', t => {
      const holds = (list: Edit[]) => {
        const [map, model] = edited(nothing, list)
        const backwards = sorted(model.entries()).reverse()
        assert.deepEqual([...map.keys()], [...edited(nothing, backwards)[0].keys()])
      }
      fc.assert(fc.property(edits, holds), { numRuns: 150 })
      t.end()
    })
    t.end()
  })
}

t.test('diff does not enter what both versions share', t => {
  const one = PersistentMap.from(Array.from({ length: 20_000 }, (_, n) => [`key-${n}`, n] as const))
  const two = one.set('key-77', 0)
  const [a, b] = [one.root, two.root]
  assert(a?.kind === 'branch' && b?.kind === 'branch')
  const shared = a.slots.filter((slot, at) => slot === b.slots[at])
  t.equal(shared.length, 31)
  const get = () => {
    throw new Error('entered')
  }
  for (const slot of shared) Object.defineProperty(slot, 'kind', { get })
  t.strictSame([...diff(one, two)], [{ key: 'key-77', old: 77, new: 0 }])
  t.throws(() => [...one.keys()], /entered/, 'the trap works')
  t.end()
})

t.test('setting what is there and deleting what is not give the very same map', t => {
  const map = PersistentMap.from<number>([['a', 1]])
  t.equal(map.set('a', 1), map)
  t.equal(map.delete('b'), map)
  const unchanged = map.edit(draft => {
    draft.set('a', 1)
  })
  t.equal(unchanged, map)
  t.end()
})

t.test('a closed draft changes nothing more', t => {
  const draft = PersistentMap.from<number>([['a', 1]]).draft()
  draft.set('b', 2)
  const map = draft.close()
  t.throws(() => draft.set('c', 3), /closed/)
  t.throws(() => draft.delete('a'), /closed/)
  t.equal(map.size, 2)
  t.end()
})
