import { describe, expect, it } from 'vitest'
import type { Problem } from './problems.ts'
import { problemText } from './problems.ts'
import { storeGroup } from './store-group.ts'

const VALUES = {
  group: 'g',
  id: 'a',
  protocol: 'epochs',
  store: 'redis://me:secret@h:6379',
  profile: 'lan',
  options: {},
}
const FROM = Object.fromEntries(Object.keys(VALUES).map((field) => [field, `--${field}`]))

/** The group, and the problems with it, one line each. */
function read(
  values: { readonly [field: string]: unknown },
  from: { readonly [field: string]: string } = {},
  isOwn: (field: string) => boolean = () => true,
) {
  const problems: Problem[] = []
  const groups = storeGroup(
    { values: { ...VALUES, ...values }, from: { ...FROM, ...from } },
    ['groups', 1],
    isOwn,
    problems,
  )
  return { group: groups[0], problems: problems.map(problemText) }
}

describe('a group in a store', () => {
  it('has its store parsed, and no devices unless some are given', () => {
    const { group, problems } = read({})
    const store = { kind: 'redis', url: 'redis://me:secret@h:6379', prefix: 'conclave', acceptWeak: false }
    expect(problems).toEqual([])
    expect(group?.node).toEqual({ ...VALUES, store })
    expect(group?.join).toEqual({ ...VALUES, store, fencing: [] })
    expect(group?.from).toEqual(FROM)
  })

  it.each<
    [string, { readonly [field: string]: unknown }, { readonly [field: string]: string }, boolean, number]
  >([
    ['a field of its own that needs a network', { listen: 'h:1' }, { listen: '--listen' }, true, 1],
    ['two of them', { listen: 'h:1', data: '/d' }, { listen: '--listen', data: '--data' }, true, 2],
    [
      'a field that applies to other groups of the file',
      { listen: 'h:1' },
      { listen: 'c.yaml:1:1' },
      false,
      0,
    ],
    ['a default', { mode: 'majority' }, { mode: 'default' }, true, 0],
    ['a field without a value', { listen: undefined }, { listen: '--listen' }, true, 0],
  ])('with %s', (_what, values, from, isOwn, count) => {
    const { problems } = read(values, from, () => isOwn)
    expect(problems).toHaveLength(count)
    for (const problem of problems)
      expect(problem).toMatch(
        /^--\w+: groups\[1\]\.\w+: does not apply to the protocol epochs, whose nodes share a store; remove it$/,
      )
  })

  it.each<[{ readonly [field: string]: unknown }, string]>([
    [{ store: 'ftp://h' }, '--store: groups[1].store: ftp: is not a kind of store'],
    [
      { store: { kind: 'redis', url: 'http://h' } },
      '--store: groups[1].store.url: must be a URL such as redis://',
    ],
    [{ id: 'x'.repeat(65) }, '--id: groups[1].id: must be at most 64 bytes long'],
    [{ options: { periodMs: 1 } }, '--options: groups[1].options.periodMs: '],
  ])('is refused with %j', (values, problem) => {
    const { group, problems } = read(values)
    expect(group).toBeUndefined()
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })
})
