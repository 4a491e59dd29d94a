/** Assumptions that a recorded run broke, each with the exact finding, on handmade recordings. */
import { describe, expect, it } from 'vitest'
import { fires, type Handmade, hears, runOf, sends, startAt, stepAt } from '../../../test/support/handmade.ts'
import { type Definition, define, type Effect, type Plain, type PlainObject } from '../../core/index.ts'
import { brokenAssumptions, type Known } from './assumptions.ts'
import type { Scale } from './clocks.ts'
import { matchMessages } from './message-matching.ts'
import type { Placed, Run, StepRecord } from './runs.ts'

/** Messages within 5 ms, fast ones within 2 ms, timers at most 1 ms late. */
const definition: Definition = define({
  name: 'test',
  title: 'a test',
  source: 'a test',
  kinds: ['ping'],
  create: () => {
    throw new Error('is not run')
  },
  settlesWithin: () => 0,
  timeliness: () => ({ delay: 5000, fast: 2000, lateness: 1000 }),
  constants: () => ({ leastDelay: 0, rhoPpm: 0 }),
})
const SCALE: Scale = { ahead: [0, 0, 0], error: 0, by: 'messages', drift: [] }

function broken(
  runs: readonly Run[],
  known: Partial<Known> = {},
  before: ReadonlyMap<Placed, Plain> = new Map(),
): readonly string[] {
  const replayed = { steps: 0, difference: null, failures: [], views: new Map(), before }
  const messages = matchMessages(runs)
  const all = { definition, options: { rhoPpm: 100 }, runs, messages, scale: SCALE, replayed, begin: 0 }
  return brokenAssumptions({ ...all, ...known }).map(({ touches, text }) => `${touches}: ${text}`)
}
const ping = { kind: 'ping', n: 1 }
const timerAt = (name: string, at: number | readonly [number, number]): Effect => ({
  type: 'setTimer',
  name,
  at,
})

it('a run within all bounds breaks none', () => {
  const a = runOf('a', [startAt(0, [timerAt('t', 1000)]), stepAt(2000, fires('t'), [sends('b', ping)])])
  const b = runOf('b', [startAt(0), stepAt(7000, hears('a', ping))])
  expect(broken([a, b])).toEqual([])
})

describe('options', () => {
  const configured = (node: string, options: PlainObject): Run => runOf(node, [startAt(0)], { options })
  it('that differ are reported field by field, also where one is missing', () => {
    expect(broken([configured('a', { x: 1, y: 2, z: 3 }), configured('b', { x: 1, y: 5 })])).toEqual([
      'safety: a and b are configured differently: y is 2 and 5',
      'safety: a and b are configured differently: z is 3 and null',
    ])
  })
  it('that are equal are not reported', () => {
    expect(broken([configured('a', { x: [1] }), configured('b', { x: [1] })])).toEqual([])
  })
})

describe('stable data', () => {
  const persists = (data: Plain): Effect => ({ type: 'persist', stable: { upper: { g: data } } })
  const joins = (now: number, stable: Plain): StepRecord =>
    stepAt(now, { type: 'command', command: { do: 'join', group: 'g', spec: {}, stable } })
  const first = runOf('a', [startAt(0), stepAt(10, fires('t'), [persists(1), persists(2)])], { run: 'a-0' })
  const again = (stable: Plain, made: Handmade = {}): Run =>
    runOf('a', [startAt(5000), joins(5000, stable)], { run: 'a-1', ...made })
  const LOST = 'its stable data was lost, or it has no data directory (--data)'

  it('that a restarted node finds again is fine', () => {
    expect(broken([first, again(2)])).toEqual([])
  })
  it('that a restarted node no longer has is lost', () => {
    expect(broken([first, again(null)])).toEqual([
      `safety: a started at 5.0 ms without data, although it had stored data before: ${LOST}`,
    ])
  })
  it('that is older than what was stored last is lost as well', () => {
    expect(broken([first, again(1)])).toEqual([
      `safety: a started at 5.0 ms with older data than it had stored last: ${LOST}`,
    ])
  })
  it('that another group stored does not count', () => {
    const other = runOf('a', [startAt(0, [{ type: 'persist', stable: { upper: { h: 1 } } }])], { run: 'a-0' })
    expect(broken([other, again(null)])).toEqual([])
  })
  it('may come from the data at the start instead of the join', () => {
    const whole = runOf('a', [startAt(5000, [], { upper: { g: 1 } })], { run: 'a-1' })
    expect(broken([first, whole])).toEqual([
      `safety: a started at 5.0 ms with older data than it had stored last: ${LOST}`,
    ])
  })
  it('is missing if others heard the node before its first recorded start', () => {
    const b = runOf('b', [startAt(0), stepAt(1000, hears('a', ping))])
    const a = runOf('a', [startAt(5000), joins(5000, null)])
    expect(broken([a, b])).toEqual([
      `safety: a started at 5.0 ms without data, although other nodes had heard it before: ${LOST}`,
    ])
    const unsure = { ...SCALE, error: 4000 }
    expect(broken([a, b], { scale: unsure })).toEqual([])
  })
})

describe('clocks', () => {
  const drift: Scale = { ...SCALE, drift: [{ a: 0, b: 1, ppm: 512.4 }] }
  const a = runOf('a', [startAt(0)])
  it('that drift apart too fast are reported', () => {
    expect(broken([a, runOf('b', [startAt(0)])], { scale: drift })).toEqual([
      'safety: the clocks of a and b drifted apart by at least 512 ppm; each may drift by 100 (rhoPpm)',
    ])
  })
  it('are not blamed for a host that slept, which is reported by itself', () => {
    const b = runOf('b', [startAt(0), stepAt(3000, { type: 'suspended', by: 2_500_000 })])
    expect(broken([a, b], { scale: drift, begin: 1000 })).toEqual([
      'progress: the host of b slept for 2500.0 ms, noticed at 2.0 ms',
    ])
  })
})

describe('timers', () => {
  it('that fire too late are counted, with the worst', () => {
    const steps = [
      startAt(0, [timerAt('t', 1000), timerAt('u', [2000, 3000])]),
      stepAt(2500, fires('t'), [timerAt('t', 5000)]),
      stepAt(4001, fires('u')),
      stepAt(9000, fires('t')),
    ]
    expect(broken([runOf('a', steps)])).toEqual([
      'progress: a acted too late 3 times, by 4.0 ms at 9.0 ms (σ = 1.0 ms): it was stopped, or had no CPU time',
    ])
  })
  it('are on time up to the bound, and if they were moved or stopped', () => {
    const stop: Effect = { type: 'stopTimer', name: 't' }
    const steps = [
      startAt(0, [timerAt('t', 1000)]),
      stepAt(2000, fires('t'), [timerAt('t', 3000)]),
      stepAt(2500, fires('x'), [timerAt('t', 9000)]),
      stepAt(9500, fires('t'), [timerAt('t', 9600)]),
      stepAt(9600, fires('x'), [stop]),
      stepAt(30_000, fires('t')),
    ]
    expect(broken([runOf('a', steps)])).toEqual([])
  })
})

describe('messages', () => {
  const sent = (n: number) => ({ kind: 'ping', n })
  const a = runOf('a', [startAt(0, [sends('b', sent(1)), sends('b', sent(2)), sends('b', sent(3))])])

  it('that take too long are counted by link, with the slowest', () => {
    const b = runOf('b', [
      startAt(0),
      stepAt(5000, hears('a', sent(1))),
      stepAt(5001, hears('a', sent(2))),
      stepAt(8200, hears('a', sent(3))),
    ])
    expect(broken([a, b])).toEqual([
      'progress: 2 messages from a to b took longer than δ = 5.0 ms, the slowest 8.2 ms',
    ])
  })
  it('are judged on the common scale, less its error', () => {
    const b = runOf('b', [stepAt(108_000, hears('a', sent(1)))])
    const at = (scale: Partial<Scale>) =>
      broken([a, b], { scale: { ...SCALE, ahead: [0, -100_000], ...scale } })
    expect(at({})).toHaveLength(1)
    expect(at({ error: 3000 })).toEqual([])
    expect(at({ error: null })).toEqual([])
  })

  it('that counted as fast although they were not touch safety', () => {
    const datagram = {
      kind: 'datagram',
      by: 1,
      for: 1,
      number: 1,
      sent: 3900,
      awake: null,
      echo: { sent: 100, received: 100 },
      body: null,
    }
    const sender = runOf('a', [stepAt(0, fires('t'), [sends('b', datagram)])])
    const receiver = runOf('b', [stepAt(4000, hears('a', datagram))])
    const layer = { startedAt: 0, incarnation: 1 }
    const before = new Map([[receiver.steps[0] as Placed, { layer } as unknown as Plain]])
    const [first] = broken([sender, receiver], {}, before)
    expect(first).toBe(
      'safety: a message from a to b took 4.0 ms and counted as fast (Δ = 2.0 ms), at 4.0 ms: a clock was wrong, or a message took less than δmin',
    )
    const other = new Map([[receiver.steps[0] as Placed, { layer: { ...layer, incarnation: 2 } } as Plain]])
    expect(broken([sender, receiver], {}, other)).toEqual([])
    expect(broken([sender, receiver])).toEqual([])
  })
})

describe('writes', () => {
  it('that failed are counted, with the first', () => {
    const back = { takenBack: true } as const
    const steps = [startAt(0), stepAt(1500, fires('t'), [], back), stepAt(2500, fires('t'), [], back)]
    expect(broken([runOf('a', steps)], { begin: 500 })).toEqual([
      'progress: a could not store its data 2 times, first at 1.0 ms: it gave no vote then',
    ])
  })
})
