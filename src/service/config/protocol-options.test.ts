import { describe, expect, it } from 'vitest'
import type { Asked } from '../../protocols/index.ts'
import { InvalidOptionsError } from './problems.ts'
import { protocolOptions } from './protocol-options.ts'

const IDS = ['a', 'b', 'c']

/** The options of node a, which has a data directory. */
function optionsFor(protocol: string, change: Partial<Asked>): ReturnType<typeof protocolOptions> {
  return protocolOptions(protocol, IDS, { id: 'a', data: '/nowhere', ...change })
}

function problems(protocol: string, asked: Partial<Asked>): readonly string[] {
  try {
    optionsFor(protocol, asked)
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems.map(({ field }) => field)
    throw error
  }
  return []
}

describe('the options of a protocol', () => {
  it('are complete: defaults are filled in', () => {
    const given = optionsFor('local-leader', {})
    expect(given).toMatchObject({ mode: 'majority', profile: 'lan' })
    expect(Object.values(given)).not.toContain(undefined)
  })

  it('follow the profile, and single options override it', () => {
    expect(optionsFor('local-leader', { profile: 'wan', options: { sigmaMs: 20 } })).toMatchObject({
      profile: 'wan',
      sigmaMs: 20,
    })
  })

  it('do not depend on the order of the given ones', () => {
    const one = optionsFor('local-leader', { options: { sigmaMs: 20, rhoPpm: 50 } })
    expect(optionsFor('local-leader', { options: { rhoPpm: 50, sigmaMs: 20 } })).toEqual(one)
  })

  it.each<[string, string, Partial<Asked>, readonly string[]]>([
    ['good ones', 'local-leader', {}, []],
    ['an unknown one', 'local-leader', { options: { nope: 1 } }, ['options.nope']],
    [
      'two of a wrong type',
      'local-leader',
      { options: { sigmaMs: 'x', rhoPpm: [] } },
      ['options.sigmaMs', 'options.rhoPpm'],
    ],
    ['a deliberate defect', 'local-leader', { options: { misreading: 'no-start' } }, ['options.misreading']],
    [
      'an observer that is not a node',
      'local-leader',
      { options: { observers: ['z'] } },
      ['options.observers[0]'],
    ],
    ['a field of another protocol', 'omega', { priority: 3 }, ['priority']],
    ['a period below the time of a store', 'epochs', { options: { periodMs: 1 } }, ['options.periodMs']],
  ])('report all problems: %s', (_what, protocol, asked, fields) => {
    expect(problems(protocol, asked)).toEqual(fields)
  })

  it('name the nearest option, or where all are listed', () => {
    expect(() => optionsFor('local-leader', { options: { sigmaMS: 5 } })).toThrow(
      'options.sigmaMS: unknown field; did you mean sigmaMs?',
    )
    expect(() => optionsFor('local-leader', { options: { zzz: 5 } })).toThrow(
      'options.zzz: unknown field; remove it, or run "conclave protocols" for the options of local-leader',
    )
  })
})
