import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { specNamed } from '../../workbench/specs/index.ts'
import { addSpecs, findSpec, runScenarioFile } from './scenario-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-scenario-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: string | object): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

let printed = ''
beforeEach(() => {
  printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text)
    return true
  })
})
afterEach(() => vi.restoreAllMocks())

const QUIET = { protocol: 'bully', nodes: [1, 2, 3], initial: { leader: 3 }, untilMs: 100, seed: 4 }
describe('runScenarioFile', () => {
  it('prints a report and returns 0 if every specification holds', async () => {
    expect(await runScenarioFile(file('quiet.json', QUIET), {})).toBe(0)
    expect(printed).toContain('bully, seed 4')
  })

  it('returns 6 if a specification is violated', async () => {
    const example = fileURLToPath(new URL('../../../examples/bully-disagreement.json', import.meta.url))
    expect(await runScenarioFile(example, { json: true })).toBe(6)
    const { specs } = JSON.parse(printed) as { specs: { verdict: string }[] }
    expect(specs.map(({ verdict }) => verdict)).toContain('violated')
  })

  it('prints the report as one JSON object', async () => {
    await runScenarioFile(file('json.json', QUIET), { json: true })
    expect(JSON.parse(printed)).toMatchObject({ protocol: 'bully', seed: 4, endedAtMs: 100 })
  })

  it('lets --seed replace the seed of the file', async () => {
    await runScenarioFile(file('seed.json', QUIET), { seed: '9', json: true })
    expect(JSON.parse(printed)).toMatchObject({ seed: 9 })
  })

  it('writes a trace: a header, and one record per line', async () => {
    const trace = join(folder, 'run.ndjson')
    await runScenarioFile(file('trace.json', QUIET), { trace, json: true })
    const [header, ...records] = readFileSync(trace, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(header).toMatchObject({ trace: 1, protocol: 'bully', nodes: [1, 2, 3], seed: 4 })
    expect(records.filter(({ type }) => type === 'start')).toHaveLength(3)
  })

  it('prints the transcript before the report, but not within JSON', async () => {
    await runScenarioFile(file('transcript.json', QUIET), { transcript: true })
    expect(printed.indexOf('3 starts')).toBeGreaterThanOrEqual(0)
    expect(printed.indexOf('3 starts')).toBeLessThan(printed.indexOf('bully, seed 4'))
    printed = ''
    await runScenarioFile(file('transcript.json', QUIET), { transcript: true, json: true })
    expect(JSON.parse(printed)).toMatchObject({ seed: 4 })
  })

  it('checks further specifications with --spec', async () => {
    await runScenarioFile(file('spec.json', QUIET), { json: true, spec: ['one-leader'] })
    const { specs } = JSON.parse(printed) as { specs: { name: string }[] }
    expect(specs.map(({ name }) => name)).toContain('one-leader')
  })
})

describe('a wrong scenario file', () => {
  it('is reported with file, line and column of every problem', async () => {
    const bad = file(
      'bad.json',
      '{\n  "protocol": "bully",\n  "nodes": [1, 2],\n  "sed": 1,\n  "untilMs": -5\n}',
    )
    await expect(runScenarioFile(bad, {})).rejects.toMatchObject({
      field: 'untilMs',
      problems: [
        { field: 'untilMs', place: `${bad}:5:14` },
        { field: 'sed', place: `${bad}:4:10`, problem: 'unknown field; did you mean seed?' },
      ],
    })
  })

  it('is reported with the place of a step that is impossible when its turn comes', async () => {
    const bad = file(
      'step.json',
      '{ "protocol": "bully", "nodes": [1, 2],\n  "schedule": [\n    { "node": 1, "do": "crash" },\n    { "node": 1, "do": "crash" } ] }',
    )
    await expect(runScenarioFile(bad, {})).rejects.toThrow(`${bad}:4:5: schedule[1]: `)
  })

  it('is reported with the place of a syntax error', async () => {
    await expect(runScenarioFile(file('syntax.json', '{\n  "nodes": [1, 2\n}'), {})).rejects.toThrow(
      `${folder}/syntax.json:3:1: not JSON: expected "," or "]"`,
    )
  })
})

describe('--spec', () => {
  it('adds to the specifications of the run', () => {
    const one = findSpec('one-leader', '--spec')
    expect(one).toBe(specNamed('one-leader'))
    expect(addSpecs(['one-leader'], [one])).toEqual({ specs: [one, one] })
    expect(addSpecs([], [one])).toEqual({})
  })

  it('rejects an unknown name and lists the known ones', () => {
    expect(() => findSpec('unique', '--spec')).toThrow(
      /^--spec unique: unknown specification; use one of .+, /,
    )
  })
})
