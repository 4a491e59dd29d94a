/** The help of every command. */

import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { createProgram } from '../../dist/cli/commands.js'

type Named = { readonly name: string; readonly command: Command }

function walk(command: Command, path: string): readonly Named[] {
  const name = `${path} ${command.name()}`.trim()
  return [{ name, command }, ...command.commands.flatMap((each) => walk(each, name))]
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (each) => (text += each) })
  command.outputHelp()
  return text
}

const all = walk(await createProgram(''), '')
const leaves = all.filter(({ command, name }) => command.commands.length === 0 && !name.endsWith(' complete'))

it('lists all commands', () => {
  expect(all.map(({ name }) => name)).toContain('conclave job submit')
  expect(leaves.length).toBeGreaterThan(25)
})

it.each(leaves)('$name has --json, and an example that names it', ({ name, command }) => {
  const help = helpOf(command)
  expect(command.options.map(({ long }) => long)).toContain('--json')
  expect(help.split(/\nExamples?:\n/)[1] ?? '').toContain(name)
})

it.each(leaves)('$name describes each of its flags', ({ command }) => {
  for (const { flags, description } of command.options) expect([flags, description]).not.toContain('')
})

it('says how to see the stack of an error', () => {
  expect(helpOf(all[0]?.command ?? expect.fail('no program'))).toContain('CONCLAVE_DEBUG')
})
