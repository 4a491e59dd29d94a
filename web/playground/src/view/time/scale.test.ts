import { describe, expect, it } from 'vitest'
import type { Lane } from '../../engine/picture.ts'
import {
  formatInstant,
  instantOf,
  marksOf,
  ownMarks,
  pan,
  stepFor,
  timeOf,
  turnPage,
  xOf,
  zoom,
} from './scale.ts'

const scale = { from: 0, to: 1_000_000, left: 100, width: 500 }

describe('the range in view', () => {
  it('keeps the instant under the pointer while zooming', () => {
    const before = { from: 200_000, to: 600_000 }
    const after = zoom(before, 0.5, 300_000, 2_000_000)
    expect(after).toEqual({ from: 250_000, to: 450_000 })
  })

  it('does not leave the run', () => {
    expect(pan({ from: 0, to: 100_000 }, -500_000, 1_000_000).from).toBe(-2000)
    expect(pan({ from: 0, to: 100_000 }, 5_000_000, 1_000_000).to).toBe(1_002_000)
  })

  it('shows all of a run that is shorter than itself', () => {
    expect(pan({ from: 70, to: 1270 }, 0, 1000)).toEqual({ from: -100, to: 1100 })
  })

  it('stays while it shows the cursor, and moves on when the cursor comes to its end', () => {
    const range = { from: 0, to: 100_000 }
    expect(turnPage(range, 50_000, 1_000_000)).toBe(range)
    const next = turnPage(range, 95_000, 1_000_000)
    expect(next.to - next.from).toBe(100_000)
    expect(next.from).toBeGreaterThan(70_000)
    expect(turnPage(range, 500_000, 1_000_000).from).toBe(450_000)
  })

  it('stays at the end of the run', () => {
    const range = { from: 902_000, to: 1_002_000 }
    expect(turnPage(range, 1_000_000, 1_000_000)).toBe(range)
  })
})

describe('the scale', () => {
  it('converts between places and instants', () => {
    expect(xOf(scale, 500_000)).toBe(350)
    expect(timeOf(scale, 350)).toBe(500_000)
  })

  it('has round marks that are far enough apart', () => {
    expect(stepFor(scale, 96)).toBe(200_000)
    expect(marksOf(scale, 200_000)).toEqual([0, 200_000, 400_000, 600_000, 800_000, 1_000_000])
  })

  it('names instants with the digits that its marks need', () => {
    expect(formatInstant(400_000, 200_000)).toBe('400 ms')
    expect(formatInstant(1_250_000, 50_000)).toBe('1.25 s')
    expect(formatInstant(1_250_001, 1)).toBe('1.250001 s')
    expect(formatInstant(500, 100)).toBe('0.5 ms')
    expect(instantOf({ isUntimed: true }, 7000, 1)).toBe('step 7')
  })
})

describe('the scale of a clock', () => {
  const lane = (clock: Lane['clock']): Lane => ({
    node: 1,
    roles: [],
    leases: [],
    stalls: [],
    loads: [],
    clock,
    timers: [],
  })

  it('agrees with true time on an exact clock, at any reading', () => {
    const marks = ownMarks(lane([{ from: 0, shows: 7_777_777, rate: 1 }]), scale, 250_000)
    expect(marks.map(({ own, at }) => own - at)).toEqual([0, 0, 0, 0])
  })

  it('spreads where the clock is slow', () => {
    const marks = ownMarks(lane([{ from: 0, shows: 0, rate: 0.5 }]), scale, 250_000)
    expect(marks).toEqual([
      { own: 0, at: 0 },
      { own: 250_000, at: 500_000 },
    ])
  })

  it('has no marks while the clock stands still', () => {
    const marks = ownMarks(
      lane([
        { from: 0, shows: 0, rate: 1 },
        { from: 300_000, shows: 300_000, rate: 0 },
        { from: 800_000, shows: 300_000, rate: 1 },
      ]),
      scale,
      100_000,
    )
    expect(marks.filter(({ at }) => at >= 300_000 && at < 800_000)).toEqual([])
    expect(marks).toContainEqual({ own: 400_000, at: 900_000 })
  })
})
