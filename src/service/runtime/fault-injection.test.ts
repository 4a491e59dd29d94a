import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FaultyNetwork, type NetworkFaults } from './fault-injection.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** The number of datagrams from `b` that have arrived, at once and in the end. */
function arrivals(faults: NetworkFaults, count = 1000): readonly [number, number] {
  const network = new FaultyNetwork()
  network.set(faults)
  let arrived = 0
  for (let each = 0; each < count; each++) network.pass('b', () => (arrived += 1))
  const atOnce = arrived
  vi.runAllTimers()
  return [atOnce, arrived]
}

const slowly = (delayMs: readonly [number, number], loss: number) => ({ cut: false, delayMs, loss }) as const

describe('a network with faults', () => {
  it('delivers at once from peers without faults', () => {
    expect(arrivals({})).toEqual([1000, 1000])
    expect(arrivals({ c: { cut: true } })).toEqual([1000, 1000])
  })

  it('delivers nothing from a peer that is cut off', () => {
    expect(arrivals({ b: { cut: true } })).toEqual([0, 0])
  })

  it('holds back', () => {
    expect(arrivals({ b: slowly([5, 10], 0) })).toEqual([0, 1000])
  })

  it('loses a part of the datagrams', () => {
    const [, arrived] = arrivals({ b: slowly([0, 0], 0.3) })
    expect(arrived).toBeGreaterThan(600)
    expect(arrived).toBeLessThan(800)
  })

  it('heals when new faults are set, and delivers nothing once it is closed', () => {
    const network = new FaultyNetwork()
    const arrive = vi.fn<() => void>()
    network.set({ b: { cut: true } })
    network.set({})
    network.pass('b', arrive)
    expect(arrive).toHaveBeenCalledTimes(1)
    network.set({ b: slowly([5, 5], 0) })
    network.pass('b', arrive)
    network.close()
    vi.runAllTimers()
    expect(arrive).toHaveBeenCalledTimes(1)
  })
})
