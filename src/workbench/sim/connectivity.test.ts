/** Which nodes are connected in time, and which sets are stable partitions, on networks of all kinds. */
import { describe, expect, it } from 'vitest'
import type { Timeliness } from '../../core/index.ts'
import { Random } from '../scenario/random.ts'
import type { Network as Settings, Span } from '../scenario/scenario.ts'
import { connectivity } from './connectivity.ts'
import type { LoadEvent } from './load.ts'
import { Network } from './network.ts'

const NODES = ['a', 'b', 'c', 'd']
const ALL = [0, 1, 2, 3]
/** Timely: up to 10 ms. Irrelevant: above 20 ms. Hosts: at most 5 ms late. */
const TIMELY: Timeliness = { delay: 10_000, fast: 20_000, lateness: 5000 }
const ALONE = [['a'], ['b'], ['c'], ['d']]

function network(delayMs: Span = [1, 10], more: Partial<Settings> = {}): Network {
  const settings = { delayMs, loss: 0, duplicate: 0, fifo: false, rules: [], ...more }
  return new Network(NODES, settings, 'full', new Random(1))
}

function worldOf(on: Network, lateness: number) {
  return { network: on, nodes: NODES, timeliness: TIMELY, lateness, now: 0 }
}

function look(on: Network, running = ALL, lateness = 0) {
  const { connected, stable } = connectivity(worldOf(on, lateness), { running, unwritable: [] })
  return { connected, stable }
}

describe('connected are two', () => {
  it('between which every message is timely: the longest delay decides', () => {
    expect(look(network([1, 10])).connected).toBe('full')
    expect(look(network([1, 10.001])).connected).toEqual([])
  })

  it('both ways', () => {
    const oneWay = network()
    oneWay.cut([['a', 'b']], true)
    expect(look(oneWay).connected).toEqual([
      ['a', 'c'],
      ['a', 'd'],
      ['b', 'c'],
      ['b', 'd'],
      ['c', 'd'],
    ])
  })

  it('unless a message between them was dropped or delayed', () => {
    const untimely = [{ from: 2, to: 0, delay: null }]
    const { connected, stable, reach } = connectivity(worldOf(network(), 0), {
      running: ALL,
      unwritable: [],
      untimely,
    })
    expect(connected).toHaveLength(5)
    expect(connected).not.toContainEqual(['a', 'c'])
    expect(stable).toEqual([])
    expect(reach.timely).not.toContainEqual(['c', 'a'])
    expect(reach.timely).toContainEqual(['a', 'c'])
  })

  it('that run: full means all of those', () => {
    expect(look(network(), [0, 2, 3])).toEqual({ connected: 'full', stable: [['a', 'c', 'd']] })
    expect(look(network(), [2])).toEqual({ connected: 'full', stable: [['c']] })
    expect(look(network(), [])).toEqual({ connected: 'full', stable: [] })
  })

  it('again once links are healed', () => {
    const healed = network()
    healed.cut([['a', 'b']], false)
    healed.slow([['c', 'd']], 50)
    expect(look(healed).connected).toHaveLength(4)
    healed.heal('all')
    expect(look(healed)).toEqual({ connected: 'full', stable: [NODES] })
  })
})

describe('a stable partition', () => {
  it('is connected throughout and hears from nobody else', () => {
    const halves = network()
    halves.partition([['a', 'c']])
    expect(look(halves).stable).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ])
  })

  it('need not be cut off: what takes longer than it matters comes too late', () => {
    const far = network()
    far.slow(
      [
        ['a', 'b'],
        ['a', 'd'],
        ['c', 'b'],
        ['c', 'd'],
      ],
      [20.001, 50],
    )
    expect(look(far).stable).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ])
    far.slow([['a', 'b']], [20, 50])
    expect(look(far).stable).toEqual([])
  })

  it('excludes nodes that sometimes hear from outside, or only one way', () => {
    const near = network()
    near.partition([['a', 'c']])
    near.heal([['a', 'b']])
    near.slow([['a', 'b']], [1, 500])
    expect(look(near)).toEqual({
      connected: [
        ['a', 'c'],
        ['b', 'd'],
      ],
      stable: [],
    })
    const oneWay = network()
    oneWay.partition([['a', 'c'], ['b'], ['d']])
    oneWay.heal([['a', 'b']])
    oneWay.cut([['a', 'b']], true)
    expect(look(oneWay).stable).toEqual([['d']])
  })

  it('is not formed where connections do not carry over', () => {
    const path = network()
    path.cut([['a', 'c']], false)
    path.partition([['a', 'b', 'c'], ['d']])
    expect(look(path).stable).toEqual([['d']])
    const square = network()
    square.cut(
      [
        ['a', 'c'],
        ['b', 'd'],
      ],
      false,
    )
    expect(look(square).stable).toEqual([])
  })

  it('may be a single process: where nothing arrives in time, each is', () => {
    expect(look(network([30, 40])).stable).toEqual(ALONE)
    expect(look(network([15, 40])).stable).toEqual([])
  })
})

describe('load', () => {
  const loaded = (event: object) => {
    const on = network([1, 8])
    on.load.set({ atMs: 0, ...event } as LoadEvent, 0, () => {})
    return connectivity(worldOf(on, 0), { running: ALL, unwritable: [] })
  }

  it('that is over still delays the timers that were set under it', () => {
    const on = network([1, 8])
    on.load.noteLateTimer(0, 1000, 90_000, 0)
    const { connected } = connectivity(worldOf(on, 0), { running: [0, 1], unwritable: [] })
    expect(connected).toEqual([])
    const after = connectivity({ ...worldOf(on, 0), now: 1000 }, { running: [0, 1], unwritable: [] })
    expect(after.connected).toBe('full')
  })

  it('that leaves all in time changes nothing', () => {
    expect(loaded({ load: 'all', lateMs: [0, 1], delayMs: [0, 1] })).toMatchObject({ connected: 'full' })
  })

  it('makes a node late, and the others stay connected', () => {
    const { connected, stable, reach } = loaded({ load: ['a'], lateMs: 6 })
    expect(connected).toEqual([
      ['b', 'c'],
      ['b', 'd'],
      ['c', 'd'],
    ])
    // Its messages still reach them in time.
    expect([stable, reach.byChance]).toEqual([[], true])
  })

  it('that delays all messages of a node beyond Δ separates it', () => {
    expect(loaded({ load: ['a'], lateMs: 25, delayMs: 25 }).stable).toEqual([['b', 'c', 'd']])
  })
})

describe('reach', () => {
  const reach = (on: Network, running = ALL, unwritable: readonly number[] = [], lateness = 0) =>
    connectivity(worldOf(on, lateness), { running, unwritable }).reach

  it('tells each direction apart', () => {
    const oneWay = network()
    oneWay.cut([['a', 'b']], true)
    const { timely } = reach(oneWay, [0, 1])
    expect(timely).toEqual([['b', 'a']])
    expect(reach(network()).timely).toBe('full')
  })

  it('names who runs, and who cannot store anything', () => {
    expect(reach(network(), [1, 2, 3], [2])).toMatchObject({ running: ['b', 'c', 'd'], unwritable: ['c'] })
  })

  it('says whether chance decides what arrives in time: on a lossy link, or on a link that is sometimes slow', () => {
    const ruled = (rule: object): Network => network(1, { rules: [{ from: 'a', ...rule }] })
    expect(reach(network()).byChance).toBe(false)
    expect(reach(ruled({ loss: 0.5 })).byChance).toBe(true)
    expect(reach(ruled({ kind: 'reply', drop: true })).byChance).toBe(false)
    expect(reach(network([1, 30])).byChance).toBe(true)
    expect(reach(network([30, 40])).byChance).toBe(false)
    expect(reach(network(), ALL, [], 5001).byChance).toBe(true)
  })
})

describe('nothing is promised', () => {
  const nothing = { connected: [], stable: [] }
  it('while messages get lost by chance', () => {
    expect(look(network(1, { loss: 0.01 }))).toEqual(nothing)
    expect(look(network(1, { loss: 1 }))).toEqual(nothing)
  })
  it('of links on which a rule loses or delays messages', () => {
    const others = [
      ['b', 'c'],
      ['b', 'd'],
      ['c', 'd'],
    ]
    for (const how of [{ kind: 'reply', drop: true }, { loss: 0.5 }, { kind: 'reply', delayMs: 11 }]) {
      expect(look(network(1, { rules: [{ from: 'a', ...how }] }))).toEqual({ connected: others, stable: [] })
    }
    expect(look(network(1, { rules: [{ from: 'a', delayMs: 9 }] })).connected).toBe('full')
  })
  it('where hosts are late', () => {
    expect(look(network(), ALL, 5001)).toEqual(nothing)
    expect(look(network(), ALL, 5000).connected).toBe('full')
  })
  it('of the order or number of copies', () => {
    expect(look(network(1, { duplicate: 1, fifo: true })).connected).toBe('full')
  })
})
