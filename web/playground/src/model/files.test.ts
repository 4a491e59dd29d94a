import { describe, expect, it } from 'vitest'
import { openingOf, parseScenarioText, readFiles } from './files.ts'

const SCENARIO = '{\n  "protocol": "bully",\n  "nodes": [1, 2],\n  "untilMs": 100\n}'
const TRACE = '{"trace":1,"protocol":"bully","nodes":[1,2],"options":{},"seed":1}\n{"type":"start"}\n'
const MODULE = "import { define } from 'conclave/core'\nexport const protocol = define({})\n"

const file = (name: string, text: string) => ({ name, text })
const dropped = (name: string, text: string, size = text.length) => ({
  name,
  size,
  text: async () => text,
})

describe('a dropped file', () => {
  it('is known by its content, not by its name', () => {
    expect(openingOf([file('download', SCENARIO)])).toMatchObject({ type: 'scenario', module: null })
    expect(openingOf([file('a.txt', TRACE)])).toMatchObject({ type: 'recording' })
    expect(openingOf([file('b.txt', MODULE)])).toMatchObject({ type: 'module' })
  })

  it('may be one of several recordings', () => {
    expect(openingOf([file('a', TRACE), file('b', TRACE)])).toMatchObject({
      type: 'recording',
      files: [{ name: 'a' }, { name: 'b' }],
    })
  })

  it('may be a module together with its scenario', () => {
    expect(openingOf([file('s.json', SCENARIO), file('p.mjs', MODULE)])).toMatchObject({
      type: 'scenario',
      module: { name: 'p.mjs' },
    })
  })

  it('may be a module with the files that it imports', () => {
    const main = file('ballot.mjs', `import { a } from './a.mjs'\n${MODULE}`)
    const part = file('a.mjs', 'export const a = 1\n')
    const expected = { name: 'ballot.mjs', text: main.text, parts: [part] }
    expect(openingOf([part, main])).toEqual({ type: 'module', module: expected })
    expect(openingOf([main, file('s.json', SCENARIO), part])).toMatchObject({ module: expected })
    expect(openingOf([main, file('other.mjs', MODULE)])).toMatchObject({
      type: 'refused',
      problems: [{ message: expect.stringContaining('one module with the files that it imports') }],
    })
  })

  it('of another kind is refused with the kinds that are known', () => {
    expect(openingOf([file('photo.png', '\u0089PNG')])).toMatchObject({
      type: 'refused',
      problems: [{ place: 'photo.png', message: expect.stringContaining('a scenario (.json), a trace') }],
    })
    expect(openingOf([file('empty', ' \n')])).toMatchObject({ problems: [{ message: 'is empty.' }] })
  })

  it('together with others that do not fit is refused', () => {
    expect(openingOf([file('a', TRACE), file('s.json', SCENARIO)])).toMatchObject({ type: 'refused' })
    expect(openingOf([file('a.json', SCENARIO), file('b.json', SCENARIO)])).toMatchObject({ type: 'refused' })
  })

  it('of more than 50 MB is refused before it is read', async () => {
    const opening = await readFiles([
      { name: 'big.ndjson', size: 73_400_000, text: () => Promise.reject(new Error('was read')) },
    ])
    expect(opening).toEqual({
      type: 'refused',
      problems: [
        {
          place: 'big.ndjson',
          message:
            'is 73.4 MB; this page opens files of at most 50 MB. Use conclave replay for a longer trace.',
        },
      ],
    })
  })

  it('that cannot be read is named', async () => {
    const opening = await readFiles([
      { name: 'gone', size: 3, text: () => Promise.reject(new Error('gone')) },
    ])
    expect(opening).toMatchObject({ type: 'refused', problems: [{ place: 'gone' }] })
    expect(await readFiles([])).toMatchObject({ type: 'refused' })
    expect(await readFiles([dropped('s.json', SCENARIO)])).toMatchObject({ type: 'scenario' })
  })
})

describe('the text of a scenario', () => {
  it('with a syntax error is left to the engine, which finds the place', () => {
    const text = '{\n  "nodes": [1, 2}\n}'
    expect(parseScenarioText(text)).toEqual({ type: 'not JSON', text })
    expect(openingOf([file('s.json', text)])).toEqual({ type: 'not JSON', text })
  })

  it('must be an object', () => {
    expect(parseScenarioText('[]')).toMatchObject({ type: 'refused', problems: [{ place: 'line 1' }] })
  })
})
