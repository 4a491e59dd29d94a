import { describe, expect, it } from 'vitest'
import { fires, hears, resumeAt, runOf, sends, startAt, stepAt } from '../../../test/support/handmade.ts'
import type { View } from '../../core/index.ts'
import type { Scale } from './clocks.ts'
import { eventsOf, mergedTrace } from './merge.ts'
import { matchMessages } from './message-matching.ts'
import type { Placed, Run } from './runs.ts'

const scaled = (...ahead: readonly number[]): Scale => ({ ahead, error: 0, by: 'messages', drift: [] })
const ping = { kind: 'ping' }

describe('the events of several processes', () => {
  it('are ordered by the common scale', () => {
    const runs = [
      runOf('a', [startAt(10), stepAt(30, fires('t'))]),
      runOf('b', [startAt(1000), stepAt(1015, fires('t'))]),
    ]
    const events = eventsOf(runs, scaled(0, -990), matchMessages(runs))
    expect(events.map(({ at, run, step }) => [at, run, step.record.type])).toEqual([
      [10, 0, 'start'],
      [10, 1, 'start'],
      [25, 1, 'step'],
      [30, 0, 'step'],
    ])
  })

  it('put the sender before the receiver within one microsecond', () => {
    const receiver = runOf('a', [stepAt(10, hears('b', ping))])
    const sender = runOf('b', [stepAt(10, fires('t'), [sends('a', ping)])])
    const runs = [receiver, sender]
    expect(eventsOf(runs, scaled(0, 0), matchMessages(runs)).map(({ run }) => run)).toEqual([1, 0])
  })

  it('keep the order of each process, also within one microsecond', () => {
    const runs = [runOf('a', [stepAt(10, hears('b', ping)), stepAt(10, fires('t'))])]
    const events = eventsOf(runs, scaled(0), matchMessages(runs))
    expect(events.map(({ step }) => step.line)).toEqual([2, 3])
  })
})

describe('the merged trace', () => {
  const view: View = { role: 'leader', leader: 'a', token: 1, until: null, members: null, detail: null }
  const a = runOf('a', [startAt(100, [sends('b', ping)])])
  const b = runOf('b', [resumeAt(1090, { x: 1 }), stepAt(1120, hears('a', ping))])
  const runs: readonly Run[] = [a, b]
  const messages = matchMessages(runs)
  const views = new Map<Placed, View>([[a.steps[0] as Placed, view]])
  const trace = mergedTrace(a.header, eventsOf(runs, scaled(0, -990), messages), messages, views)

  it('starts at 0, without the recording of a single process', () => {
    expect(trace.records.map(({ at }) => at)).toEqual([0, 0, 30])
    expect('recording' in trace.header).toBe(false)
    expect(trace.header.nodes).toEqual(['a', 'b', 'c'])
  })

  it('numbers messages, and holds the views that changed', () => {
    const [start, resume, step] = trace.records
    expect(start).toMatchObject({ type: 'start', sent: [0], view })
    expect(resume).toMatchObject({ type: 'resume', state: { x: 1 } })
    expect(step).toMatchObject({ type: 'step', sent: [], message: 0, view: null })
  })
})
