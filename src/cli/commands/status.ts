import { Option } from 'commander'
import { stringify } from 'yaml'
import type { KubeObject, Problem } from '../../core/index.js'
import { locatorOf } from '../../core/index.js'
import type { Status, StatusRow } from '../../status/index.js'
import { statusTable } from '../../status/index.js'
import type { AddCommand, CommandContext } from '../context.js'
import { exitCodeOf, fileOption, help, loadFiles } from '../context.js'
import { ask } from '../server.js'
import type { Terminal } from '../terminal.js'
import { paint, problemLines, table } from '../text.js'

interface Options {
  readonly file: string[]
  readonly server?: string
  readonly output: 'table' | 'yaml' | 'json'
}

type Judged = KubeObject & { readonly status?: Status }

interface Report {
  readonly rows: readonly StatusRow[]
  readonly objects: readonly KubeObject[]
  readonly problems: readonly Problem[]
}

export const addStatus: AddCommand = (program, context, done) => {
  program
    .command('status')
    .description('print the conditions of every object, as Kubernetes would hold them')
    .addOption(fileOption())
    .option('--server <url>', 'ask this control plane instead of reading files')
    .addOption(new Option('-o, --output <format>', 'how').choices(['table', 'yaml', 'json']).default('table'))
    .addHelpText(
      'after',
      help('gatewright status -f examples/quickstart\ngatewright status --server http://127.0.0.1:15000'),
    )
    .action(async (options: Options) => {
      const { terminal } = context
      const { rows, objects, problems } =
        options.server === undefined
          ? await offline(context, options.file)
          : await online(options.server, terminal)
      if (options.output === 'table') terminal.out(statusText(rows, terminal.colour))
      else terminal.out(list(objects, options.output))
      done(exitCodeOf(problems))
    })
}

async function offline(context: CommandContext, file: string[]): Promise<Report> {
  const { objects, problems } = await loadFiles(context, file)
  const judged: readonly Judged[] = (await context.pipeline()).translate(objects).statuses()
  const statuses = new Map(judged.map(object => [locatorOf(object), object.status]))
  return { rows: statusTable(judged, locator => statuses.get(locator)), objects: judged, problems }
}

async function online(server: string, terminal: Terminal): Promise<Report> {
  const report = JSON.parse(await ask(server, '/v1/status')) as {
    conditions: StatusRow[]
    problems: Problem[]
  }
  const { items } = JSON.parse(await ask(server, '/v1/resources')) as { items: Judged[] }
  terminal.err(problemLines(report.problems, terminal.colour))
  const objects = items.filter(object => object.status !== undefined)
  return { rows: report.conditions, objects, problems: report.problems }
}

function list(items: readonly KubeObject[], format: 'yaml' | 'json'): string {
  const whole = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items }
  return format === 'json'
    ? `${JSON.stringify(whole, null, 2)}\n`
    : stringify(whole, { aliasDuplicateObjects: false })
}

const columns = ['OBJECT', 'PART', 'CONDITION', 'STATUS', 'REASON', 'MESSAGE']

function statusText(rows: readonly StatusRow[], colour: boolean): string {
  const cells = rows.map(row => [
    `${row.kind} ${row.namespace === undefined ? '' : `${row.namespace}/`}${row.name}`,
    row.part ?? '',
    row.type,
    row.status,
    row.reason,
    row.message.replaceAll('\n', ' '),
  ])
  return table([columns, ...cells], (cell, column, at) => {
    if (at === 0) return paint(cell, 'dim', colour)
    return column === 3 ? paint(cell, cell === 'True' ? 'green' : 'yellow', colour) : cell
  })
}
