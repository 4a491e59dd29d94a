import { describe, expect, it } from 'vitest'
import { fires, hears, resumeAt, runOf, sends, startAt, stepAt } from '../../../test/support/handmade.ts'
import { carriedOut, matchMessages } from './message-matching.ts'
import type { Placed, Run } from './runs.ts'

const ping = (n: number) => ({ kind: 'ping', n })
const stepOf = (run: Run, place: number): Placed => {
  const step = run.steps[place]
  if (step === undefined) throw new Error(`no step ${place}`)
  return step
}

describe('a message', () => {
  it('is matched to its receipt by sender, receiver and content', () => {
    const a = runOf('a', [startAt(10, [sends('b', ping(1)), sends('c', ping(1))])])
    const b = runOf('b', [startAt(5), stepAt(107, hears('a', ping(1)))])
    const { records, sentBy, receivedBy } = matchMessages([a, b])
    expect(records).toEqual([
      { number: 0, from: 0, sent: 10, kind: 'ping', receipts: [{ by: 1, at: 107, step: stepOf(b, 1) }] },
      { number: 1, from: 0, sent: 10, kind: 'ping', receipts: [] },
    ])
    expect(sentBy(stepOf(a, 0))).toEqual([0, 1])
    expect([receivedBy(stepOf(b, 1)), receivedBy(stepOf(b, 0)), sentBy(stepOf(b, 0))]).toEqual([0, null, []])
  })

  it('does not depend on the order of its fields', () => {
    const a = runOf('a', [startAt(10, [sends('b', { kind: 'x', p: 1, q: 2 })])])
    const b = runOf('b', [stepAt(20, hears('a', { q: 2, p: 1, kind: 'x' }))])
    expect(matchMessages([a, b]).receivedBy(stepOf(b, 0))).toBe(0)
  })

  it('that was duplicated by the network has two receipts', () => {
    const a = runOf('a', [startAt(10, [sends('b', ping(1))])])
    const b = runOf('b', [stepAt(20, hears('a', ping(1))), stepAt(30, hears('a', ping(1)))])
    expect(matchMessages([a, b]).records[0]?.receipts.map(({ at }) => at)).toEqual([20, 30])
  })

  it('is not matched if the same content was sent twice', () => {
    const a = runOf('a', [startAt(10, [sends('b', ping(1))]), stepAt(20, fires('t'), [sends('b', ping(1))])])
    const b = runOf('b', [stepAt(30, hears('a', ping(1)))])
    const { records, receivedBy } = matchMessages([a, b])
    expect([records.length, receivedBy(stepOf(b, 0))]).toEqual([2, null])
  })

  it('is not matched to another sender or content', () => {
    const a = runOf('a', [startAt(10, [sends('b', ping(1))])])
    const b = runOf('b', [stepAt(20, hears('c', ping(1))), stepAt(30, hears('a', ping(2)))])
    const { receivedBy } = matchMessages([a, b])
    expect(b.steps.map(receivedBy)).toEqual([null, null])
  })

  it('of an earlier run of the node counts as well', () => {
    const before = runOf('a', [startAt(10, [sends('b', ping(1))])], { run: 'a-0' })
    const again = runOf('a', [startAt(50)], { run: 'a-1' })
    const b = runOf('b', [stepAt(60, hears('a', ping(1)))])
    expect(matchMessages([before, again, b]).records[0]).toMatchObject({ from: 0, sent: 10 })
  })
})

describe('the effects that were carried out', () => {
  const effects = [sends('b', ping(1)), sends('b', ping(2))]
  const done = (record: Parameters<typeof runOf>[1][number]): number =>
    carriedOut(stepOf(runOf('a', [record]), 0)).length

  it.each([
    ['all of a start', startAt(1, effects), 2],
    ['all of a step', stepAt(1, fires('t'), effects), 2],
    ['those before a crash', stepAt(1, fires('t'), effects, { cutAfter: 1 }), 1],
    ['none of a step that was rolled back', stepAt(1, fires('t'), effects, { takenBack: true }), 0],
    [
      'none of a step that failed',
      stepAt(1, fires('t'), effects, { failed: { error: 'x', isFatal: false } }),
      0,
    ],
    ['none of a resume', resumeAt(1, {}), 0],
  ])('are %s', (_what, record, count) => {
    expect(done(record)).toBe(count)
  })
})
