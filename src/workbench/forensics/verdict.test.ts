/** Replay and judgement of a recorded run: a protocol whose nodes lead on command, with a lease of 10 ms. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fires, resumeAt, runOf, startAt, stepAt } from '../../../test/support/handmade.ts'
import { type Definition, define, type Output, output, type Protocol } from '../../core/index.ts'
import type { Scale } from './clocks.ts'
import { eventsOf } from './merge.ts'
import { matchMessages } from './message-matching.ts'
import { checkedOptions, replayRuns } from './replay.ts'
import type { Run, StepRecord } from './runs.ts'
import { judge } from './verdict.ts'

type Lead = { readonly until: number; readonly token: number }
const LEASE = 10_000
/** Timer N: leads with token N, or stops for 0. Throws for -1. */
const protocol = (self: string): Protocol => ({
  start: () => ({ state: {}, effects: [] }),
  step(state, input, now) {
    if (input.type !== 'timer') return { state, effects: [] }
    const token = Number(input.name)
    if (token < 0) throw new Error('a negative token')
    const events: Output[] = token > 0 ? [{ type: 'elected', token }] : []
    return {
      state: token > 0 ? { until: now + LEASE, token } : {},
      effects: events.map((each) => output(each)),
    }
  },
  view(state, now) {
    const { until, token } = state as Partial<Lead>
    const leads = until !== undefined && now < until
    return {
      role: leads ? 'leader' : 'follower',
      leader: leads ? self : null,
      token: leads ? (token ?? null) : null,
      until: leads ? until : null,
      members: leads ? [self] : null,
      detail: null,
    }
  },
  shift: (state) => state,
})
const definition: Definition = define({
  name: 'test',
  title: 'a test',
  source: 'a test',
  kinds: [],
  promises: ['one-leader', 'tokens', 'LS'],
  options: () => z.strictObject({ x: z.number().default(1) }),
  create: ({ self }) => protocol(String(self)),
  settlesWithin: () => 0,
})
const lead = (now: number, token: number): StepRecord =>
  stepAt(now, fires(String(token)), [output({ type: 'elected', token })])
const stop = (now: number): StepRecord => stepAt(now, fires('0'))
const scaled = (error: number | null, ...ahead: readonly number[]): Scale => ({
  ahead,
  error,
  by: 'messages',
  drift: [],
})

function judged(runs: readonly Run[], scale: Scale) {
  const replayed = replayRuns(runs, definition)
  const events = eventsOf(runs, scale, matchMessages(runs))
  return judge(definition, { x: 1 }, runs, events, scale, replayed)
}
const verdictOn = (name: string, runs: readonly Run[], scale: Scale) =>
  judged(runs, scale).specs.find((spec) => spec.name === name)

describe('the verdict on a recorded run', () => {
  const a = runOf('a', [startAt(0), lead(1000, 1)])
  const b = (now: number): Run => runOf('b', [startAt(0), lead(now, 2)])

  it('rejects two leases that certainly overlap', () => {
    expect(verdictOn('one-leader', [a, b(5000)], scaled(0, 0, 0))).toEqual({
      name: 'one-leader',
      verdict: 'violated',
      atMs: 5,
      why: 'a and b lead at the same time',
    })
  })
  it('accepts leases that follow each other', () => {
    expect(verdictOn('one-leader', [a, b(11_000)], scaled(0, 0, 0))).toMatchObject({ verdict: 'held' })
  })
  it('compares leases on the common scale', () => {
    expect(verdictOn('one-leader', [a, b(105_000)], scaled(0, 0, -100_000))).toMatchObject({
      verdict: 'violated',
    })
  })
  it('shortens every lease by the error, so that each violation is real', () => {
    expect(verdictOn('one-leader', [a, b(9000)], scaled(1000, 0, 0))).toMatchObject({ verdict: 'violated' })
    expect(verdictOn('one-leader', [a, b(9000)], scaled(2000, 0, 0))).toMatchObject({ verdict: 'held' })
  })

  it('judges only what needs no clock where nothing relates the clocks', () => {
    const { specs } = judged([a, b(5000)], scaled(null, 0, 0))
    const why = 'not judged: no message relates the clocks of these hosts'
    expect(specs).toEqual([
      { name: 'one-leader', verdict: 'vacuous', why },
      { name: 'tokens', verdict: 'vacuous', why },
      { name: 'LS', verdict: 'held', judged: 2 },
    ])
  })

  it('lists the terms, from the first instant on', () => {
    const runs = [runOf('a', [startAt(500), lead(1500, 1), stop(4500)])]
    expect(judged(runs, scaled(0, 0)).leaderships).toMatchObject([
      { node: 'a', token: 1, fromMs: 1, untilMs: 4 },
    ])
  })

  it('takes a second run of a node for a crash of the first', () => {
    const again = runOf('a', [startAt(4000)], { run: 'a-1' })
    const runs = [a, again, b(5000)]
    expect(verdictOn('one-leader', runs, scaled(0, 0, 0, 0))).toMatchObject({ verdict: 'held' })
    expect(judged(runs, scaled(0, 0, 0, 0)).leaderships[0]).toMatchObject({ node: 'a', ended: 'crashed' })
  })

  it('does not take a gap in a recording for a restart', () => {
    const gap = runOf('a', [
      startAt(0),
      lead(1000, 1),
      resumeAt(3000, { until: 11_000, token: 1 }),
      stop(6000),
    ])
    expect(judged([gap], scaled(0, 0)).leaderships).toMatchObject([{ node: 'a', fromMs: 1, untilMs: 6 }])
  })

  it('ignores outputs of other groups of the process', () => {
    const foreign = output({ type: 'elected', token: 9, group: 'other' })
    const odd = runOf('a', [{ ...startAt(0), effects: [foreign] } as StepRecord])
    const events = eventsOf([odd], scaled(0, 0), matchMessages([odd]))
    const replayed = { steps: 0, difference: null, failures: [], views: new Map(), before: new Map() }
    expect(judge(definition, { x: 1 }, [odd], events, scaled(0, 0), replayed).leaderships).toEqual([])
  })
})

describe('the replay of recorded runs', () => {
  it('counts steps, and collects the views that changed and the states before each step', () => {
    const run = runOf('a', [startAt(0), lead(1000, 1), stop(2000), stop(3000)])
    const { steps, difference, failures, views, before } = replayRuns([run], definition)
    expect([steps, difference, failures]).toEqual([4, null, []])
    expect(run.steps.map((step) => views.get(step)?.role ?? null)).toEqual([
      'follower',
      'leader',
      'follower',
      null,
    ])
    expect(run.steps.map((step) => before.get(step))).toEqual([null, {}, { until: 11_000, token: 1 }, {}])
  })

  it('stops at the first difference, with its place', () => {
    const run = runOf('a', [startAt(0), stepAt(1000, fires('1')), stop(2000)])
    expect(replayRuns([run], definition)).toMatchObject({
      steps: 2,
      difference: {
        file: 'a-0.ndjson',
        line: 3,
        node: 'a',
        recorded: [],
        replayed: [output({ type: 'elected', token: 1 })],
      },
    })
  })

  it('keeps the state of a step that was rolled back', () => {
    const rolled = stepAt(1000, fires('1'), [output({ type: 'elected', token: 1 })], { takenBack: true })
    const run = runOf('a', [startAt(0), rolled, stop(2000)])
    expect(replayRuns([run], definition).before.get(run.steps[2] as never)).toEqual({})
  })

  it('reports a step that fails as it did before', () => {
    const failed = stepAt(1000, fires('-1'), [], { failed: { error: 'a negative token', isFatal: true } })
    expect(replayRuns([runOf('a', [startAt(0), failed])], definition).failures).toEqual([
      { file: 'a-0.ndjson', line: 3, node: 'a', error: 'a negative token', isFatal: true },
    ])
  })

  it('reports a step that no longer fails as a difference', () => {
    const failed = stepAt(1000, fires('0'), [], { failed: { error: 'a negative token', isFatal: true } })
    expect(replayRuns([runOf('a', [startAt(0), failed])], definition).difference?.errors).toEqual({
      recorded: 'a negative token',
      replayed: null,
    })
  })

  it.each<[string, readonly StepRecord[], string]>([
    [
      'steps before the start',
      [stop(1000)],
      'a-0.ndjson: line 2: the code cannot take this step: node a steps before it has started',
    ],
    [
      'a step that fails only now',
      [startAt(0), stepAt(1, fires('-1'))],
      'a-0.ndjson: line 3: the code cannot take this step: a negative token',
    ],
  ])('refuses %s', (_what, records, message) => {
    expect(() => replayRuns([runOf('a', records)], definition)).toThrow(message)
  })

  it('refuses options that the protocol does not have', () => {
    const run = runOf('a', [startAt(0)], { options: { x: 'text' } })
    expect(() => checkedOptions(definition, run, 'f')).toThrow(/^f: line 1: options\.x: /)
    expect(checkedOptions(definition, runOf('a', []), 'f')).toEqual({ x: 1 })
  })
})
