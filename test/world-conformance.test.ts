/** Every world keeps every promise of src/core/contract.ts, and the suite detects a world that breaks one. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { present } from '../src/core/index.ts'
import { bundled } from './support/world-bundle.ts'
import { PROMISES, runCheck } from './support/world-conformance.ts'
import { HONEST, MUTATIONS } from './support/world-mutations.ts'
import { realLoop } from './support/world-real-loop.ts'
import { timed, untimed } from './support/world-workbench.ts'

const WORLDS = [realLoop, timed, untimed, bundled]

describe.each(WORLDS)('$name', (world) => {
  const concerned = PROMISES.filter(({ promise }) => world.lacks[promise] === undefined).map((each) => ({
    ...each,
    ...present(MUTATIONS[each.promise], `a mutation for ${each.promise}`),
  }))

  it.each(concerned)('keeps promise $promise', async ({ check }) => {
    await expect(runCheck(world, check, () => HONEST)).resolves.toBeUndefined()
  })

  it.each(concerned)('is caught when it $broken ($promise)', async ({ check, mutation }) => {
    // An expectation of the suite must fail, and nothing else.
    await expect(runCheck(world, check, mutation)).rejects.toMatchObject({ name: 'AssertionError' })
  })

  it('gives a reason for every promise that it does not make', () => {
    const promises = PROMISES.map(({ promise }) => promise)
    expect(promises).toEqual(expect.arrayContaining(Object.keys(world.lacks)))
  })
})

describe('the suite', () => {
  it('has one check per promise of the contract', () => {
    const contract = readFileSync(new URL('../src/core/contract.ts', import.meta.url), 'utf8')
    const promised = [...contract.matchAll(/^ \* +(\d+)\. ([A-Z][a-z ]+)\./gm)].map(
      ([, number, name]) => `${number} ${name?.toLowerCase()}`,
    )
    expect(PROMISES.map(({ promise }) => promise)).toEqual(promised)
  })
})
