/** The timing of real nodes whose configuration does not name it. */
import { expect, it } from 'vitest'
import type { PlainObject } from '../../core/index.ts'
import type { Asked, Chosen } from '../hosting.ts'
import { localLeaderHosting } from './hosting.ts'

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
  ['four times the shortest lease', { leaseMinMs: 500 }, 2000],
  ['four times the shortest lease of the profile', { profile: 'wan' }, 3200],
  ['as configured', { leaseMaxMs: 7000 }, 7000],
  ['of the profile with a data directory', { data: '/nowhere' }, undefined],
  ['of the profile, if that is shorter', { leaseMinMs: 1500 }, undefined],
])('without a data directory, the longest lease is %s', (_what, asked, leaseMaxMs) => {
  const chosen = chosenFor(asked)
  expect('options' in chosen ? chosen.options['leaseMaxMs'] : 'refused').toBe(leaseMaxMs)
})

it('is fixed with a hundred nodes', () => {
  const nodes = Array.from({ length: 100 }, (_, index) => `n${index}`)
  expect(timingFor({}, nodes)).toBe('fixed')
  expect(timingFor({}, nodes.slice(1))).toBe('adaptive')
})

it('must be named where both a constant and a bound of leases are set', () => {
  expect(chosenFor({ leaseMaxMs: 900, options: { deltaMs: 3 } })).toEqual({
    problems: [
      {
        field: 'leaseMaxMs',
        message:
          'options.deltaMs sets a constant, but leaseMaxMs is for leases that adapt; remove one of them, or set timing',
      },
    ],
  })
  expect(timingFor({ timing: 'adaptive', leaseMaxMs: 900, options: { deltaMs: 3 } })).toBe('adaptive')
})
