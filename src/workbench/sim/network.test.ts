import { describe, expect, it } from 'vitest'
import { Random } from '../scenario/random.ts'
import type { Network as NetworkSettings, Pair } from '../scenario/scenario.ts'
import { delayOf, Network } from './network.ts'

const NODES = [1, 2, 3, 4]

function network(settings: Partial<NetworkSettings> = {}, links: 'full' | readonly Pair[] = 'full'): Network {
  const all = { delayMs: 5, loss: 0, duplicate: 0, fifo: false, rules: [], ...settings }
  return new Network(NODES, all, links, new Random(1))
}

/** The links that lose a message because they are closed, as "from-to". */
function closed(net: Network): readonly string[] {
  return NODES.flatMap((from, a) =>
    NODES.flatMap((to, b) => (a !== b && net.lossOf(a, b, 'x') === 'cut' ? [`${from}-${to}`] : [])),
  )
}

describe('links', () => {
  it('are all open by default', () => {
    expect(closed(network())).toEqual([])
  })

  it('are those of the graph, in both directions', () => {
    const net = network(
      {},
      NODES.slice(1).map((node) => [1, node] as const),
    )
    expect(closed(net)).toEqual(['2-3', '2-4', '3-2', '3-4', '4-2', '4-3'])
    expect(net.isOpen(0, 1)).toBe(true)
    expect(net.isOpen(1, 2)).toBe(false)
  })

  it('are cut in one direction or in both, and healed in both', () => {
    const net = network()
    net.cut([[1, 2]], true)
    expect(closed(net)).toEqual(['1-2'])
    net.cut([[3, 4]], false)
    expect(closed(net)).toEqual(['1-2', '3-4', '4-3'])
    net.heal([[4, 3]])
    expect(closed(net)).toEqual(['1-2'])
    net.heal('all')
    expect(closed(net)).toEqual([])
  })

  it('are restored to the current graph by heal all', () => {
    const net = network()
    net.replace([[1, 2]])
    net.cut([[1, 2]], false)
    expect(closed(net)).toHaveLength(12)
    net.heal('all')
    expect(closed(net)).toHaveLength(10)
  })

  it('are closed between the blocks of a partition; unnamed nodes form one more block', () => {
    const net = network()
    net.partition([[1, 2]])
    expect(closed(net)).toEqual(['1-3', '1-4', '2-3', '2-4', '3-1', '3-2', '4-1', '4-2'])
    expect(net.connected([0, 1, 2])).toEqual([[1, 2]])
    expect(net.connected([2, 3])).toBe('full')
  })
})

describe('delays', () => {
  it('lie in the range of the network, of a slowed link or of a rule', () => {
    const net = network({ delayMs: [2, 4], rules: [{ kind: 'slow', delayMs: 50 }] })
    const arrivals = Array.from({ length: 100 }, () => net.arrivalOf(0, 1, 'x', 1000) - 1000)
    expect(Math.min(...arrivals)).toBeGreaterThanOrEqual(2000)
    expect(Math.max(...arrivals)).toBeLessThanOrEqual(4000)
    expect(net.arrivalOf(0, 1, 'slow', 0)).toBe(50_000)
    net.slow([[1, 2]], 20)
    expect(net.arrivalOf(0, 1, 'x', 0)).toBe(20_000)
    expect(net.delay(0, 1)).toBe(20_000)
  })

  it('never let a message overtake another on a FIFO link', () => {
    const net = network({ delayMs: [0, 100], fifo: true })
    const arrivals = Array.from({ length: 50 }, (_, at) => net.arrivalOf(0, 1, 'x', at))
    expect(arrivals).toEqual(arrivals.toSorted((a, b) => a - b))
  })

  it('are bounded by the longest delay, which never shrinks', () => {
    const net = network({ delayMs: [1, 7] })
    expect(net.longestDelay).toBe(7000)
    net.slow([[1, 2]], [0, 30])
    expect(net.longestDelay).toBe(30_000)
    net.heal('all')
    expect(net.longestDelay).toBe(30_000)
  })

  it('are read as an exact value or a range', () => {
    expect(delayOf(1.5)).toEqual({ least: 1500, most: 1500 })
    expect(delayOf([1, 2])).toEqual({ least: 1000, most: 2000 })
  })
})

describe('loss', () => {
  it('has a reason: a closed link, a rule, or chance', () => {
    const net = network({ rules: [{ from: 1, to: 2, kind: 'vote', drop: true }] })
    expect(net.lossOf(0, 1, 'vote')).toBe('rule')
    expect(net.lossOf(1, 0, 'vote')).toBeNull()
    expect(net.lossOf(0, 1, 'other')).toBeNull()
    net.loss = 1
    expect(net.lossOf(0, 1, 'other')).toBe('chance')
    net.cut([[1, 2]], false)
    expect(net.lossOf(0, 1, 'vote')).toBe('cut')
  })

  it('follows the rules that were set last', () => {
    const net = network({ rules: [{ from: 1, drop: true }] })
    net.setRules([{ to: 1, drop: true }])
    expect(net.lossOf(0, 1, 'x')).toBeNull()
    expect(net.lossOf(1, 0, 'x')).toBe('rule')
  })

  it('and duplication are lossy or certain by their probabilities', () => {
    const net = network({ loss: 0.5, duplicate: 1 })
    expect(net.isLossy).toBe(true)
    expect(net.duplicates()).toBe(true)
    net.loss = 0
    expect(net.isLossy).toBe(false)
  })
})

describe('the quality of a link', () => {
  it('covers all kinds of messages', () => {
    const net = network({ delayMs: [1, 3], rules: [{ from: 1, to: 2, kind: 'vote', delayMs: 9 }] })
    expect(net.qualityBetween(0, 1)).toEqual({ most: 9000, least: 1000, losesByChance: false })
    expect(net.qualityBetween(1, 0)).toEqual({ most: 3000, least: 1000, losesByChance: false })
  })

  it('has no longest delay if a message can be lost, and none at all if the link is closed', () => {
    const net = network({ rules: [{ from: 1, loss: 0.5 }] })
    expect(net.qualityBetween(0, 1)).toMatchObject({ most: null, losesByChance: true })
    net.cut([[1, 2]], false)
    expect(net.qualityBetween(0, 1)).toEqual({ most: null, least: null, losesByChance: false })
  })
})
