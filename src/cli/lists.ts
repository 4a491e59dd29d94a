/** `conclave specs` and `conclave protocols`: what there is. */
import { Command } from 'commander'
import { z } from 'zod'
import { protocols } from '../protocols/index.ts'
import { goals, specs } from '../workbench/specs/index.ts'
import { formatTable, paint, print, printJson } from './output.ts'

export function specsCommand(): Command {
  return new Command('specs')
    .description('list the specifications: what is checked, and where it comes from')
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
      print('Goals, which a thorough run must reach:')
      print(formatTable(goals.map(({ name, title }) => [`  ${name}`, title])))
    })
}

const EXAMPLE_NODES = [1, 2, 3]

export function protocolsCommand(): Command {
  return new Command('protocols')
    .description('list the protocols with their options')
    .option('--json', 'print one JSON object, with the options as JSON Schema')
    .addHelpText('after', '\nExample:\n  conclave protocols')
    .action((flags: { readonly json?: true }) => {
      if (flags.json === true) {
        const shown = protocols.map(
          ({ name, title, source, kinds, prefers, promises, options, commands }) => ({
            name,
            title,
            source,
            messages: kinds,
            prefers,
            specs: promises,
            options: z.toJSONSchema(options(EXAMPLE_NODES), { io: 'input' }),
            commands: z.toJSONSchema(commands(EXAMPLE_NODES), { io: 'input' }),
          }),
        )
        printJson({ protocols: shown })
        return
      }
      for (const { name, title, source, prefers, promises, options } of protocols) {
        print(`${paint('bold', name)}: ${title}`)
        print(`  ${paint('dim', source)}`)
        print(`  prefers the ${prefers} id; promises ${promises.join(', ')}`)
        print('  options:')
        print(optionTable(z.toJSONSchema(options(EXAMPLE_NODES), { io: 'input' })))
      }
    })
}

function optionTable({ properties = {} }: z.core.JSONSchema.BaseSchema): string {
  return formatTable(
    Object.entries(properties).map(([name, schema]) => {
      const { default: byDefault, description = '' } = schema as z.core.JSONSchema.BaseSchema
      return [`    ${name}`, byDefault === undefined ? '' : JSON.stringify(byDefault), description]
    }),
  )
}
