/** The computed guarantees of epochs: with round numbers, no drift, and accesses that all take as long. */
import { describe, expect, it } from 'vitest'
import { epochsGuarantees, settlingTime } from './guarantees.ts'
import { type EpochsOptions, epochsOptions } from './options.ts'

const chosen = (change: object = {}): EpochsOptions =>
  epochsOptions().parse({ periodMs: 80, accessMs: 1, driftPpm: 0, ...change })
/** Period 80 ms, r 1 ms: lease 86, poll 10, patience 96, full 6, stagger 14. */
const EXACT = { least: 1000, most: 1000 }
const computed = (change: object = {}, nodes = 3) => epochsGuarantees(chosen(change), nodes, EXACT)

describe('the guarantees of epochs', () => {
  it('after a crash add a look, the patience of followers, a tick and an election', () => {
    const { detection, failOver } = computed()
    // r for the last write, poll and two accesses for the look, the patience, two accesses for the tick.
    expect(detection?.worst).toBe(1000 + 10_000 + 2000 + 96_000 + 2000)
    expect(failOver?.worst).toBe(111_000 + 5000)
    expect(failOver?.typical).toBe((detection?.typical ?? 0) + 5000)
    expect(detection?.typical).toBeLessThan(detection?.worst ?? 0)
  })

  it('add one stagger for each node that is gone in the order of succession', () => {
    expect(computed().lastOne).toBe(116_000 + 14_000)
    expect(computed({}, 5).lastOne).toBe(116_000 + 3 * 14_000)
    expect(computed({ turns: 'oracle' }).lastOne).toBe(computed({ turns: 'oracle' }).failOver?.worst)
  })

  it('add the wait of the oracle', () => {
    const extra = (computed({ turns: 'oracle' }).detection?.worst ?? 0) - (computed().detection?.worst ?? 0)
    expect(extra).toBe(2000 + 2000)
  })

  it('wait for the lease from the tick on with start: simple', () => {
    const { detection, failOver } = computed({ start: 'simple' })
    expect(failOver?.worst).toBe((detection?.worst ?? 0) + 86_000)
  })

  it('hand over within a look and an election', () => {
    expect(computed().handOver?.worst).toBe(2000 + 10_000 + 2000 + 1000 + 5000)
  })

  it('stop an isolated leader when its lease ends, on the slowest clock', () => {
    expect(computed().leaseEnd).toBe(86_000)
    const drifting = epochsGuarantees(chosen({ driftPpm: 100_000 }), 3, EXACT)
    expect(drifting.leaseEnd).toBe(Math.ceil(drifting.timing.lease / 0.9))
  })

  it('have no fail-over in a group of one', () => {
    expect(computed({}, 1)).toMatchObject({ detection: null, failOver: null, lastOne: null, handOver: null })
  })

  it('count operations per second: the leader renews, followers poll', () => {
    expect(computed().operations).toEqual({
      leaderWrites: 12.5,
      leaderReads: 12.5,
      followerReads: 1_000_000 / 11_000,
    })
  })

  it('use accesses of 0 to r where nothing more is known', () => {
    const { detection } = epochsGuarantees(chosen(), 3)
    expect(detection?.worst).toBe(computed().detection?.worst)
    expect(detection?.typical).toBeLessThan(computed().detection?.typical ?? 0)
  })
})

it('the settling time covers patience, turns and collisions, with a fifth to spare', () => {
  const sum = 96_000 + 3 * 14_000 + 8 * 6000 + 4 * 10_000 + 86_000
  expect(settlingTime(chosen(), 3)).toBe(Math.ceil(sum * 1.2))
  expect(settlingTime(chosen(), 9)).toBeGreaterThan(settlingTime(chosen(), 3))
  expect(settlingTime(chosen({ turns: 'oracle' }), 9)).toBe(settlingTime(chosen({ turns: 'oracle' }), 3))
})
