import { InvalidArgumentError, Option } from 'commander'
import type { View } from '../../topology/index.js'
import { toTree } from '../../topology/index.js'
import type { AddCommand, CommandContext } from '../context.js'
import { UsageError, exitCodeOf, exitCodes, fileOption, help, loadFiles } from '../context.js'
import type { TopologyFilter, TopologyFormat } from '../pipeline.js'
import { ask } from '../server.js'

interface Options extends TopologyFilter {
  readonly file: string[]
  readonly server?: string
  readonly output: 'tree' | TopologyFormat
}

export const addTopology: AddCommand = (program, context, done) => {
  program
    .command('topology')
    .description('print the graph of objects: of manifests, or of a running control plane')
    .addOption(fileOption())
    .option('--server <url>', 'ask this control plane instead of reading files')
    .addOption(
      new Option('-o, --output <format>', 'how').choices(['tree', 'dot', 'mermaid', 'json']).default('tree'),
    )
    .option('--kind <kind...>', 'only these kinds')
    .option('--namespace <namespace>', 'only this namespace')
    .option('--name <name>', 'only this name')
    .option(
      '--root <locator>',
      'only what can be reached from here, for example gateway.gateway.networking.k8s.io:default/edge',
      locator,
    )
    .option('--depth <edges>', 'so many edges away from --root', wholeNumber)
    .addHelpText(
      'after',
      help('gatewright topology -f examples/quickstart -o dot | dot -Tsvg > quickstart.svg'),
    )
    .action(async (options: Options) => {
      if (options.depth !== undefined && options.root === undefined) {
        throw new UsageError('--depth needs --root: the node to count from')
      }
      const { file, server, output, ...filter } = options
      const format = output === 'tree' ? 'json' : output
      const [text, code] =
        server === undefined
          ? await offline(context, file, filter, format)
          : [await ask(server, '/v1/topology', { ...filter, format }), exitCodes.ok]
      const shown = output === 'tree' ? toTree(JSON.parse(text) as View) : text
      if (shown === '') context.terminal.err('no object to show\n')
      else context.terminal.out(shown.endsWith('\n') ? shown : `${shown}\n`)
      done(code)
    })
}

async function offline(
  context: CommandContext,
  file: string[],
  filter: TopologyFilter,
  format: TopologyFormat,
) {
  const { objects, problems } = await loadFiles(context, file)
  const text = (await context.pipeline()).translate(objects).topology(filter, format)
  return [text, exitCodeOf(problems)] as const
}

function locator(text: string): string {
  if (/^[^:/#]+:([^/#]+\/)?[^/#]+(#.+)?$/.test(text)) return text
  throw new InvalidArgumentError('a locator is wanted, KIND.GROUP:NAMESPACE/NAME: the `id` of -o json.')
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a whole number is wanted.')
  return Number(text)
}
