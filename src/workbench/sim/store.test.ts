import { describe, expect, it } from 'vitest'
import type { RegisterCall } from '../../core/index.ts'
import { Random } from '../scenario/random.ts'
import { Store } from './store.ts'

const SETTINGS = { delayMs: 4, late: 0, lateMs: [40, 80] as const, timeoutMs: 20 }
const read: RegisterCall = { id: 1, op: 'read', of: 1 }
const write = (value: number): RegisterCall => ({ id: 1, op: 'write', value })

function store(buriesBlindly = false): Store {
  return new Store([1, 2], SETTINGS, new Random(3), buriesBlindly)
}

describe('the store', () => {
  it('starts with empty registers and returns what was written last', () => {
    const all = store()
    expect(all.carryOut(read, 0, 0)).toEqual({ outcome: 'ok', value: null, version: 0 })
    expect(all.carryOut(write(7), 0, 0)).toEqual({ outcome: 'ok', value: null, version: 1 })
    expect(all.carryOut(read, 0, 0)).toEqual({ outcome: 'ok', value: 7, version: 1 })
    expect(all.values).toEqual([7, null])
  })

  it('refuses a write that expects an older version', () => {
    const all = store()
    all.carryOut(write(1), 0, 0)
    expect(all.carryOut(write(2), 0, 0)).toEqual({ outcome: 'unknown', value: null, version: -1 })
    expect(all.values[0]).toBe(1)
  })

  it('expects the version of the last reply, and none after a restart', () => {
    const all = store()
    expect(all.expected(0, 1)).toBe(-1)
    all.noteVersion(0, 1, 5)
    all.noteVersion(0, 1, -1)
    expect(all.expected(0, 1)).toBe(5)
    expect(all.expected(1, 1)).toBe(-1)
    all.forget(0)
    expect(all.expected(0, 1)).toBe(-1)
  })

  it('compares tombstones too, unless it buries blindly', () => {
    const bury: RegisterCall = { id: 1, op: 'bury', of: 1, value: 'gone' }
    expect(store().carryOut(bury, 0, 9)).toMatchObject({ outcome: 'unknown' })
    expect(store(true).carryOut(bury, 0, 9)).toMatchObject({ outcome: 'ok' })
  })
})

describe('the timing of a call', () => {
  it('lies between call and reply', () => {
    const all = store()
    for (let now = 0; now < 50_000; now += 1000) {
      const { at, repliesAt, inTime } = all.drawTiming(now)
      expect(inTime).toBe(true)
      expect(repliesAt).toBe(now + 4000)
      expect(at).toBeGreaterThanOrEqual(now)
      expect(at).toBeLessThanOrEqual(repliesAt)
    }
  })

  it('is late with the given probability: the caller gives up before the reply', () => {
    const all = store()
    all.late = 1
    expect(all.isPrompt(0)).toBe(false)
    expect(all.drawTiming(1000)).toMatchObject({ inTime: false, repliesAt: 21_000 })
  })

  it('waits for a hanging store', () => {
    const all = store()
    all.hang(10_000)
    all.hang(5000)
    expect(all.isPrompt(9999)).toBe(false)
    expect(all.isPrompt(10_000)).toBe(true)
    const { at, repliesAt, inTime } = all.drawTiming(1000)
    expect(at).toBeGreaterThanOrEqual(10_000)
    expect([repliesAt, inTime]).toEqual([14_000, true])
  })
})
