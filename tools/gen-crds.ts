/** Writes the CustomResourceDefinitions of our own group from the schemas that validation uses. */
import { writeFileSync, mkdirSync } from 'node:fs'
import { stringify } from 'yaml'
import { groups, kinds } from '../src/kinds/index.js'
import type { KindRow, Schema } from '../src/kinds/index.js'

const directory = new URL('../charts/gatewright/crds/', import.meta.url)

/** Without the fields that every object has: the API server adds them itself. */
function ownFields(schema: Schema): Schema {
  const { metadata: _metadata, ...properties } = schema.properties ?? {}
  return { ...schema, properties: { ...properties, metadata: { type: 'object' } } }
}

function definition(row: KindRow): object {
  const { group, kind, plural, namespaced, versions } = row
  const names = {
    kind,
    listKind: `${kind}List`,
    plural,
    singular: kind.toLowerCase(),
    categories: ['gatewright'],
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      versions: versions.map((name, at) => ({
        name,
        served: true,
        storage: at === 0,
        subresources: { status: {} },
        additionalPrinterColumns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
        schema: { openAPIV3Schema: ownFields(row.schema(name)) },
      })),
    },
  }
}

mkdirSync(directory, { recursive: true })
for (const row of kinds.filter(({ group }) => group === groups.gatewright)) {
  const file = new URL(`${row.plural}.${row.group}.gen.yaml`, directory)
  const source = `# Generated from src/kinds by tools/gen-crds.ts (npm run gen): change it there.\n`
  writeFileSync(file, source + stringify(definition(row), { lineWidth: 0, aliasDuplicateObjects: false }))
}
