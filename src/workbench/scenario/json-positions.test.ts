import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fieldPositions, findSyntaxProblem } from './json-positions.ts'
import { pathText } from './problems.ts'

const TEXT = `{
  "protocol": "bully",
  "nodes": [1, 2,
    3],
  "events": [
    { "atMs": 1, "crash": 9 },
    { "atMs": 2,  "note": "\\"}],\\u00e9", "cut": [1, 2] }
  ],
  "nodeOptions": { "a.b": { "x[0]": true } },
  "seed": -1.5e3
}
`

describe('the position of a field', () => {
  const positionOf = fieldPositions(TEXT)

  it.each([
    ['', 1, 1],
    ['protocol', 2, 15],
    ['nodes', 3, 12],
    ['nodes[0]', 3, 13],
    ['nodes[2]', 4, 5],
    ['events[0].crash', 6, 27],
    ['events[1]', 7, 5],
    ['events[1].cut[1]', 7, 53],
    ['seed', 10, 11],
  ])('finds %j', (field, line, column) => {
    expect(positionOf(field)).toEqual({ line, column })
  })

  it('finds names that contain dots and brackets', () => {
    expect(positionOf('nodeOptions.a.b')).toEqual({ line: 9, column: 27 })
    expect(positionOf('nodeOptions.a.b.x[0]')).toEqual({ line: 9, column: 37 })
  })

  it.each([
    ['events[1].restart', 'events[1]'],
    ['events[7].crash', 'events'],
    ['nodeOptions.c.d', 'nodeOptions'],
    ['untilMs', ''],
  ])('gives the nearest value around the missing field %j', (field, around) => {
    expect(positionOf(field)).toEqual(positionOf(around))
  })

  it('takes the last of two fields with one name, as JSON.parse does', () => {
    expect(fieldPositions('{"a":1,"a":2}')('a')).toEqual({ line: 1, column: 12 })
  })

  it('counts lines that end with carriage return and line feed', () => {
    expect(fieldPositions('{\r\n "a": 1,\r\n "b": 2\r\n}')('b')).toEqual({ line: 3, column: 7 })
  })

  it('knows the fields before a syntax error', () => {
    expect(fieldPositions('{"a": 1, "b": }')('a')).toEqual({ line: 1, column: 7 })
  })

  it('is where the value is, for every path of every value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(2), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        const lines = text.split('\n')
        const positions = fieldPositions(text)
        for (const [path, part] of uniquePaths(JSON.parse(text))) {
          const { line, column } = positions(path)
          const rest = [lines[line - 1]?.slice(column - 1), ...lines.slice(line)].join('\n')
          expect(withoutSpace(rest).startsWith(withoutSpace(JSON.stringify(part)))).toBe(true)
        }
      }),
      { seed: 1 },
    )
  })
})

/** Every path with its value. A path text that names two values, which odd field names can cause, is left out. */
function uniquePaths(value: unknown): readonly (readonly [string, unknown])[] {
  const all: (readonly [string, unknown])[] = []
  const visit = (field: string, part: unknown): void => {
    all.push([field, part])
    if (typeof part !== 'object' || part === null) return
    for (const [key, inner] of Object.entries(part))
      visit(pathText(field, [Array.isArray(part) ? Number(key) : key]), inner)
  }
  visit('', value)
  return all.filter(([field]) => all.filter(([other]) => other === field).length === 1)
}

const withoutSpace = (text: string): string => text.replaceAll(/\s/g, '')

describe('a syntax error', () => {
  it.each([
    ['', 1, 1, 'expected a value, but the text ends here'],
    ['{\n  "a": 1,\n}', 3, 1, 'expected a field name in double quotes'],
    ['{\n  a: 1 }', 2, 3, 'expected a field name in double quotes'],
    ['{ "a" 1 }', 1, 7, 'expected ":" after the field name "a"'],
    ['{ "a": 1\n  "b": 2 }', 2, 3, 'expected "," or "}"'],
    ['[1, 2', 1, 6, 'expected "," or "]"'],
    ['[1, ]', 1, 5, 'expected a value'],
    ['{ "protocol": bully }', 1, 15, 'expected a value; "bully" needs double quotes'],
    ['{ "a": "b\n" }', 1, 10, 'a string must not contain a line break or control character; escape it'],
    ['{ "a": "b }', 1, 8, 'this string does not end'],
    ['["\\x"]', 1, 3, 'unknown escape sequence'],
    ['{} {}', 1, 4, 'unexpected text after the value'],
    ['[01]', 1, 3, 'expected "," or "]"'],
    ['\uFEFF{}', 1, 1, 'starts with a byte order mark; save the file without it'],
  ])('in %j is found', (text, line, column, message) => {
    expect(findSyntaxProblem(text)).toEqual({ line, column, message })
  })

  it('is reported for values that are nested too deep to search', () => {
    expect(findSyntaxProblem('['.repeat(100_000))).toEqual({
      line: 1,
      column: 502,
      message: 'nested more than 500 levels deep',
    })
  })

  it('is found exactly where JSON.parse rejects the text', () => {
    const part = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      '1',
      '-',
      '0.5',
      'e9',
      'true',
      ' ',
    )
    const noise = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''))
    const almost = fc
      .tuple(fc.json({ maxDepth: 3 }), fc.nat(40), noise)
      .map(([text, at, more]) => `${text.slice(0, at)}${more}${text.slice(at + 1)}`)
    fc.assert(
      fc.property(fc.oneof(noise, almost, fc.json()), (text) => {
        expect(findSyntaxProblem(text) === null).toBe(isJson(text))
      }),
      { numRuns: 5000, seed: 2 },
    )
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
