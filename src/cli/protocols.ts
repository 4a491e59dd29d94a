/** `conclave protocols`: lists the protocols with their options. */
import { Command } from 'commander'
import { z } from 'zod'
import type { Definition } from '../core/index.ts'
import { protocols } from '../protocols/index.ts'
import { formatTable, paint, print, printJson } from './output.ts'

/** The schemas of options and commands depend on the nodes; these stand for any. */
const EXAMPLE_NODES = [1, 2, 3]

export function protocolsCommand(): Command {
  return new Command('protocols')
    .description('list the protocols with their options')
    .option('--json', 'print one JSON object, with the options as JSON Schema')
    .addHelpText('after', '\nExample:\n  conclave protocols')
    .action((flags: { readonly json?: true }) => {
      if (flags.json === true) printJson({ protocols: protocols.map(toJson) })
      else for (const definition of protocols) printProtocol(definition)
    })
}

function toJson({ name, title, source, kinds, prefers, promises, options, commands }: Definition) {
  return {
    name,
    title,
    source,
    messages: kinds,
    prefers,
    specs: promises,
    options: z.toJSONSchema(options(EXAMPLE_NODES), { io: 'input' }),
    commands: z.toJSONSchema(commands(EXAMPLE_NODES), { io: 'input' }),
  }
}

function printProtocol({ name, title, source, prefers, promises, options }: Definition): void {
  print(`${paint('bold', name)}: ${title}`)
  print(`  ${paint('dim', source)}`)
  print(`  prefers the ${prefers} id; promises ${promises.join(', ')}`)
  print('  options:')
  print(formatOptions(z.toJSONSchema(options(EXAMPLE_NODES), { io: 'input' })))
}

function formatOptions({ properties = {} }: z.core.JSONSchema.BaseSchema): string {
  return formatTable(
    Object.entries(properties).map(([name, schema]) => {
      const { default: byDefault, description = '' } = schema as z.core.JSONSchema.BaseSchema
      return [`    ${name}`, byDefault === undefined ? '' : JSON.stringify(byDefault), description]
    }),
  )
}
