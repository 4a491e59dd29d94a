import { describe, expect, it } from 'vitest'
import { protocolNamed, protocols } from '../../../../../src/protocols/index.ts'
import type { CommandForm } from '../picture.ts'
import { commandForms } from './commands.ts'

const formsOf = (name: string): readonly CommandForm[] => {
  const definition = protocolNamed(name)
  return definition === null ? [] : commandForms(definition, [1, 2, 3])
}

/** A command as a person would fill it in. */
function filled({ name, fields }: CommandForm): object {
  const values = { node: 2, nodes: [1, 2], number: 10, text: 'a', boolean: true }
  return { do: name, ...Object.fromEntries(fields.map((field) => [field.name, values[field.type]])) }
}

describe('commandForms', () => {
  it('offers the commands of local-leader, and handing over as one of its own', () => {
    expect(formsOf('local-leader').map(({ name, title }) => [name, title])).toEqual([
      ['stepDown', 'Step down'],
      ['stepDown', 'Step down in favour of a node'],
      ['campaign', 'Be willing to lead, or not'],
      ['setPriority', 'Set its priority'],
      ['addVoter', 'Add a voter'],
      ['removeVoter', 'Remove a voter'],
      ['setLeaseBounds', 'Set the bounds of its leases'],
    ])
  })

  it('offers nothing that needs more than a form', () => {
    expect(formsOf('recovery').map(({ name }) => name)).not.toContain('uploaded')
  })

  it.each(protocols.map(({ name }) => name))('gives commands that %s accepts, each with words', (name) => {
    const schema = protocolNamed(name)?.commands([1, 2, 3])
    for (const form of formsOf(name)) {
      expect(schema?.safeParse(filled(form)).error).toBeUndefined()
      expect(form.title).not.toBe(form.name)
    }
  })
})
