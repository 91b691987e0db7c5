import { Option } from 'commander'
import type { AddCommand } from '../context.js'
import { exitCodeOf, fileOption, help, loadFiles } from '../context.js'
import { count, problemLines } from '../text.js'

export const addValidate: AddCommand = (program, context, done) => {
  program
    .command('validate')
    .description('say everything that is wrong with manifests: YAML, schema, unknown fields, CEL rules')
    .addOption(fileOption())
    .addOption(new Option('-o, --output <format>', 'how').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      help('gatewright validate -f examples/quickstart\nkubectl kustomize . | gatewright validate -f -'),
    )
    .action(async (options: { file: string[]; output: 'text' | 'json' }) => {
      const { terminal } = context
      const { objects, problems } = await loadFiles(context, options.file, true)
      if (options.output === 'json') {
        terminal.out(`${JSON.stringify({ objects: objects.length, problems }, null, 2)}\n`)
      } else {
        terminal.out(problemLines(problems, terminal.colour))
        const wrong = problems.length === 0 ? 'no problems' : count(problems.length, 'problem')
        terminal.out(`${count(objects.length, 'object')}, ${wrong}\n`)
      }
      done(exitCodeOf(problems))
    })
}
