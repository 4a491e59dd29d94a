import { describe, expect, it } from 'vitest'
import type { Moment, Picture, Verdict } from '../engine/picture.ts'
import { createSession } from '../engine/session.ts'
import {
  advance,
  advanceFilm,
  cursorAt,
  cursorAtMoment,
  endOf,
  nextSpeed,
  SHOT_MS,
  SPEEDS,
  START,
  stepFrom,
  violationsOf,
  withinSpeeds,
} from './playback.ts'
import type { Cursor } from './types.ts'

function moment(at: number, change: Partial<Moment> = {}): Moment {
  return {
    at,
    node: 1,
    kind: 'timer',
    message: null,
    text: `at ${at}`,
    isLeadership: false,
    isRoutine: false,
    ...change,
  }
}

function picture(moments: readonly Moment[], verdicts: readonly Verdict[] = []): Picture {
  return {
    protocol: 'bully',
    nodes: [1, 2],
    seed: 1,
    isUntimed: false,
    endsAt: 10_000,
    cutShort: null,
    moments,
    flights: [],
    lanes: [],
    networks: [],
    verdicts,
    goals: [],
    commands: [],
  }
}

const violated = (at: number | null, index: number | null): Verdict => ({
  name: 'one-leader',
  title: '',
  verdict: 'violated',
  why: 'two lead',
  judged: 1,
  at,
  moment: index,
})

/** Two moments share the instant 1000; number 3 is a heartbeat. */
const RUN = picture([
  moment(0),
  moment(1000),
  moment(1000, { kind: 'message', message: 7 }),
  moment(2000, { kind: 'message', message: 8, isRoutine: true }),
  moment(5000, { isLeadership: true }),
])

describe('a cursor', () => {
  it('at an instant is after everything that happened at it', () => {
    expect(cursorAt(RUN, 999)).toEqual({ at: 999, moment: 0 })
    expect(cursorAt(RUN, 1000)).toEqual({ at: 1000, moment: 2 })
    expect(cursorAt(RUN, -5)).toEqual({ at: 0, moment: 0 })
    expect(cursorAt(RUN, 99_999)).toEqual({ at: 10_000, moment: 4 })
  })

  it('at a moment tells apart moments of one instant', () => {
    expect(cursorAtMoment(RUN, 1)).toEqual({ at: 1000, moment: 1 })
    expect(cursorAtMoment(RUN, -1)).toEqual(START)
    expect(cursorAtMoment(RUN, 99)).toEqual({ at: 5000, moment: 4 })
  })
})

describe('a step', () => {
  const steps = (kind: 'record' | 'event' | 'message' | 'leadership', direction: 1 | -1, from: Cursor) => {
    const seen: number[] = []
    for (let at: Cursor | null = from, count = 0; at !== null && count < 20; count++) {
      at = stepFrom(RUN, at, kind, direction)
      if (at !== null) seen.push(at.moment)
    }
    return seen
  }

  it('by record stops everywhere, and then at the end', () => {
    expect(steps('record', 1, START)).toEqual([0, 1, 2, 3, 4, 4])
    expect(steps('record', -1, endOf(RUN))).toEqual([4, 3, 2, 1, 0, -1])
  })

  it('by event leaves out heartbeats, by message everything but messages', () => {
    expect(steps('event', 1, START)).toEqual([0, 1, 2, 4, 4])
    expect(steps('message', 1, START)).toEqual([2])
    expect(steps('message', -1, endOf(RUN))).toEqual([2])
  })

  it('by leadership and by violation finds those moments only', () => {
    expect(steps('leadership', 1, START)).toEqual([4])
    const run = picture(RUN.moments, [violated(2000, 3)])
    expect(stepFrom(run, START, 'violation', 1)).toEqual({ at: 2000, moment: 3 })
    expect(stepFrom(run, cursorAtMoment(run, 3), 'violation', 1)).toBeNull()
  })

  it('back from between two moments returns to the earlier one first', () => {
    expect(stepFrom(RUN, { at: 1500, moment: 2 }, 'record', -1)).toEqual({ at: 1000, moment: 2 })
  })
})

describe('violationsOf', () => {
  it('gives a violation without a moment to the last moment before', () => {
    expect(violationsOf(picture(RUN.moments, [violated(3000, null), violated(1000, 1)]))).toEqual([1, 3])
  })
})

describe('playing', () => {
  const settings = { elapsedMs: 16, speed: 0.1, pausesAtViolation: true }

  it('moves by true time, scaled by the speed', () => {
    expect(advance(RUN, START, settings).cursor).toEqual({ at: 1600, moment: 2 })
    expect(advance(RUN, START, { ...settings, speed: 0.001 }).cursor).toEqual({ at: 16, moment: 0 })
  })

  it('stops at the end', () => {
    expect(advance(RUN, START, { ...settings, speed: 100 })).toMatchObject({
      cursor: endOf(RUN),
      stopped: 'end',
    })
  })

  it('stops at the first violation on the way, unless that is switched off', () => {
    const run = picture(RUN.moments, [violated(2000, 3)])
    const fast = { ...settings, speed: 100 }
    expect(advance(run, START, fast)).toMatchObject({ cursor: { moment: 3 }, stopped: 'violation' })
    expect(advance(run, cursorAtMoment(run, 3), fast)).toMatchObject({ stopped: 'end' })
    expect(advance(run, START, { ...fast, pausesAtViolation: false })).toMatchObject({ stopped: 'end' })
  })

  it('does not jump after a long time without frames', () => {
    expect(advance(RUN, START, { ...settings, elapsedMs: 60_000, speed: 0.001 }).cursor.at).toBe(250)
  })

  it('as a film shows each event for the same time, also events of one instant', () => {
    let cursor = START
    let shownMs = 0
    const shown: number[] = []
    for (let frames = 0; frames < 200; frames++) {
      const next = advanceFilm(RUN, cursor, {
        shownMs,
        elapsedMs: SHOT_MS / 10,
        speed: 1,
        pausesAtViolation: true,
      })
      cursor = next.cursor
      shownMs = next.shownMs
      shown.push(cursor.moment)
      if (next.stopped === 'end') break
    }
    const frames = (index: number): number => shown.filter((each) => each === index).length
    expect(shown.at(-1)).toBe(4)
    expect([frames(0), frames(1)]).toEqual([10, 10])
    expect(frames(2) + frames(3)).toBe(10)
    expect(cursor.at).toBe(RUN.endsAt)
  })
})

describe('speeds', () => {
  it('range from a thousandth to a hundredfold', () => {
    expect([SPEEDS[0], SPEEDS.at(-1)]).toEqual([0.001, 100])
    expect(nextSpeed(0.001, -1)).toBe(0.001)
    expect(nextSpeed(1, 1)).toBe(2)
    expect(nextSpeed(0.3, -1)).toBe(0.2)
    expect(nextSpeed(100, 1)).toBe(100)
    expect([withinSpeeds(0), withinSpeeds(1e9), withinSpeeds(Number.NaN)]).toEqual([0.001, 100, 0.05])
  })
})

describe('a run of 5,000 records', () => {
  it('can be stepped back through to its start, one record at a time', async () => {
    const { picture: run } = await createSession().ask({
      type: 'run',
      module: null,
      scenario: { protocol: 'local-leader', nodes: [1, 2, 3, 4, 5], untilMs: 15_000 },
    })
    expect(run.moments.length).toBeGreaterThan(5000)
    let cursor: Cursor | null = endOf(run)
    for (let index = run.moments.length - 1; index >= 0; index--) {
      cursor = stepFrom(run, cursor ?? START, 'record', -1)
      if (cursor?.moment !== index) break
      expect(cursor.at).toBe(run.moments[index]?.at)
    }
    expect(cursor?.moment).toBe(0)
    expect(stepFrom(run, cursor ?? START, 'record', -1)).toEqual(START)
  })
})
