/** `conclave specs`: lists the specifications and goals. */
import { Command } from 'commander'
import { goals, specs } from '../workbench/specs/index.ts'
import { formatTable, paint, print, printJson } from './output.ts'

export function specsCommand(): Command {
  return new Command('specs')
    .description('list the specifications: what each one checks, and its source')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  conclave specs --json')
    .action((flags: { readonly json?: true }) => {
      if (flags.json === true) {
        printJson({
          specs: specs.map(({ name, title, source, when }) => ({ name, title, source, when })),
          goals: goals.map(({ name, title }) => ({ name, title })),
        })
        return
      }
      for (const { name, title, source, when } of specs) {
        for (const line of [`${paint('bold', name)} (${when})`, `  ${title}`, `  ${paint('dim', source)}`])
          print(line)
      }
      print('')
      print('Goals that a thorough run must reach:')
      print(formatTable(goals.map(({ name, title }) => [`  ${name}`, title])))
    })
}
