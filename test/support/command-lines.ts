/** Checks command lines and variables in files that start conclave. */
import type { Command } from 'commander'
import { agentCommand } from '../../src/cli/agent.ts'
import { runCommand } from '../../src/cli/run.ts'
import { variableOf } from '../../src/service/config/index.ts'
import { KNOWN_FIELDS } from '../../src/service/config/schema.ts'

const COMMANDS: { readonly [name: string]: () => Command } = { agent: agentCommand, run: runCommand }

/** The flags of a command line that its command does not know. The first two words are conclave and the command. */
export function unknownFlags(words: readonly string[]): readonly string[] {
  const [, name = '', ...rest] = words
  const known = COMMANDS[name]?.().options.map(({ long }) => long) ?? []
  const end = rest.indexOf('--')
  const own = end < 0 ? rest : rest.slice(0, end)
  return own.filter((word) => word.startsWith('--') && !known.includes(word))
}

export const isVariable = (name: string): boolean => KNOWN_FIELDS.some((field) => variableOf(field) === name)
