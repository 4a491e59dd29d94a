import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Definition, define, type Effect, type Input, output, type Protocol } from '../../core/index.ts'
import type { Trace } from './ndjson.ts'
import type { TraceRecord } from './records.ts'
import { replay } from './replay.ts'

/** Counts its timers, and outputs the count; the timer "bad" fails. */
const counter: Protocol = {
  start: (stable) => ({ state: Number(stable ?? 0), effects: [] }),
  step(state, input) {
    if (input.type === 'timer' && input.name === 'bad')
      throw new Error(`cannot count beyond ${Number(state)}`)
    const next = Number(state) + 1
    return { state: next, effects: [output({ type: 'counted', next })] }
  },
  view: () => ({ role: 'follower', leader: null, token: null, until: null, members: null, detail: null }),
  shift: (state, by) => Number(state) + by,
}

const definition: Definition = define({
  name: 'counter',
  title: 'counts',
  source: 'a test',
  kinds: ['note'],
  prefers: 'lowest',
  order: 'any',
  options: () => z.strictObject({ size: z.number().default(1) }),
  create: () => counter,
  settlesWithin: () => 1,
})

const common = { at: 0, now: 0, sent: [], cutAfter: null, view: null }
const start = (node: number, stable: number | null = null): TraceRecord => ({
  ...common,
  type: 'start',
  node,
  effects: [],
  stable,
  settledOn: null,
})
const counted = (next: number): readonly Effect[] => [output({ type: 'counted', next })]
const step = (
  node: number,
  next: number | null,
  more: Partial<TraceRecord & { type: 'step' }> = {},
): TraceRecord => ({
  ...common,
  type: 'step',
  node,
  effects: next === null ? [] : counted(next),
  input: { type: 'timer', name: 'count' },
  message: null,
  ...more,
})
const BAD: Input = { type: 'timer', name: 'bad' }

const trace = (...records: readonly TraceRecord[]): Trace => ({
  header: { trace: 1, protocol: 'counter', nodes: [1, 2], options: {}, seed: 1 },
  records,
})

describe('a replay', () => {
  it('repeats every step of every node', () => {
    const records = [start(1), start(2, 7), step(1, 1), step(2, 8), step(1, 2)]
    expect(replay(trace(...records), definition)).toEqual({ steps: 5, difference: null, failure: null })
  })

  it('stops at the first step with other effects', () => {
    expect(replay(trace(start(1), step(1, 1), step(1, 5), step(1, 9)), definition)).toEqual({
      steps: 3,
      difference: { line: 4, node: 1, recorded: counted(5), replayed: counted(2) },
      failure: null,
    })
  })

  it('goes on from a restart with the stable data', () => {
    const records = [
      start(1),
      step(1, 1),
      { type: 'world', at: 1, event: { crash: 1 } } as const,
      start(1, 4),
    ]
    expect(replay(trace(...records, step(1, 5)), definition).difference).toBeNull()
  })

  it('keeps the state before a step that was rolled back', () => {
    const records = [start(1), step(1, 1, { takenBack: true }), step(1, 1)]
    expect(replay(trace(...records), definition).difference).toBeNull()
  })

  it('starts in the middle where the recording does', () => {
    const resume: TraceRecord = { type: 'resume', at: 0, node: 1, now: 0, state: 41 }
    expect(replay(trace(resume, step(1, 42)), definition).difference).toBeNull()
  })

  it('moves the instants of all nodes by a tick', () => {
    const tick: TraceRecord = { type: 'tick', at: 0, by: 3, views: [] }
    const records = [start(1, 10), start(2, 20), tick, step(1, 8), step(2, 18)]
    expect(replay(trace(...records), definition).difference).toBeNull()
  })
})

describe('a step that failed in the recording', () => {
  const failed = (error: string) => ({ failed: { error, isFatal: true } })

  it('is reported if it fails in the same way', () => {
    const records = [start(1), step(1, 1), step(1, null, { input: BAD, ...failed('cannot count beyond 1') })]
    expect(replay(trace(...records), definition)).toEqual({
      steps: 3,
      difference: null,
      failure: { line: 4, node: 1, error: 'cannot count beyond 1', isFatal: true },
    })
  })

  it('is a difference if it succeeds now, or fails in another way', () => {
    const now = replay(trace(start(1), step(1, null, failed('out of range'))), definition)
    expect(now.difference).toEqual({
      line: 3,
      node: 1,
      recorded: [],
      replayed: counted(1),
      errors: { recorded: 'out of range', replayed: null },
    })
    const other = replay(
      trace(start(1), step(1, null, { input: BAD, ...failed('out of range') })),
      definition,
    )
    expect(other.difference?.errors).toEqual({ recorded: 'out of range', replayed: 'cannot count beyond 0' })
  })
})

describe('a trace that the protocol did not write', () => {
  it.each<[string, Trace, string]>([
    ['unknown node', trace(start(3)), 'line 2: node 3 is not in the header'],
    ['no start', trace(step(1, 1)), 'line 2: node 1 steps before it has started'],
    [
      'failing step',
      trace(start(1), step(1, 1, { input: BAD })),
      'line 3: the code cannot take this step: cannot count beyond 0',
    ],
    [
      'settled start',
      trace({ ...start(1), settledOn: { leader: 1, members: [1] } } as TraceRecord),
      'line 2: this protocol cannot begin settled',
    ],
    [
      'wrong option',
      { ...trace(), header: { ...trace().header, options: { size: 'large' } } },
      'line 1: options.size: ',
    ],
  ])('names the line: %s', (_what, bad, message) => {
    expect(() => replay(bad, definition)).toThrow(message)
  })
})
