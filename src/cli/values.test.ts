import { describe, expect, it } from 'vitest'
import { UsageError } from './errors.ts'
import {
  collect,
  parseChoice,
  parseFaults,
  parseMilliseconds,
  parseOptions,
  parseRange,
  parseWholeNumber,
} from './values.ts'

/** The error that `parse` throws, as its field and its message. */
function refusal(parse: () => unknown): { readonly field: string | null; readonly message: string } {
  try {
    parse()
  } catch (error) {
    if (error instanceof UsageError) return { field: error.field, message: error.message }
    throw error
  }
  throw new Error('nothing was refused')
}

describe('parseRange', () => {
  it.each([
    ['7', [7, 7]],
    ['0..0', [0, 0]],
    ['3..12', [3, 12]],
  ])('parses %s', (text, range) => {
    expect(parseRange('--seeds', text, 0)).toEqual(range)
  })

  it.each([
    ['all', 'write a number, or a range such as 1..1000'],
    ['1..', 'write a number, or a range such as 1..1000'],
    ['1.5', 'write a number, or a range such as 1..1000'],
    ['9..2', 'the range is reversed; write 2..9'],
    ['0..5', 'must be at least 1'],
    ['-3', 'must be at least 1'],
    ['1..99999999999999999', 'must be at most 9007199254740991'],
  ])('refuses %s', (text, problem) => {
    expect(refusal(() => parseRange('--seeds', text, 1))).toEqual({
      field: '--seeds',
      message: `--seeds ${text}: ${problem}`,
    })
  })
})

describe('parseWholeNumber', () => {
  it('accepts the minimum', () => {
    expect(parseWholeNumber('--nodes', '3', 3)).toBe(3)
  })

  it.each([
    ['2', 'must be at least 3'],
    ['3.0', 'write a whole number'],
    ['three', 'write a whole number'],
    ['', 'write a whole number'],
    ['1e9', 'write a whole number'],
  ])('refuses "%s"', (text, problem) => {
    expect(refusal(() => parseWholeNumber('--nodes', text, 3)).message).toBe(`--nodes ${text}: ${problem}`)
  })
})

describe('parseMilliseconds', () => {
  it.each([
    ['0', 0],
    ['0.5', 0.5],
    ['1000', 1000],
  ])('parses %s', (text, value) => {
    expect(parseMilliseconds('--from', text)).toBe(value)
  })

  it.each(['-1', 'soon', '1s', '.5', '1e3', '99999999999999999999'])('refuses %s', (text) => {
    expect(refusal(() => parseMilliseconds('--from', text)).message).toMatch(/write a number of milliseconds/)
  })
})

describe('parseChoice', () => {
  it('returns the choice, and lists all choices in the error', () => {
    expect(parseChoice('--order', 'any', ['fifo', 'any'])).toBe('any')
    expect(refusal(() => parseChoice('--order', 'odd', ['fifo', 'any'])).message).toBe(
      '--order odd: must be one of fifo, any',
    )
  })
})

describe('parseOptions', () => {
  it('reads JSON values, and strings where a value is not JSON', () => {
    const texts = ['a=1', 'b=true', 'c={"3":1}', 'd=majority', 'e=x=y', 'f=']
    expect(parseOptions(texts)).toEqual({ a: 1, b: true, c: { '3': 1 }, d: 'majority', e: 'x=y', f: '' })
  })

  it('uses the last value of a repeated option', () => {
    expect(parseOptions(['a=1', 'a=2'])).toEqual({ a: 2 })
  })

  it.each(['a', '=1'])('refuses %s', (text) => {
    expect(refusal(() => parseOptions([text])).message).toBe(`--option ${text}: write NAME=VALUE`)
  })
})

describe('parseFaults', () => {
  it.each([
    ['none', []],
    ['swarm', ['crash', 'cut']],
    ['cut', ['cut']],
    ['cut,crash', ['cut', 'crash']],
  ] as const)('parses %s', (text, kinds) => {
    expect(parseFaults(text, 'bully', ['crash', 'cut'])).toEqual(kinds)
  })

  it('refuses a kind that is unknown, and a kind that the protocol does not tolerate', () => {
    expect(refusal(() => parseFaults('rain', 'bully', ['crash'])).message).toMatch(
      /^--faults rain: "rain" is unknown; write none, swarm, or kinds from .*crash/,
    )
    expect(refusal(() => parseFaults('cut', 'bully', ['crash'])).message).toBe(
      '--faults cut: bully does not tolerate "cut"; it tolerates crash',
    )
    expect(refusal(() => parseFaults('cut', 'bully', [])).message).toMatch(/it tolerates no faults$/)
  })
})

it('collect adds a value to the earlier ones', () => {
  expect(collect('b', ['a'])).toEqual(['a', 'b'])
})
