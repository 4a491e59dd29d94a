import { describe, expect, it } from 'vitest'
import { KnownAddresses } from './known-addresses.ts'

describe('addresses from which a peer was heard', () => {
  it('are known for ten seconds after the last datagram, together with their port', () => {
    const known = new KnownAddresses()
    known.add('10.0.0.1', 7400, 0)
    known.add('10.0.0.1', 7400, 5000)
    expect([known.has('10.0.0.1', 7400, 14_999), known.has('10.0.0.1', 7400, 15_000)]).toEqual([true, false])
    expect([known.has('10.0.0.1', 7401, 5000), known.has('10.0.0.2', 7400, 5000)]).toEqual([false, false])
  })

  it('are unknown again once a datagram from there was refused', () => {
    const known = new KnownAddresses()
    known.add('10.0.0.1', 7400, 0)
    known.delete('10.0.0.1', 7400)
    expect(known.has('10.0.0.1', 7400, 1)).toBe(false)
  })

  it('are at most a thousand: the address that was silent longest is removed', () => {
    const known = new KnownAddresses()
    for (let port = 1; port <= 1000; port++) known.add('10.0.0.1', port, port)
    known.add('10.0.0.1', 1, 1001)
    known.add('10.0.0.1', 1001, 1002)
    expect([1, 2, 3, 1001].map((port) => known.has('10.0.0.1', port, 1003))).toEqual([
      true,
      false,
      true,
      true,
    ])
  })
})
