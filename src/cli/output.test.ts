import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  clip,
  escapeControls,
  formatTable,
  formatTimes,
  measureWidth,
  NEW_LINE,
  paint,
  print,
  printJson,
  printNote,
} from './output.ts'

describe('escapeControls', () => {
  it.each([
    ['a\u001B[31mb', 'a\\u001b[31mb'],
    ['a\nb', 'a\\u000ab'],
    ['\u009B31m', '\\u009b31m'],
    ['\u202Eevil', '\\u202eevil'],
    ['\u2028', '\\u2028'],
    ['plain ✓ é 漢', 'plain ✓ é 漢'],
  ])('escapes control characters, %#', (text, escaped) => {
    expect(escapeControls(text)).toBe(escaped)
  })

  it('turns the line breaks of this program into real ones, and escapes the text around them', () => {
    expect(escapeControls(`a\u0007${NEW_LINE}b\nc`)).toBe('a\\u0007\nb\\u000ac')
  })

  it('yields the same value when the escapes are within JSON', () => {
    const value = { id: 'a\u001B]0;x\u0007' }
    expect(JSON.parse(escapeControls(JSON.stringify(value)))).toEqual(value)
  })
})

describe('paint', () => {
  const { isTTY } = process.stdout
  const setTerminal = (value: boolean): void =>
    void Object.defineProperty(process.stdout, 'isTTY', { value, configurable: true })
  afterEach(() => {
    setTerminal(isTTY)
    vi.unstubAllEnvs()
  })

  it('colours on a terminal only', () => {
    vi.stubEnv('NO_COLOR', undefined)
    setTerminal(true)
    expect(escapeControls(paint('red', 'no\n'))).toBe('\u001B[31mno\\u000a\u001B[0m')
    setTerminal(false)
    expect(paint('red', 'no')).toBe('no')
  })

  it('does not colour with NO_COLOR', () => {
    vi.stubEnv('NO_COLOR', '')
    setTerminal(true)
    expect(paint('red', 'no')).toBe('no')
  })

  it('does not count colours as columns, and keeps them in a clipped line', () => {
    vi.stubEnv('NO_COLOR', undefined)
    setTerminal(true)
    const line = paint('green', 'abcdef')
    expect(measureWidth(line)).toBe(6)
    expect(escapeControls(clip(line, 4))).toBe('\u001B[32mabc…\u001B[0m')
  })
})

describe('measureWidth', () => {
  it.each([
    ['abc', 3],
    ['漢字', 4],
    ['e\u0301', 1],
    ['😀', 2],
    ['a\tb', 8],
    ['', 0],
  ])('measures %j as %i columns', (text, columns) => {
    expect(measureWidth(text)).toBe(columns)
  })
})

describe('clip', () => {
  it.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdef', 5, 'abcd…'],
    ['漢字漢字', 4, '漢…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
  ])('clips %s to %i columns', (text, columns, clipped) => {
    expect(clip(text, columns)).toBe(clipped)
  })
})

describe('formatTable', () => {
  it('aligns columns by their width on a terminal, without trailing spaces', () => {
    const rows = [
      ['id', 'role', 'note'],
      ['漢', 'leader', ''],
      ['abc', 'x', 'y'],
    ]
    expect(formatTable(rows).split(NEW_LINE)).toEqual(['id   role    note', '漢   leader', 'abc  x       y'])
  })

  it('accepts no rows', () => {
    expect(formatTable([])).toBe('')
  })
})

it.each([
  [1, 'once'],
  [0, '0 times'],
  [12_345, '12,345 times'],
])('formatTimes formats %i', (value, text) => {
  expect(formatTimes(value)).toBe(text)
})

describe('printing', () => {
  const written = { stdout: '', stderr: '' }
  beforeEach(() => {
    for (const name of ['stdout', 'stderr'] as const) {
      written[name] = ''
      vi.spyOn(process[name], 'write').mockImplementation((text) => {
        written[name] += String(text)
        return true
      })
    }
  })
  afterEach(() => vi.restoreAllMocks())

  it('prints data to standard output and notes to standard error', () => {
    print('a\rb')
    printJson({ c: '\u0085' })
    printNote('d\u0000')
    expect(written).toEqual({ stdout: 'a\\u000db\n{"c":"\\u0085"}\n', stderr: 'd\\u0000\n' })
  })
})
