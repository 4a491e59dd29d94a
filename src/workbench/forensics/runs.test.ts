import { describe, expect, it } from 'vitest'
import { fileOf, fires, resumeAt, startAt, stepAt } from '../../../test/support/handmade.ts'
import { runsOf, type TraceFile } from './runs.ts'

const times = (files: readonly TraceFile[]): readonly (readonly number[])[] =>
  runsOf(files).map(({ steps }) => steps.map(({ record }) => record.now))
const step = (now: number) => stepAt(now, fires('t'))

describe('traces of one run', () => {
  it('become one run, with the file and line of every step', () => {
    const [run] = runsOf([fileOf('a', [startAt(10), step(20)])])
    expect(run).toMatchObject({ node: 'a', skipped: 0 })
    expect(run?.steps.map(({ file, line }) => [file, line])).toEqual([
      ['a-0.ndjson', 2],
      ['a-0.ndjson', 3],
    ])
  })

  it('count steps that are in both traces once', () => {
    const first = fileOf('a', [startAt(10), step(20), step(30)])
    const second = fileOf('a', [resumeAt(10, {}), step(20), step(30), step(40)], { skipped: 1 })
    expect(times([second, first])).toEqual([[10, 20, 30, 40]])
    expect(runsOf([second, first])[0]?.skipped).toBe(0)
  })

  it('keep the resume where steps between the traces are missing, and count these steps', () => {
    const first = fileOf('a', [startAt(10), step(20)])
    const second = fileOf('a', [resumeAt(50, {}), step(60)], { skipped: 5 })
    const [run] = runsOf([first, second])
    expect(run?.steps.map(({ record }) => [record.type, record.now])).toEqual([
      ['start', 10],
      ['step', 20],
      ['resume', 50],
      ['step', 60],
    ])
    expect(run?.skipped).toBe(3)
  })

  it('count the steps before the first trace as missing', () => {
    expect(runsOf([fileOf('a', [resumeAt(50, {}), step(60)], { skipped: 7 })])[0]?.skipped).toBe(7)
  })

  it('take header and recording from the trace that was taken last', () => {
    const early = fileOf('a', [startAt(10)], { takenAt: 10, wallAhead: 1 })
    const late = fileOf('a', [startAt(10), step(20)], { takenAt: 20, wallAhead: 2 })
    expect(runsOf([late, early])[0]?.recording.wallAhead).toBe(2)
  })
})

describe('runs', () => {
  it('are ordered by node, and the runs of a node by their end on the wall clock', () => {
    const run = (node: string, name: string, takenAt: number, wallAhead: number): TraceFile =>
      fileOf(node, [startAt(1)], { run: name, takenAt, wallAhead })
    const all = [run('b', 'x', 1, 0), run('a', 'late', 5, 100), run('a', 'early', 50, 0)]
    expect(runsOf(all).map(({ node, recording }) => [node, recording.run])).toEqual([
      ['a', 'early'],
      ['a', 'late'],
      ['b', 'x'],
    ])
  })
})

describe('a trace that real processes did not record', () => {
  const good = fileOf('a', [startAt(10)])
  const refused = (change: (file: TraceFile) => TraceFile): string => {
    try {
      runsOf([change(good)])
    } catch (error) {
      return (error as Error).message
    }
    return 'accepted'
  }

  it('is refused without a recording in its header', () => {
    const without = ({ file, trace }: TraceFile): TraceFile => {
      const { recording: _, ...header } = trace.header
      return { file, trace: { ...trace, header } }
    }
    expect(refused(without)).toBe(
      'a-0.ndjson: not a trace of a real process; replay it alone (conclave replay a-0.ndjson)',
    )
  })

  it('is refused with events of a world', () => {
    const world = ({ file, trace }: TraceFile): TraceFile => ({
      file,
      trace: { ...trace, records: [...trace.records, { type: 'world', at: 0, event: {} }] },
    })
    expect(refused(world)).toBe('a-0.ndjson: line 3: must be a start, step or resume, not world')
  })

  it('is refused with steps of another node', () => {
    const other = ({ file, trace }: TraceFile): TraceFile => ({
      file,
      trace: { ...trace, records: trace.records.map((record) => ({ ...record, node: 'b' })) },
    })
    expect(refused(other)).toBe('a-0.ndjson: line 2: belongs to b, but the header to a')
  })
})
