import { describe, expect, it } from 'vitest'
import { STATE, TIME, TIMING } from '../../../test/support/epochs-node.ts'
import { accountForSuspension, isActing, startActing, stopActing, takeLease } from './lease.ts'
import type { EpochsState, Timed } from './state.ts'

describe('a lease', () => {
  const won: Timed = { ...TIME, w: 1000, startAt: 1000 }
  const output = (type: string, rest: object) => ({ type: 'output', event: { type, ...rest } })
  const taken = takeLease(won, 7, TIMING, 1500)

  it('starts with the epoch as its token, and lasts from before the decisive write', () => {
    expect(taken.time.lease).toEqual({ token: 7, startAt: 1000, until: 9600, acting: true })
    expect(taken.effects).toEqual([
      { type: 'setTimer', name: 'renew', at: 9000 },
      { type: 'setTimer', name: 'stop', at: 9600 },
      output('elected', { cause: 'elected', token: 7 }),
    ])
  })

  it('keeps its token when it is renewed, and elects nobody twice', () => {
    const renewed = takeLease({ ...taken.time, w: 9000 }, 8, TIMING, 9100)
    expect(renewed.time.lease).toMatchObject({ token: 7, until: 17_600, acting: true })
    expect(renewed.effects.map(({ type }) => type)).toEqual(['setTimer', 'setTimer'])
  })

  it('gets a new token if it had run out before the renewal', () => {
    const late = takeLease({ ...taken.time, w: 9500 }, 9, TIMING, 9600)
    expect(late.time.lease?.token).toBe(9)
    expect(late.effects.filter(({ type }) => type === 'output')).toEqual([
      output('demoted', { cause: 'its lease ran out' }),
      output('elected', { cause: 'elected', token: 9 }),
    ])
  })

  it('is not taken if it would be over already', () => {
    const late = takeLease(won, 7, TIMING, 9600)
    expect(late.time.lease).toBeNull()
    expect(late.effects).toEqual([{ type: 'setTimer', name: 'renew', at: 9600 }])
  })

  it('acts only from START on', () => {
    const waiting = takeLease({ ...won, startAt: 5000 }, 7, TIMING, 1500)
    expect(waiting.time.lease?.acting).toBe(false)
    expect(waiting.effects.at(-1)).toEqual({ type: 'setTimer', name: 'start', at: 5000 })
    expect(startActing(waiting.time, 5000).time.lease?.acting).toBe(true)
    expect(startActing(waiting.time, 9600)).toEqual({ time: waiting.time, effects: [] })
  })

  it('ends with a notification only if it was acted on', () => {
    const stops = [
      { type: 'stopTimer', name: 'start' },
      { type: 'stopTimer', name: 'stop' },
    ]
    expect(stopActing(taken.time, 'why')).toEqual({
      time: { ...taken.time, lease: null },
      effects: [...stops, output('demoted', { cause: 'why' })],
    })
    const waiting = takeLease({ ...won, startAt: 5000 }, 7, TIMING, 1500)
    expect(stopActing(waiting.time, 'why').effects).toEqual(stops)
    expect(stopActing(TIME, 'why')).toEqual({ time: TIME, effects: [] })
  })

  it('is acted on until its end, and in untimed worlds as long as the node is the leader', () => {
    const state: EpochsState = { ...STATE, time: taken.time }
    expect([isActing(state, 9599), isActing(state, 9600)]).toEqual([true, false])
    expect(isActing({ ...STATE, time: null, status: 'Leader' }, 0)).toBe(true)
    expect(isActing({ ...STATE, time: null }, 0)).toBe(false)
  })

  it('ends earlier by the time that the clock stood still', () => {
    expect(accountForSuspension(taken.time, 600)).toMatchObject({
      w: 400,
      lease: { until: 9000, startAt: 1000 },
    })
    expect(accountForSuspension(TIME, 600).lease).toBeNull()
  })
})
