import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { explain } from '../../core/index.ts'
import {
  fieldProblems,
  InvalidConfigError,
  InvalidOptionsError,
  type Problem,
  pathText,
  problemText,
  rejectOptions,
} from './problems.ts'

it.each<[readonly PropertyKey[], string]>([
  [[], ''],
  [['group'], 'group'],
  [['groups', 1, 'listen'], 'groups[1].listen'],
  [['peers', 0], 'peers[0]'],
  [['options', 'a', 'b'], 'options.a.b'],
  [[0, 'a'], '[0].a'],
])('writes the path %j as %s', (path, text) => {
  expect(pathText(path)).toBe(text)
})

it.each<[Problem, string]>([
  [{ field: 'id', place: null, message: 'is missing' }, 'id is missing'],
  [{ field: 'listen', place: '--listen', message: 'has no port' }, '--listen: has no port'],
  [{ field: 'listen', place: 'CONCLAVE_LISTEN', message: 'has no port' }, 'CONCLAVE_LISTEN: has no port'],
  // One flag may give several values: the field says which one.
  [{ field: 'peers[1]', place: '--peer', message: 'is double' }, '--peer: peers[1]: is double'],
  [{ field: 'options.fastMs', place: '--option', message: 'is low' }, '--option: options.fastMs: is low'],
  [{ field: 'id', place: 'c.yaml:1:5', message: 'is not a string' }, 'c.yaml:1:5: id: is not a string'],
])('writes %j on one line', (problem, text) => {
  expect(problemText(problem)).toBe(text)
})

describe('rejectOptions', () => {
  it('does nothing without problems', () => {
    expect(() => rejectOptions([])).not.toThrow()
  })

  it('throws all problems as one error, whose field is that of the first', () => {
    const problems = [
      { field: 'id', message: 'is missing' },
      { field: 'listen', message: 'has no port' },
    ]
    let thrown: unknown
    try {
      rejectOptions(problems)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(InvalidOptionsError)
    expect(thrown).toMatchObject({
      name: 'InvalidOptionsError',
      code: 'ERR_CONCLAVE_INVALID_OPTIONS',
      message: 'id: is missing\nlisten: has no port',
      field: 'id',
      problems,
    })
  })
})

it('keeps all problems of a configuration, and one line for each', () => {
  const problems: Problem[] = [
    { field: 'id', place: null, message: 'is missing' },
    { field: 'http', place: '--http', message: 'has no port' },
  ]
  expect(new InvalidConfigError(problems)).toMatchObject({
    code: 'ERR_CONCLAVE_INVALID_CONFIG',
    message: 'id is missing\n--http: has no port',
    field: 'id',
    problems,
  })
  expect(new InvalidConfigError([]).field).toBeNull()
})

describe('fieldProblems', () => {
  const schema = z.strictObject({
    name: z.string(),
    peer: z.union([z.string().regex(/=/, 'has no id'), z.strictObject({ id: z.string() })]).optional(),
    inner: z.strictObject({ timeoutMs: z.number() }).optional(),
  })
  const problems = (given: unknown, settings?: Parameters<typeof fieldProblems>[2]): readonly string[] => {
    const { error } = schema.safeParse(given, { error: explain })
    if (error === undefined) return []
    return fieldProblems(error, ['name', 'peer', 'timeoutMs'], settings).map(
      ({ field, message }) => `${field}: ${message}`,
    )
  }

  it.each<[object, readonly string[]]>([
    [{ name: 'a', nam: 1 }, ['nam: unknown field; did you mean name?']],
    [
      { name: 'a', x: 1, y: 2 },
      [
        'x: unknown field; remove it, or see the configuration reference for all fields',
        'y: unknown field; remove it, or see the configuration reference for all fields',
      ],
    ],
    [
      { name: 'a', inner: { timeoutMS: 3 } },
      [
        'inner.timeoutMs: is missing: write a finite number',
        'inner.timeoutMS: unknown field; did you mean timeoutMs?',
      ],
    ],
    // Of a union, only the problems of the branch that was meant.
    [{ name: 'a', peer: 'b' }, ['peer: has no id']],
    [{ name: 'a', peer: { id: 7 } }, ['peer.id: 7 is not a string']],
    [{ name: 'a', peer: 7 }, ['peer: 7 is not a string or an object']],
  ])('says what is wrong with %j', (given, expected) => {
    expect(problems(given)).toEqual(expected)
  })

  it('puts fields under a prefix, and names another place to look up fields', () => {
    expect(problems({ name: 1, zz: 2 }, { prefix: ['options'], otherwise: 'run "help"' })).toEqual([
      'options.name: 1 is not a string',
      'options.zz: unknown field; remove it, or run "help"',
    ])
  })
})
