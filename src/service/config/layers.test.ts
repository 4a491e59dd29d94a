import { describe, expect, it } from 'vitest'
import { parseConfig } from './file.ts'
import { chosenGroups, type GivenValue, mergeLayers, placeIn, type Sources } from './layers.ts'

const given = (fields: { readonly [field: string]: unknown }, by: string): { [field: string]: GivenValue } =>
  Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, { value, by: `${by}${field}` }]))

function sources(
  flags: { readonly [field: string]: unknown } = {},
  environment: { readonly [field: string]: unknown } = {},
): Sources {
  return { file: null, flags: given(flags, '--'), environment: given(environment, 'CONCLAVE_') }
}

describe('the strongest value of a field', () => {
  const file = parseConfig(
    'f',
    'profile: wan\npriority: 1\ngroups:\n  - group: x\n    profile: region\n  - group: y\n',
  )

  it.each<[string, Sources, number | null, unknown, string]>([
    ['a flag', sources({ profile: 'lan' }, { profile: 'wan' }), 0, 'lan', '--profile'],
    ['a variable', sources({}, { profile: 'lan' }), 0, 'lan', 'CONCLAVE_profile'],
    ['the field of the group', sources(), 0, 'region', 'f:5:14'],
    ['the field outside of the groups', sources(), 1, 'wan', 'f:1:10'],
    ['the field of a file without groups', sources(), null, 'wan', 'f:1:10'],
  ])('is that of %s', (_what, from, group, value, by) => {
    const merged = mergeLayers(from, file, ['profile'], group)
    expect([merged.values['profile'], merged.from['profile']]).toEqual([value, by])
  })

  it('is the default where nothing gives it, and missing where there is no default', () => {
    expect(mergeLayers(sources(), null, ['profile', 'listen', 'traceSteps'], null)).toEqual({
      values: { profile: 'lan', traceSteps: 4096 },
      from: { profile: 'default', traceSteps: 'default' },
    })
  })

  it('may be false, zero or empty', () => {
    const merged = mergeLayers(
      sources({ sticky: false, priority: 0, peers: [] }),
      file,
      ['sticky', 'priority', 'peers'],
      null,
    )
    expect(merged.values).toEqual({ sticky: false, priority: 0, peers: [] })
    expect(merged.from).toEqual({ sticky: '--sticky', priority: '--priority', peers: '--peers' })
  })
})

it('merges single options of all sources, and names each source', () => {
  const file = parseConfig(
    'f',
    'options: { a: 1, b: 1, c: 1, d: 1 }\ngroups: [{ group: x, options: { b: 2, c: 2, d: 2 } }]',
  )
  const merged = mergeLayers(
    sources({ options: { d: 4 } }, { options: { c: 3, d: 3 } }),
    file,
    ['options'],
    0,
  )
  expect(merged).toEqual({
    values: { options: { a: 1, b: 2, c: 3, d: 4 } },
    from: { options: '--options, CONCLAVE_options, f:2:31, f:1:10' },
  })
})

describe('the data directory', () => {
  const file = parseConfig('f', 'data: /d\ngroups:\n  - group: x\n  - { group: y, data: /own }\n')

  it.each<[string, Sources, number, string]>([
    ['a folder in the common one', sources(), 0, '/d/x'],
    ['its own, as given', sources(), 1, '/own'],
    ['a folder in that of the flag', sources({ data: '/f' }), 1, '/f/y'],
  ])('of a listed group is %s', (_what, from, group, expected) => {
    expect(mergeLayers(from, file, ['data', 'group'], group).values['data']).toBe(expected)
  })

  it.each(['../evil', '..', '.', 'a/b', 'a\\b', '/etc', 'a\0b'])('is never named %j', (group) => {
    const evil = parseConfig('f', `data: /d\ngroups:\n  - group: ${JSON.stringify(group)}\n`)
    const { values, folderProblem } = mergeLayers(sources(), evil, ['data', 'group'], 0)
    expect([values['data'], folderProblem]).toEqual([
      '/d',
      'cannot name a folder in /d; use a name without / and \\ that is not . or .., or give this group a data folder of its own',
    ])
    const own = parseConfig('f', `groups:\n  - { group: ${JSON.stringify(group)}, data: /own }\n`)
    const separate = mergeLayers(sources(), own, ['data', 'group'], 0)
    expect([separate.values['data'], separate.folderProblem]).toEqual(['/own', undefined])
  })

  it.each(['x', 'with space = ok', 'a.b', '...', 'büro', 'a..b', '%2F'])('may be named %j', (group) => {
    const plain = parseConfig('f', `data: /d\ngroups:\n  - group: ${JSON.stringify(group)}\n`)
    const { values, folderProblem } = mergeLayers(sources(), plain, ['data', 'group'], 0)
    expect([values['data'], folderProblem]).toEqual([`/d/${group}`, undefined])
  })

  it('of a single group is the given one', () => {
    const one = parseConfig('f', 'group: x\ndata: /d\n')
    expect(mergeLayers(sources(), one, ['data', 'group'], null).values['data']).toBe('/d')
  })
})

describe('chosenGroups', () => {
  const listed = [{ group: 'x' }, { group: 'y' }]

  it.each<[string, Sources, typeof listed | null, readonly (number | null)[]]>([
    ['without a list, the file itself', sources(), null, [null]],
    ['all without a choice', sources(), listed, [0, 1]],
    ['the one of a flag', sources({ group: 'y' }), listed, [1]],
    ['the one of a variable', sources({}, { group: 'x' }), listed, [0]],
    ['the one of a flag over that of a variable', sources({ group: 'y' }, { group: 'x' }), listed, [1]],
  ])('are %s', (_what, from, list, expected) => {
    expect(chosenGroups(from, list)).toEqual(expected)
  })

  it('must be in the file', () => {
    expect(() => chosenGroups(sources({}, { group: 'z' }), listed)).toThrow(
      'CONCLAVE_group: z is not in the file, which has x, y',
    )
  })
})

it('has no place for a default or a field that was not given', () => {
  const from = { id: '--id', mode: 'default' }
  expect([placeIn(from, 'id'), placeIn(from, 'mode'), placeIn(from, 'data')]).toEqual(['--id', null, null])
})
