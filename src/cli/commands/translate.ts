import { Option } from 'commander'
import { stringify } from 'yaml'
import type { Locator } from '../../core/index.js'
import { parseLocator } from '../../core/index.js'
import type { AddCommand } from '../context.js'
import { UsageError, exitCodeOf, fileOption, help, loadFiles } from '../context.js'
import type { Translation } from '../pipeline.js'

interface Options {
  readonly file: string[]
  readonly to: 'xds' | 'model'
  readonly output: 'yaml' | 'json'
  readonly gateway?: string
}

export const addTranslate: AddCommand = (program, context, done) => {
  program
    .command('translate')
    .description('print what manifests come to, with nothing running: Envoy resources, or the neutral model')
    .addOption(fileOption())
    .addOption(new Option('--to <form>', 'what to print').choices(['xds', 'model']).default('xds'))
    .addOption(new Option('-o, --output <format>', 'how').choices(['yaml', 'json']).default('yaml'))
    .option('--gateway <namespace/name>', 'this Gateway alone')
    .addHelpText(
      'after',
      help('gatewright translate -f examples/quickstart --to xds --gateway default/quickstart'),
    )
    .action(async (options: Options) => {
      const { objects, problems } = await loadFiles(context, options.file)
      const translation = (await context.pipeline()).translate(objects)
      const documents = chosen(translation, options.gateway).map(gateway => ({
        gateway: nameOf(gateway),
        ...(options.to === 'xds'
          ? { resources: translation.xds(gateway) }
          : { model: translation.model(gateway) }),
      }))
      context.terminal.out(print(documents, options.output))
      done(exitCodeOf(problems))
    })
}

const nameOf = (gateway: Locator) => {
  const { namespace, name } = parseLocator(gateway)
  return `${namespace ?? ''}/${name}`
}

function chosen({ gateways }: Translation, name: string | undefined): readonly Locator[] {
  if (name === undefined) return gateways
  const found = gateways.filter(gateway => nameOf(gateway) === name)
  if (found.length > 0) return found
  const names = gateways.map(nameOf).join(', ')
  throw new UsageError(
    `there is no Gateway ${name} of ours; ${names === '' ? 'there is none at all' : `there are: ${names}`}`,
  )
}

function print(documents: readonly object[], format: 'yaml' | 'json'): string {
  if (format === 'json') return `${JSON.stringify(documents, null, 2)}\n`
  // Repeated parts are written out: an anchor would be noise to a reader.
  return documents.map(document => stringify(document, { aliasDuplicateObjects: false })).join('---\n')
}
