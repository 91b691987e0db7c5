import type { KubeObject } from '../../../src/core/index.js'
import { randomOf } from '../../support/random.js'

type Json = string | number | boolean | null | Json[] | { [name: string]: Json }
type Holder = Json[] | { [name: string]: Json }

/** A place in a document: what is there can be read, replaced and taken away. */
interface Place {
  readonly holder: Holder
  readonly step: string | number
}

const isHolder = (value: Json | undefined): value is Holder => typeof value === 'object' && value !== null
const read = ({ holder, step }: Place): Json => (holder as Record<string | number, Json>)[step] as Json
const write = ({ holder, step }: Place, value: Json) => {
  ;(holder as Record<string | number, Json>)[step] = value
}

function placesIn(holder: Holder): Place[] {
  const steps = Array.isArray(holder) ? holder.map((_, i) => i) : Object.keys(holder)
  return steps.flatMap(step => {
    const place = { holder, step }
    const value = read(place)
    return isHolder(value) ? [place, ...placesIn(value)] : [place]
  })
}

interface Wild {
  readonly one: <T>(of: readonly T[]) => T
  /** Values that stand at a field of this name anywhere in a valid object. */
  readonly known: (name: string) => readonly Json[]
  readonly names: readonly string[]
}

const texts = [
  '',
  'A_*',
  'Nonsense',
  '*',
  '10.0.0.1',
  '1s',
  '0s',
  'a'.repeat(64),
  'a'.repeat(300),
  'é/ü',
  '%zz',
]
const numbers = [-1, 0, 1, 1.5, 65_535, 65_536, 2 ** 31, 2 ** 40, 1e30]
const others: readonly Json[] = ['text', 7, true, {}, [], 1.5, ['text'], { name: 'x' }]

/** What may befall a place; false where it does not apply. */
const accidents: readonly ((place: Place, wild: Wild) => boolean)[] = [
  function vanish({ holder, step }) {
    if (Array.isArray(holder)) holder.splice(Number(step), 1)
    else Reflect.deleteProperty(holder, step)
    return true
  },
  function turnNull(place) {
    write(place, null)
    return true
  },
  function changeType(place, { one }) {
    write(place, structuredClone(one(others)))
    return true
  },
  function changeText(place, { one }) {
    if (typeof read(place) !== 'string') return false
    write(place, one(texts))
    return true
  },
  function changeNumber(place, { one }) {
    if (typeof read(place) !== 'number') return false
    write(place, one(numbers))
    return true
  },
  function addUnknown(place) {
    const value = read(place)
    if (!isHolder(value) || Array.isArray(value)) return false
    value['unheardOf'] = 'x'
    return true
  },
  function repeatItem({ holder, step }) {
    if (!Array.isArray(holder)) return false
    holder.push(structuredClone(read({ holder, step })))
    return true
  },
  function flood(place, { one }) {
    const value = read(place)
    if (!Array.isArray(value) || value.length === 0) return false
    const times = one([2, 17, 65, 129])
    write(
      place,
      Array.from({ length: times }, (_, i) => structuredClone(value[i % value.length] as Json)),
    )
    return true
  },
  function empty(place) {
    const value = read(place)
    if (!isHolder(value)) return false
    write(place, Array.isArray(value) ? [] : {})
    return true
  },
  graft,
  graft,
  giveSibling,
  giveSibling,
]

/** Another value that the field has elsewhere: right by itself, and often wrong with what stands beside it. */
function graft(place: Place, { one, known }: Wild): boolean {
  const found = known(String(place.step))
  if (found.length === 0) return false
  write(place, structuredClone(one(found)))
  return true
}

/** Another field that stands beside this one in another object. */
function giveSibling({ holder }: Place, { one, known, names }: Wild): boolean {
  if (Array.isArray(holder)) return false
  const name = one(names)
  holder[name] = structuredClone(one(known(name)))
  return true
}

/** As many objects as asked for, each one of `sources` after one to three accidents; the same for the same seed. */
export function mutants(sources: readonly KubeObject[], count: number, seed: number): readonly KubeObject[] {
  const random = randomOf(seed)
  const one = <T>(of: readonly T[]) => of[Math.floor(random() * of.length)] as T
  const known = new Map<string, Map<string, Json[]>>()
  for (const object of sources) {
    const ofKind = known.get(object.kind) ?? new Map<string, Json[]>()
    known.set(object.kind, ofKind)
    for (const place of placesIn({ spec: (object as { spec?: Json }).spec ?? {} })) {
      if (typeof place.step === 'number') continue
      ofKind.set(place.step, [...(ofKind.get(place.step) ?? []), read(place)])
    }
  }
  return Array.from({ length: count }, () => {
    const object = structuredClone(one(sources))
    const ofKind = known.get(object.kind) ?? new Map<string, Json[]>()
    const wild = { one, known: (name: string) => ofKind.get(name) ?? [], names: [...ofKind.keys()] }
    for (let left = one([1, 1, 2, 3]); left > 0;) {
      const { spec = {}, metadata } = object as unknown as Record<string, Json>
      const places = placesIn(random() < 0.95 ? { spec } : (metadata as Holder))
      if (places.length === 0) break
      if (one(accidents)(one(places), wild)) left--
    }
    // Where it is to be made is not for the object to say.
    return { ...object, metadata: { ...object.metadata, namespace: 'default' } }
  })
}
