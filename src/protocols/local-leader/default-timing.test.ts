/** The timing of real nodes whose configuration does not name it. */
import { expect, it } from 'vitest'
import type { PlainObject } from '../../core/index.ts'
import type { Asked, Chosen } from '../hosting.ts'
import { localLeaderHosting } from './hosting.ts'
import { localLeaderDefinition } from './index.ts'

const NODES = ['a', 'b', 'c']

function chosenFor(asked: Omit<Asked, 'id'>, nodes: readonly string[] = NODES): Chosen {
  return localLeaderHosting.optionsFor({ id: 'a', ...asked }, nodes)
}

function timingFor(asked: Omit<Asked, 'id'>, nodes?: readonly string[]): PlainObject[string] | undefined {
  const chosen = chosenFor(asked, nodes)
  return 'options' in chosen ? chosen.options['timing'] : undefined
}

it.each<[string, Omit<Asked, 'id'>, string]>([
  ['majority mode', {}, 'adaptive'],
  ['a profile', { profile: 'wan' }, 'adaptive'],
  ['bounds of leases', { leaseMinMs: 100, leaseMaxMs: 900 }, 'adaptive'],
  ['other options', { options: { holdDownMs: 500, rhoPpm: 50, renewalTries: 3 } }, 'adaptive'],
  ['local mode', { mode: 'local' }, 'fixed'],
  ['the rule of the paper', { options: { rule: 'equality' } }, 'fixed'],
  ['as many nodes as a tree needs', { options: { treeFrom: 3 } }, 'fixed'],
  ['a constant', { options: { sigmaMs: 60 } }, 'fixed'],
  ['a constant, and adaptive timing', { timing: 'adaptive', options: { sigmaMs: 60 } }, 'adaptive'],
  ['fixed timing', { timing: 'fixed' }, 'fixed'],
])('with %s: %j is %s', (_what, asked, timing) => {
  expect(timingFor(asked)).toBe(timing)
})

it.each<[string, Omit<Asked, 'id'>, number | undefined]>([
  ['one second', {}, 1000],
  ['one second with every shortest lease', { leaseMinMs: 500 }, 1000],
  ['four times the shortest lease of the profile', { profile: 'wan' }, 3200],
  ['that of the profile with every shortest lease', { profile: 'wan', leaseMinMs: 2000 }, 3200],
  ['as configured', { leaseMaxMs: 7000 }, 7000],
  ['of the profile with a data directory', { data: '/nowhere' }, undefined],
])('without a data directory, the longest lease is %s', (_what, asked, leaseMaxMs) => {
  const chosen = chosenFor(asked)
  expect('options' in chosen ? chosen.options['leaseMaxMs'] : 'refused').toBe(leaseMaxMs)
})

// A node that is restarted with another leaseMinMs must be silent for as long as the locks that it granted before.
it.each(['fast', 'lan', 'region', 'wan'] as const)(
  'without a data directory and leaseMaxMs, a node of %s is silent as long with every leaseMinMs',
  (profile) => {
    const silences = [undefined, 20, 100, 500, 800].map((leaseMinMs) => {
      const chosen = chosenFor({ profile, ...(leaseMinMs === undefined ? {} : { leaseMinMs }) })
      if ('problems' in chosen) throw new Error(JSON.stringify(chosen.problems))
      const options = localLeaderDefinition.options(NODES).parse(chosen.options)
      const stable = localLeaderHosting.forgetfulStable({ self: 'a', nodes: NODES }, options, 1)
      return (stable as { readonly lockTime: number }).lockTime
    })
    expect(new Set(silences).size).toBe(1)
  },
)

it.each<[Omit<Asked, 'id'>, string]>([
  [{ leaseMinMs: 801 }, '801 needs a longest lease of 1002 ms or more, and without data it is 1000 ms'],
  [
    { profile: 'wan', leaseMinMs: 7000 },
    '7000 needs a longest lease of 8750 ms or more, and without data it is 3200 ms',
  ],
])('refuses %j without a data directory and leaseMaxMs', (asked, message) => {
  expect(chosenFor(asked)).toEqual({
    problems: [{ field: 'leaseMinMs', message: `${message}; without data, set leaseMaxMs, too` }],
  })
  expect(chosenFor({ ...asked, data: '/nowhere' })).toHaveProperty('options')
  expect(chosenFor({ ...asked, leaseMaxMs: 9000 })).toHaveProperty('options')
})

it('is fixed with a hundred nodes', () => {
  const nodes = Array.from({ length: 100 }, (_, index) => `n${index}`)
  expect(timingFor({}, nodes)).toBe('fixed')
  expect(timingFor({}, nodes.slice(1))).toBe('adaptive')
})

it.each(['leaseMinMs', 'leaseMaxMs', 'leaseLossPerDay'] as const)(
  'must be named where both a constant and %s are set',
  (field) => {
    const both = { [field]: 900, options: { deltaMs: 3 } }
    expect(chosenFor(both)).toEqual({
      problems: [
        {
          field,
          message: `options.deltaMs sets a constant, but ${field} is for leases that adapt; remove one of them, or set timing`,
        },
      ],
    })
    expect(timingFor({ timing: 'adaptive', data: '/nowhere', ...both })).toBe('adaptive')
  },
)
