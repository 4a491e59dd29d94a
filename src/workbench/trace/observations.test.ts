import { describe, expect, it } from 'vitest'
import type { Effect } from '../../core/index.ts'
import { idleness, isLeading } from './is-leading.ts'
import { observationsOf } from './observations.ts'
import type { TraceRecord } from './records.ts'

type StartOrStep = TraceRecord & { readonly type: 'start' | 'step' }

const elected: Effect = { type: 'output', event: { type: 'elected' } }
const demoted: Effect = { type: 'output', event: { type: 'demoted' } }
const persist: Effect = { type: 'persist', stable: null }

const common = { at: 7, node: 2, now: 9, sent: [], cutAfter: null, view: null }
const step = (more: Partial<StartOrStep & { type: 'step' }> = {}): TraceRecord => ({
  type: 'step',
  ...common,
  effects: [persist, elected, demoted],
  input: { type: 'timer', name: 'beat' },
  message: null,
  ...more,
})
const output = (type: string) => ({ type: 'output', at: 7, node: 2, event: { type } })
const down = { type: 'down', at: 7, node: 2 }
const up = { type: 'up', at: 7, node: 2 }

describe('a step', () => {
  it('shows its outputs in order, and no other effect', () => {
    expect(observationsOf(step())).toEqual([output('elected'), output('demoted')])
  })

  it('that was cut shows the outputs before the cut, and the crash', () => {
    expect(observationsOf(step({ cutAfter: 2 }))).toEqual([output('elected'), down])
    expect(observationsOf(step({ cutAfter: 0 }))).toEqual([down])
  })

  it('that was rolled back shows nothing', () => {
    expect(observationsOf(step({ takenBack: true }))).toEqual([])
  })

  it('that failed for good ends its node; a dropped message does not', () => {
    expect(observationsOf(step({ failed: { error: 'x', isFatal: true } }))).toEqual([down])
    const dropped = step({ failed: { error: 'x', isFatal: false }, effects: [] })
    expect(observationsOf(dropped)).toEqual([])
  })
})

it('a start comes up before its outputs', () => {
  const start: TraceRecord = { type: 'start', ...common, effects: [elected], stable: null, settledOn: null }
  expect(observationsOf(start)).toEqual([up, output('elected')])
})

it('a recording that begins in the middle comes up where it resumes', () => {
  expect(observationsOf({ type: 'resume', at: 7, node: 2, now: 9, state: null })).toEqual([up])
})

describe('an event of the world', () => {
  const world = (event: TraceRecord & { type: 'world' } extends { event: infer E } ? E : never) =>
    observationsOf({ type: 'world', at: 7, event })

  it('is a crash in a scenario and in a schedule', () => {
    expect(world({ crash: 2 })).toEqual([down])
    expect(world({ do: 'crash', node: 2 })).toEqual([down])
    expect(world({ crash: 'b' })).toEqual([{ ...down, node: 'b' }])
  })

  it('is no crash yet if it only arms one', () => {
    expect(world({ crash: 2, afterEffects: 1 })).toEqual([])
  })

  it('is nothing to observe otherwise', () => {
    expect(world({ cut: [[1, 2]] })).toEqual([])
    expect(observationsOf({ type: 'tick', at: 7, by: 1, views: [] })).toEqual([])
    expect(observationsOf({ type: 'lost', at: 7, message: 1, why: 'cut' })).toEqual([])
  })
})

describe('a leader', () => {
  it.each([
    [null, null],
    [undefined, null],
    [{}, null],
    [{ willing: false }, null],
    [{ inQuorum: true }, null],
    [{ inQuorum: true, willing: true }, null],
    [{ inQuorum: false }, 'out of quorum'],
    [{ inQuorum: false, willing: false }, 'out of quorum'],
    [{ inQuorum: true, willing: false }, 'would not lead'],
  ] as const)('with the detail %j is idle: %j', (detail, reason) => {
    expect(idleness(detail)).toBe(reason)
    expect(isLeading('leader', detail)).toBe(reason === null)
  })

  it('is no other role', () => {
    for (const role of ['follower', 'candidate', 'crashed'] as const)
      expect(isLeading(role, null)).toBe(false)
  })
})
