// Writes src/kinds/schemas/*.gen.json: the schemas of the Gateway API's CRDs (experimental channel), without prose.
// Source: the Go module below, from the module cache or proxy. Needs Go. The same version gives the same bytes.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'

const MODULE = 'sigs.k8s.io/gateway-api'
const VERSION = 'v1.6.3'
const CHANNEL = 'config/crd/experimental'
const out = fileURLToPath(new URL('../src/kinds/schemas/', import.meta.url))

function moduleDir() {
  const answer = execFileSync('go', ['mod', 'download', '-json', `${MODULE}@${VERSION}`], {
    encoding: 'utf8',
  })
  return JSON.parse(answer).Dir
}

/** A schema without descriptions; a field that is called `description` stays. */
function bare(schema) {
  if (Array.isArray(schema)) return schema.map(bare)
  if (typeof schema !== 'object' || schema === null) return schema
  const kept = Object.entries(schema).filter(([key]) => key !== 'description')
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (key === 'properties') return [key, fields(value)]
      return [key, key === 'default' || key === 'enum' ? value : bare(value)]
    }),
  )
}

const fields = properties =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, bare(schema)]))

/** The root without apiVersion, kind and metadata, which are the same for every kind and added on loading. */
function root(schema) {
  const { apiVersion, kind, metadata, ...properties } = bare(schema).properties
  return { ...bare(schema), properties }
}

/** Every served version; one that is equal to an earlier one is only that one's name. */
function versionsOf(crd) {
  const seen = new Map()
  const served = crd.spec.versions.filter(version => version.served)
  return Object.fromEntries(
    served.map(({ name, schema }) => {
      const content = root(schema.openAPIV3Schema)
      const text = JSON.stringify(content)
      const same = seen.get(text)
      seen.set(text, same ?? name)
      return [name, same ?? content]
    }),
  )
}

const source = join(moduleDir(), CHANNEL)
for (const file of readdirSync(source).sort()) {
  for (const document of parseAllDocuments(readFileSync(join(source, file), 'utf8'))) {
    const crd = document.toJS()
    if (crd?.kind !== 'CustomResourceDefinition') continue
    const { group, names, scope } = crd.spec
    const content = {
      generated: `by tools/gen-kinds.mjs from ${MODULE} ${VERSION}, ${CHANNEL}/${file}`,
      group,
      kind: names.kind,
      plural: names.plural,
      namespaced: scope === 'Namespaced',
      versions: versionsOf(crd),
    }
    const name = `${names.kind.toLowerCase()}.gen.json`
    writeFileSync(join(out, name), `${JSON.stringify(content, undefined, 1)}\n`)
    console.log(`${name}: ${Object.keys(content.versions).join(' ')}`)
  }
}
