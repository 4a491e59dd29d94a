import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { findProtocol, loadProtocols } from './load.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-load-'))
afterAll(() => rmSync(folder, { recursive: true }))

function module(name: string, source: string): string {
  writeFileSync(join(folder, name), source)
  return join(folder, name)
}

it('finds the protocols of this package without a module', async () => {
  const { lookup, specsFor } = await loadProtocols(undefined)
  const bully = findProtocol(lookup, 'bully')
  expect(bully.name).toBe('bully')
  expect(specsFor(bully)).toEqual({})
})

it('finds the protocol of a module first, with its own specifications', async () => {
  const file = module(
    'own.mjs',
    `export const protocol = { name: 'own', create() {} }
     export const specs = [{ name: 'mine' }]`,
  )
  const { lookup, specsFor } = await loadProtocols(file)
  const own = findProtocol(lookup, 'own')
  expect(lookup.names[0]).toBe('own')
  expect(specsFor(own)).toEqual({ specs: [{ name: 'mine' }] })
  expect(specsFor(findProtocol(lookup, 'bully'))).toEqual({})
})

it.each([
  ['empty.mjs', '', 'the module must export `protocol`, a definition'],
  ['wrong.mjs', 'export const protocol = {}', 'the module must export `protocol`, a definition'],
  ['broken.mjs', 'throw new Error("first line\\nsecond line")', '1: Error: first line'],
])('refuses the module %s', async (name, source, problem) => {
  const file = module(name, source)
  const error = await loadProtocols(file).catch((each: unknown) => each)
  expect(error).toMatchObject({ name: 'UsageError', field: '--load' })
  expect((error as Error).message).toMatch(new RegExp(`^--load ${file}: ?${problem}`))
  expect((error as Error).message).not.toContain('\n')
})

it('lists the known protocols in the error for an unknown name', async () => {
  const { lookup } = await loadProtocols(undefined)
  expect(() => findProtocol(lookup, 'bulli')).toThrow(
    /^--protocol bulli: unknown protocol; use one of .*bully/,
  )
})
