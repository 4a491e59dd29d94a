import { describe, expect, it } from 'vitest'
import type { JoinOptions } from '../../config/join-options.ts'
import type { StoreJoinOptions } from '../../config/store-join-options.ts'
import { type LeaseTiming, leaseTimingOf } from './lease-timing.ts'

const NETWORK: JoinOptions = {
  group: 'g',
  id: 'a',
  listen: '127.0.0.1:7400',
  peers: ['b=127.0.0.1:7401', 'c=127.0.0.1:7402'],
  key: new Uint8Array(32).fill(7),
}
const STORE: StoreJoinOptions = { group: 'g', id: 'a', protocol: 'epochs', store: 'file:/s' }

describe('the timing of a lease', () => {
  it.each<[string, JoinOptions | StoreJoinOptions]>([
    ['among peers', NETWORK],
    ['among peers of a region', { ...NETWORK, profile: 'region' }],
    ['of a view', { ...NETWORK, protocol: 'omega', data: '/nowhere' }],
    ['in a store', STORE],
  ])('%s leaves a margin at each renewal', (_where, options) => {
    const { lengthMs, marginMs } = leaseTimingOf(options)
    expect(marginMs).toBeGreaterThan(0)
    expect(marginMs).toBeLessThan(lengthMs)
  })

  const lengths = (...all: readonly (JoinOptions | StoreJoinOptions)[]): readonly number[] =>
    all.map((options): LeaseTiming => leaseTimingOf(options)).map(({ lengthMs }) => lengthMs)

  it('grows with the profile of the network', () => {
    const [lan = 0, region = 0, wan = 0] = lengths(
      NETWORK,
      { ...NETWORK, profile: 'region' },
      { ...NETWORK, profile: 'wan' },
    )
    expect([lan < region, region < wan]).toEqual([true, true])
  })

  it('grows by as much as the period of an election in a store', () => {
    const [short = 0, long = 0] = lengths(
      { ...STORE, options: { periodMs: 2000 } },
      { ...STORE, options: { periodMs: 4000 } },
    )
    expect(long - short).toBeCloseTo(2000, 6)
  })

  it('does not depend on the node that asks', () => {
    const [a, b] = lengths(NETWORK, {
      ...NETWORK,
      id: 'b',
      listen: '127.0.0.1:7401',
      peers: ['a=127.0.0.1:7400', 'c=127.0.0.1:7402'],
    })
    expect(a).toBe(b)
  })
})
