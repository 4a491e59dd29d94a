import { describe, expect, it } from 'vitest'
import type { PlainObject } from '../../core/index.ts'
import { bullyDefinition } from '../../protocols/bully/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { parseScenario, runScenario, traceHeader } from '../sim/index.ts'
import {
  diffTraces,
  InvalidTraceError,
  readTrace,
  replay,
  type Trace,
  type TraceRecord,
  Transcript,
  writeTrace,
} from './index.ts'

const STORY: PlainObject = {
  protocol: 'bully',
  nodes: [1, 2, 3],
  options: { detector: 'none' },
  initial: { leader: 3 },
  network: { delayMs: 10 },
  events: [
    { atMs: 100, crash: 3 },
    { atMs: 110, command: { node: 2, do: 'detect', of: 3 } },
    { atMs: 115, recover: 3 },
  ],
  untilMs: 1000,
}

function record(file: PlainObject): Trace {
  const scenario = parseScenario(file, catalogue)
  const records: TraceRecord[] = []
  runScenario(bullyDefinition, scenario, { record: (each) => records.push(each) })
  return { header: traceHeader(scenario), records }
}

describe('a trace', () => {
  const trace = record(STORY)

  it('reads back as it was written', () => {
    expect(readTrace(writeTrace(trace))).toEqual(trace)
  })

  it('is the same, byte for byte, for the same seed, and another for another seed', () => {
    const busy = { ...STORY, options: {}, network: { delayMs: [1, 9], loss: 0.1 }, clocks: { driftPpm: 50 } }
    const text = writeTrace(record({ ...busy, seed: 5 }))
    expect(writeTrace(record({ ...busy, seed: 5 }))).toBe(text)
    expect(writeTrace(record({ ...busy, seed: 6 }))).not.toBe(text)
  })

  it('replays to identical effects, with every layer and restart', () => {
    for (const file of [STORY, { ...STORY, options: {} }, { ...STORY, options: { repaired: false } }]) {
      const recorded = record(file)
      const result = replay(readTrace(writeTrace(recorded)), bullyDefinition)
      expect(result.difference).toBeNull()
      expect(result.steps).toBe(
        recorded.records.filter(({ type }) => type === 'step' || type === 'start').length,
      )
    }
  })

  it('reports where the code differs from the recording', () => {
    const other = {
      ...trace,
      header: { ...trace.header, options: { ...trace.header.options, answerTimeoutMs: 77 } },
    }
    const slow = record({
      ...STORY,
      nodes: [1, 2, 3, 4],
      initial: { leader: 4 },
      events: [
        { atMs: 1, crash: 4 },
        { atMs: 2, command: { node: 1, do: 'detect', of: 4 } },
      ],
    })
    expect(replay(other, bullyDefinition).difference).toBeNull()
    const changed = { ...slow, header: { ...slow.header, options: other.header.options } }
    expect(replay(changed, bullyDefinition).difference).toMatchObject({ node: 1 })
  })

  it('reports the first difference from another', () => {
    expect(diffTraces(trace, trace)).toBeNull()
    const later = record({ ...STORY, network: { delayMs: 11 } })
    const difference = diffTraces(trace, later)
    expect(difference?.left).toMatchObject({ at: 120_000 })
    expect(difference?.right).toMatchObject({ at: 121_000 })
    expect(diffTraces(trace, { ...trace, records: trace.records.slice(0, 2) })).toMatchObject({
      line: 4,
      right: null,
    })
  })

  it('has a readable transcript', () => {
    const transcript = new Transcript({ ...bullyDefinition, all: false })
    const lines = trace.records.map((each) => transcript.line(each))
    expect(lines.filter((line) => line !== null)).toEqual([
      '       0.000 ms  1 starts: follows 3',
      '       0.000 ms  2 starts: follows 3',
      '       0.000 ms  3 starts: persists; LEADS',
      '     100.000 ms  -- crash 3 --',
      '     110.000 ms  -- command {"node":2,"do":"detect","of":3} --',
      '     110.000 ms  2 command detect(of 3): persists; coordinator(id 2) to 1; LEADS',
      '     115.000 ms  -- recover 3 --',
      '     115.000 ms  3 starts: coordinator(id 3) to 1, 2; LEADS',
      '     120.000 ms  1 receives coordinator(id 2) from 2: follows 2',
      '     125.000 ms  1 receives coordinator(id 3) from 3: follows 3',
      '     125.000 ms  2 receives coordinator(id 3) from 3: coordinator(id 3) to 1; follows 3',
      '     135.000 ms  1 receives coordinator(id 3) from 2',
    ])
  })
})

describe('a bad trace', () => {
  const good = writeTrace(record(STORY)).split('\n')
  it.each([
    ['', 'empty'],
    ['{"trace":1}', 'line 1: protocol: is missing: write a string'],
    ['{"trace":2}', 'line 1: trace: must be 1'],
    ['hello', 'line 1 is not JSON'],
    [`${good[0]}\n{"type":"jump","at":1}`, 'line 2: type'],
    [`${good[0]}\n{"type":"step","at":1}`, 'line 2: node'],
    [`${good[0]}\n${good[1]?.slice(0, 30)}`, 'line 2 is not JSON'],
  ])('%j is refused with its line', (text, message) => {
    expect(() => readTrace(text)).toThrow(InvalidTraceError)
    expect(() => readTrace(text)).toThrow(message)
  })

  it('with nodes that are not in its header, or that step before they start, is refused', () => {
    const trace = record(STORY)
    const foreign = { ...trace, header: { ...trace.header, nodes: [1, 2] } }
    expect(() => replay(foreign, bullyDefinition)).toThrow('line 4: node 3 is not in the header')
    const headless = { ...trace, records: trace.records.filter(({ type }) => type !== 'start') }
    expect(() => replay(headless, bullyDefinition)).toThrow('steps before it has started')
  })

  it('with unknown options or messages is refused with its line', () => {
    const trace = record(STORY)
    const foolish = { ...trace, header: { ...trace.header, options: { detector: 'psychic' } } }
    expect(() => replay(foolish, bullyDefinition)).toThrow(
      'line 1: options.detector: "psychic" is not one of',
    )
    const garbled = trace.records.map((each) =>
      each.type === 'step' && each.input.type === 'message'
        ? { ...each, input: { ...each.input, body: { kind: 'boss' } } }
        : each,
    )
    expect(() => replay({ ...trace, records: garbled }, bullyDefinition)).toThrow(
      /line \d+: the code cannot take this step/,
    )
  })
})
