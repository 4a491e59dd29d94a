import { describe, expect, it } from 'vitest'
import { markdownTable } from './markdown.ts'
import { isFlag, referenceText } from './reference.ts'
import { NODE_FIELDS, PROCESS_FIELDS } from './schema.ts'

describe('markdownTable', () => {
  it('aligns its columns by the widest cell', () => {
    expect(
      markdownTable([
        ['a', 'long'],
        ['wider', 'b'],
        ['', 'c'],
      ]).split('\n'),
    ).toEqual(['| a     | long |', '| ----- | ---- |', '| wider | b    |', '|       | c    |'])
  })
})

describe('the reference of the configuration', () => {
  const text = referenceText()
  /** The cells of a row, by the field in its first one. */
  const row = (field: string, from = text): readonly string[] =>
    (from.split('\n').find((line) => line.startsWith(`| \`${field}\` `)) ?? '')
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())

  it.each<[string, string, string, string]>([
    ['group', '`--group`, `CONCLAVE_GROUP`', 'text', ''],
    ['listen', '`--listen`, `CONCLAVE_LISTEN`', '`HOST:PORT`', ''],
    ['peers', '`--peer`, `CONCLAVE_PEER`', 'list of `ID=HOST:PORT` or object', '`[]`'],
    ['keyFile', '`--key-file`, `CONCLAVE_KEY_FILE`', 'text or list of text', ''],
    ['secrecy', 'file only', '`true`, `false`', '`false`'],
    ['sticky', 'file only', '`true`, `false`', '`true`'],
    ['mode', '`--mode`, `CONCLAVE_MODE`', '`local`, `majority`', '`"majority"`'],
    ['priority', '`--priority`, `CONCLAVE_PRIORITY`', 'whole number, -1000000 to 1000000', '`0`'],
    ['traceSteps', 'file only', 'whole number, 0 to 1000000', '`4096`'],
    ['http', '`--http`, `CONCLAVE_HTTP`', '`HOST:PORT`', '`"127.0.0.1:7480"`'],
    ['httpNames', '`--http-name`, `CONCLAVE_HTTP_NAME`', 'list of text', '`[]`'],
    ['options', '`--option`, `CONCLAVE_OPTION`', 'object', '`{}`'],
  ])('describes %s', (field, flag, value, byDefault) => {
    expect(row(field).slice(1, 4)).toEqual([flag, value, byDefault])
  })

  it('has one row per field, and no row for the list of groups', () => {
    const table = text.slice(0, text.indexOf('\n\n'))
    const fields = Array.from(table.matchAll(/^\| `(\w+)`/gm), ([, field = '']) => field)
    expect(fields.toSorted()).toEqual([...NODE_FIELDS, ...PROCESS_FIELDS].toSorted())
  })

  it('marks the fields of the process', () => {
    expect(row('http').at(-1)).toMatch(/ \(of the process, not of a group\)$/)
    expect(row('group').at(-1)).toBe('the group that this node belongs to')
  })

  it('describes a peer as an object', () => {
    const peers = text.slice(text.indexOf('A peer may be written as text'))
    expect(row('witness', peers)).toEqual([
      '`witness`',
      '`true`, `false`',
      '`false`',
      'it votes but never leads',
    ])
    expect(row('address', peers)[1]).toBe('`HOST:PORT`')
  })
})

it.each([
  ['id', true],
  ['store', true],
  ['fencing', false],
  ['secrecy', false],
])('%s can be given by a flag: %s', (field, expected) => {
  expect(isFlag(field)).toBe(expected)
})
