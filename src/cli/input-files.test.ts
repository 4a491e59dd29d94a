import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { readJsonFile, readTextFile, readTraceFile } from './input-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-input-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

it('reads text and JSON', () => {
  expect(readTextFile(file('a.txt', 'é\n'))).toBe('é\n')
  expect(readJsonFile(file('a.json', '{"a":[1]}'))).toEqual({ a: [1] })
})

it('names the file that is missing or unreadable', () => {
  expect(() => readTextFile(join(folder, 'none'))).toThrow(`${folder}/none: no such file`)
  expect(() => readTextFile(folder)).toThrow(`${folder}: cannot be read (EISDIR)`)
})

it('names the file that is not JSON', () => {
  expect(() => readJsonFile(file('bad.json', '{'))).toThrow(`${folder}/bad.json: not JSON: `)
})

it('reads a trace, and refuses other files', () => {
  const header = { trace: 1, protocol: 'bully', nodes: [1], options: {}, seed: 1 }
  expect(readTraceFile(file('a.ndjson', JSON.stringify(header)))).toMatchObject({ header, records: [] })
  expect(() => readTraceFile(file('bad.ndjson', 'no'))).toThrow('line 1 is not JSON')
})
