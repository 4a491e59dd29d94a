/** The ring election: its message counts, what the text leaves out, and the failures without it. */
import { describe, expect, it } from 'vitest'
import { exploring, ids, simulate } from '../../../test/support/run.ts'
import type { NodeId, PlainObject } from '../../core/index.ts'

function election(nodes: readonly NodeId[], starters: readonly NodeId[], more: PlainObject = {}) {
  return simulate({
    protocol: 'ring',
    nodes,
    network: { delayMs: 10 },
    events: starters.map((node) => ({ atMs: 0, command: { node, do: 'start' } })),
    untilMs: 3000,
    ...more,
  })
}

const descending = (count: number): readonly NodeId[] => ids(count).toReversed()
const violated = (report: ReturnType<typeof simulate>): readonly string[] =>
  report.specs.flatMap(({ name, verdict }) => (verdict === 'violated' ? [name] : []))

describe('message counts', () => {
  it.each([2, 3, 4, 5, 6, 7])(
    'sends 3N-1 messages when the successor of the maximum starts, 2N when the maximum starts (N = %i)',
    (n) => {
      const afterMaximum = [n, ...ids(n - 1)]
      const worst = election(afterMaximum, [1])
      expect(worst.messages).toEqual({ total: 3 * n - 1, byKind: { election: 2 * n - 1, elected: n } })
      const best = election(afterMaximum, [n])
      expect(best.messages.total).toBe(2 * n)
      for (const report of [worst, best]) {
        expect(report.leaders).toEqual([n])
        expect(violated(report)).toEqual([])
      }
    },
  )

  it.each([3, 4, 5, 6, 7])(
    'sends N(N+3)/2 messages when all start and ids descend along the ring (N = %i)',
    (n) => {
      const report = election(descending(n), ids(n))
      expect(report.messages.total).toBe((n * (n + 3)) / 2)
      expect(report.leaders).toEqual([n])
    },
  )
})

describe('what the text leaves out', () => {
  it('discards a smaller identifier in a participant; otherwise the winner wins four times', () => {
    const right = election(descending(4), ids(4))
    expect(right.messages.total).toBe(14)
    expect(right.messages.byKind['elected']).toBe(4)
    const literal = election(descending(4), ids(4), { options: { misreading: 'no-discard' } })
    expect(literal.messages).toEqual({ total: 38, byKind: { election: 22, elected: 16 } })
  })

  it('freezes an identifier when its node joins; otherwise the election circulates for ever', () => {
    const changing = (options: PlainObject) =>
      election([1, 2, 3], [1], {
        options: { loads: { 1: 3, 2: 2, 3: 1 }, ...options },
        events: [
          { atMs: 0, command: { node: 1, do: 'start' } },
          { atMs: 25, command: { node: 3, do: 'setLoad', load: 1.5 } },
        ],
        untilMs: 5000,
      })
    const frozen = changing({})
    expect(frozen.leaders).toEqual([3])
    expect(frozen.messages.total).toBeLessThan(10)
    const live = changing({ misreading: 'no-freeze' })
    expect(live.leaders).toEqual([])
    expect(live.messages.total).toBeGreaterThan(400)
  })

  it('compares frozen identifiers: a node whose load has dropped since does not stop the winner', () => {
    const report = election([1, 2, 3], [], {
      options: { loads: { 1: 3, 2: 2, 3: 1 } },
      events: [
        { atMs: 0, command: { node: 1, do: 'start' } },
        { atMs: 35, command: { node: 2, do: 'setLoad', load: 0 } },
      ],
    })
    expect(report.leaders).toEqual([3])
    expect(violated(report)).toEqual([])
  })

  it("ignores a node's own `elected` when it returns, because another election may be in progress", () => {
    const report = election([1, 2, 3], [], {
      events: [
        { atMs: 40, command: { node: 1, do: 'start' } },
        { atMs: 105, command: { node: 1, do: 'start' } },
        { atMs: 110, command: { node: 3, do: 'start' } },
        { atMs: 115, command: { node: 2, do: 'setLoad', load: 0 } },
        { atMs: 115, command: { node: 3, do: 'setLoad', load: 2 } },
      ],
    })
    expect(violated(report)).toEqual([])
  })

  it('elects the least loaded node, then the highest id', () => {
    expect(election([1, 2, 3, 4], [2], { options: { loads: { 1: 5, 2: 1, 3: 1, 4: 9 } } }).leaders).toEqual([
      3,
    ])
    expect(election([1, 2, 3, 4], [2], { options: { loads: { 1: 0, 2: 1, 3: 1, 4: 9 } } }).leaders).toEqual([
      1,
    ])
  })

  it('needs FIFO links: an election that overtakes the end of the previous one is discarded for ever', () => {
    const overtaking = (fifo: boolean) =>
      election([3, 1, 2], [3], {
        network: { delayMs: 10, fifo, rules: [{ from: 1, to: 2, kind: 'elected', delayMs: 100 }] },
        events: [
          { atMs: 0, command: { node: 3, do: 'start' } },
          { atMs: 41, command: { node: 1, do: 'start' } },
        ],
        untilMs: 5000,
      })
    const stuck = overtaking(false)
    expect(stuck.nodes['1']).toMatchObject({ role: 'candidate', leader: null })
    expect(violated(stuck)).toEqual(['ring-liveness'])
    expect(violated(overtaking(true))).toEqual([])
    expect(overtaking(true).leaders).toEqual([3])
  })
})

describe('crashes and loss', () => {
  const crash = {
    events: [
      { atMs: 5, crash: 3 },
      { atMs: 10, command: { node: 1, do: 'start' } },
    ],
    untilMs: 8000,
  }

  it('stalls the plain ring for ever after one crash', () => {
    const report = election([1, 2, 3, 4], [], crash)
    expect(report.leaders).toEqual([])
    expect(violated(report)).toEqual(['ring-liveness'])
  })

  it('skips crashed nodes in the crash-tolerant ring, and includes them again when they recover', () => {
    const options = { faultTolerant: true }
    const report = election([1, 2, 3, 4], [], { ...crash, options })
    expect(report.leaders).toEqual([4])
    const back = election([1, 2, 3, 4], [], {
      options,
      events: [
        { atMs: 0, command: { node: 1, do: 'start' } },
        { atMs: 500, crash: 4 },
        { atMs: 4000, recover: 4 },
      ],
      checkpointsMs: [3900],
      untilMs: 9000,
    })
    expect(back.checkpoints['3900']?.leaders).toEqual([3])
    expect(back.leaders).toEqual([4])
    expect(violated(back)).toEqual([])
  })

  it('ends two elections that race for the higher epoch', () => {
    const report = election([1, 2, 3, 4], [], {
      options: { faultTolerant: true },
      network: { delayMs: 16.275 },
      events: [
        { atMs: 1131, command: { node: 2, do: 'start' } },
        { atMs: 1989, command: { node: 4, do: 'start' } },
      ],
      untilMs: 6000,
    })
    expect(report.leaders).toEqual([4])
  })

  it('does not multiply messages when the network is slower than the hop timeout', () => {
    const all = ids(5).flatMap((a) => ids(5).flatMap((b) => (a < b ? [[a, b]] : [])))
    const report = election(ids(5), [], {
      options: { faultTolerant: true, hopTimeoutMs: 30 },
      events: [
        { atMs: 0, slow: all, delayMs: [40, 60] },
        { atMs: 100, command: { node: 1, do: 'start' } },
        { atMs: 2500, heal: 'all' },
      ],
      untilMs: 9000,
    })
    expect(report.messages.total).toBeLessThan(2000)
    expect(report.leaders).toEqual([5])
    expect(violated(report)).toEqual([])
  })

  it.each<[PlainObject, string]>([
    [
      { faultTolerant: true, hopTimeoutMs: 19 },
      'options.hopTimeoutMs: 19 is below 20, its least value here (two delays',
    ],
    [{ faultTolerant: true, reliable: true }, 'options.reliable: cannot be combined with faultTolerant'],
    [{ faultTolerant: true, misreading: 'no-freeze' }, 'options.misreading: cannot be combined with'],
  ])('refuses %j', (options, message) => {
    expect(() => election([1, 2], [1], { options })).toThrow(message)
  })

  it('elects over reliable links although the network loses, duplicates and reorders messages', () => {
    for (const seed of ids(40)) {
      const report = election([1, 2, 3, 4], [2], {
        seed,
        options: { reliable: true },
        network: { delayMs: [1, 40], loss: 0.3, duplicate: 0.2, fifo: false },
        untilMs: 20_000,
      })
      expect(report.leaders).toEqual([4])
      expect(report.messages.total).toBeGreaterThanOrEqual(8)
    }
  })
})

it('counts a message over reliable links by the kind that it carries, also in a schedule', () => {
  const report = simulate({
    protocol: 'ring',
    nodes: [1, 2],
    options: { reliable: true },
    schedule: [{ node: 1, do: 'command', command: { do: 'start' } }],
  })
  expect(report.messages.byKind).toEqual({ election: 1 })
  expect(report.linkMessages.total).toBe(0)
})

it('elects the highest node in every interleaving, for every choice of starters', () => {
  const report = exploring('ring', 3)
  expect(report).toMatchObject({ complete: true, counterexample: null })
  expect(report.specs.map(({ verdict }) => verdict)).toEqual(['held', 'held'])
  expect(report.states).toMatchInlineSnapshot(`25`)
})
