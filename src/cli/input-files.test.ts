import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { InvalidScenarioError, type ScenarioProblem } from '../workbench/scenario/index.ts'
import { readJsonFile, readTextFile, readTraceFile, useScenarioFile } from './input-files.ts'

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

it('names the place in a file that is not JSON', () => {
  expect(() => readJsonFile(file('bad.json', '{\n  "a": 1,\n}'))).toThrow(
    `${folder}/bad.json:3:1: not JSON: expected a field name in double quotes`,
  )
})

describe('a scenario file', () => {
  const bad = file('bad-scenario.json', '{\n  "nodes": [1, 2],\n  "seed": "x"\n}')

  it('is passed on', () => {
    expect(useScenarioFile(bad, (content) => content)).toEqual({ nodes: [1, 2], seed: 'x' })
  })

  it('gives each problem its file, line and column', () => {
    const problems = [
      { field: 'nodes[1]', problem: 'is wrong' },
      { field: 'seed', problem: 'must be a number' },
      { field: 'untilMs', problem: 'is missing' },
    ]
    const reject = (): never => {
      throw new InvalidScenarioError(problems)
    }
    expect(() => useScenarioFile(bad, reject)).toThrow(
      new InvalidScenarioError([
        { ...problems[0], place: `${bad}:2:16` },
        { ...problems[1], place: `${bad}:3:11` },
        { ...problems[2], place: `${bad}:1:1` },
      ] as ScenarioProblem[]),
    )
  })

  it('leaves other errors alone', () => {
    const reject = (): never => {
      throw new RangeError('seed: too large')
    }
    expect(() => useScenarioFile(bad, reject)).toThrow(new RangeError('seed: too large'))
  })

  it('that is not JSON is never passed on', () => {
    const use = vi.fn<(content: unknown) => void>()
    expect(() => useScenarioFile(file('no.json', 'no'), use)).toThrow(`${folder}/no.json:1:1: not JSON: `)
    expect(use).not.toHaveBeenCalled()
  })
})

it('reads a trace, and refuses other files', () => {
  const header = { trace: 1, protocol: 'bully', nodes: [1], options: {}, seed: 1 }
  expect(readTraceFile(file('a.ndjson', JSON.stringify(header)))).toMatchObject({ header, records: [] })
  expect(() => readTraceFile(file('bad.ndjson', 'no'))).toThrow(`${folder}/bad.ndjson: line 1 is not JSON`)
})
