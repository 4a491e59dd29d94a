import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseConfig, readConfigFile } from './file.ts'
import { InvalidConfigError } from './problems.ts'

function problems(text: string): readonly string[] {
  try {
    parseConfig('c.yaml', text)
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.message.split('\n')
    throw error
  }
  return []
}

describe('the place of a value', () => {
  const { placeOf } = parseConfig(
    'c.yaml',
    'group: g\npeers:\n  - b=h:1\n  - id: c\n    address: h:2\noptions: { sigmaMs: 5 }\n',
  )

  it.each<[readonly (string | number)[], string]>([
    [['group'], 'c.yaml:1:8'],
    [['peers'], 'c.yaml:3:3'],
    [['peers', 0], 'c.yaml:3:5'],
    [['peers', 1, 'address'], 'c.yaml:5:14'],
    [['options', 'sigmaMs'], 'c.yaml:6:21'],
    // The nearest thing around a value that is missing.
    [['peers', 1, 'witness'], 'c.yaml:4:5'],
    [['peers', 7], 'c.yaml:3:3'],
    [['data'], 'c.yaml'],
    [[], 'c.yaml'],
  ])('at %j is %s', (path, place) => {
    expect(placeOf(path)).toBe(place)
  })
})

describe('a file that cannot be used', () => {
  it.each<[string, string, readonly string[]]>([
    ['no fields', '', ['c.yaml: config: must hold fields, such as "group: billing"']],
    ['a text', 'billing', ['c.yaml: config: must hold fields, such as "group: billing"']],
    ['a list', '[a]', ['c.yaml: config: must hold fields, such as "group: billing"']],
    [
      'a tab',
      'group:\n\tid: a',
      [expect.stringMatching(/^c\.yaml:\d+:\d+: config: not valid YAML or JSON: /)],
    ],
    [
      'an open quote',
      'group: "g',
      [expect.stringMatching(/^c\.yaml:1:\d+: config: not valid YAML or JSON: /)],
    ],
    [
      'an alias',
      'group: &g x\nid: *g',
      [expect.stringContaining('write values out instead of using aliases')],
    ],
    [
      'several problems, each with its place',
      'group: 7\nmode: up\npeers:\n  - b=h:1\n  - { id: c, adress: "h:2" }\n',
      [
        'c.yaml:1:8: group: 7 is not a string',
        'c.yaml:5:5: peers[1].address: is missing: write a string',
        'c.yaml:5:22: peers[1].adress: unknown field; did you mean address?',
        'c.yaml:2:7: mode: "up" is not one of "local", "majority"',
      ],
    ],
    [
      'a field in the wrong place',
      'groups:\n  - group: x\n    traceSteps: 3\n',
      [
        'c.yaml:3:17: groups[0].traceSteps: does not belong here; move it, or see the configuration reference for all fields',
      ],
    ],
  ])('has %s', (_what, text, expected) => {
    expect(problems(text)).toEqual(expected)
  })
})

describe('reading', () => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-file-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('keeps the name of the file in the places', () => {
    const file = join(folder, 'c.json')
    writeFileSync(file, '{\n  "group": "g"\n}')
    const { fields, placeOf } = readConfigFile(file)
    expect([fields, placeOf(['group'])]).toEqual([{ group: 'g' }, `${file}:2:12`])
  })

  it('names a file that does not exist, and why one cannot be read', () => {
    expect(() => readConfigFile('/no/c.yaml')).toThrow(
      '/no/c.yaml: config: there is no such file; correct --config or CONCLAVE_CONFIG',
    )
    expect(() => readConfigFile(folder)).toThrow(`${folder}: config: cannot be read: EISDIR`)
  })
})
