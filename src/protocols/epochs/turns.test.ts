/** Which node starts an election: succession, the oracle of Chockler and Malkhi, and the release of a lease. */
import { describe, expect, it } from 'vitest'
import { simulate } from '../../../test/support/run.ts'
import { turnRuns } from '../../../test/support/turns.ts'
import { blockOf, isReleased, ZERO } from './block.ts'
import { oracleAfter } from './oracle.ts'
import { timingOf } from './timing.ts'

const RUNS = 8
const LONG = 120_000
const { lease, poll, full, settle, deference } = timingOf({
  period: 200_000,
  access: 5000,
  drift: 0.001,
  lease: null,
})

describe('the oracle', () => {
  it('ends contention: one node starts an election and writes one ballot, while many collide without it', {
    timeout: LONG,
  }, () => {
    const chosen = turnRuns(RUNS, 8, { turns: 'oracle' }, 'crash')
    const anybody = turnRuns(RUNS, 8, { turns: 'none' }, 'crash')
    expect(chosen).toMatchObject({ contended: 0, ballots: RUNS, violated: [] })
    expect(anybody.violated).toEqual([])
    expect(anybody.contended).toBeGreaterThanOrEqual(RUNS / 2)
    expect(anybody.ballots).toBeGreaterThan(2 * RUNS)
  })

  it('does not wait for crashed nodes, as succession does', { timeout: LONG }, () => {
    const chosen = turnRuns(RUNS, 5, { turns: 'oracle' }, 'crash', 3)
    const inOrder = turnRuns(RUNS, 5, { turns: 'succession' }, 'crash', 3)
    expect(chosen).toMatchObject({ ballots: RUNS, violated: [] })
    expect(inOrder.medianMs - chosen.medianMs).toBeGreaterThan(full / 1000)
  })

  it('lets another node lead if the chosen node crashes', () => {
    const contended: { readonly node: unknown; readonly at: number }[] = []
    const report = simulate(
      {
        protocol: 'epochs',
        nodes: [1, 2, 3],
        options: { turns: 'oracle' },
        untilMs: 2000,
      },
      {
        strict: true,
        record(record) {
          if (record.type !== 'step') return
          for (const effect of record.effects) {
            if (effect.type !== 'register' || effect.call.op !== 'write') continue
            const block = blockOf(effect.call.value)
            if (block?.ctr === 0 && (block.more?.gen ?? 0) > 0)
              contended.push({ node: record.node, at: record.at })
          }
        },
      },
    )
    expect(report.leaders).toHaveLength(1)
    const [first] = contended
    if (first === undefined) throw new Error('no node contended')
    const again = simulate({
      protocol: 'epochs',
      nodes: [1, 2, 3],
      options: { turns: 'oracle' },
      untilMs: 2000,
      // Right after its write took effect, before the node can know that it is chosen.
      events: [{ atMs: first.at / 1000 + 8, crash: first.node as number }],
    })
    expect(again.leaders).toHaveLength(1)
    expect(again.leaders).not.toContain(first.node)
    expect(again.specs.every(({ verdict }) => verdict !== 'violated')).toBe(true)
    expect(deference).toBeGreaterThan(full + settle)
  })

  it('takes the cell with the greatest generation for x, and of equal ones the highest id', () => {
    const cell = (gen: number) => ({
      ...ZERO,
      more: { inc: 1, lctr: 0, lbal: 0, led: 0, term: 0, gone: false, gen },
    })
    const none = oracleAfter(null, 1, cell(0), 5)
    expect(none).toBeNull()
    const one = oracleAfter(null, 2, cell(1), 5)
    expect(one).toEqual({ gen: 1, of: 2, at: 5 })
    expect(oracleAfter(one, 2, cell(1), 9)).toBe(one)
    expect(oracleAfter(one, 1, cell(1), 9)).toBe(one)
    expect(oracleAfter(one, 3, cell(1), 9)).toEqual({ gen: 1, of: 3, at: 9 })
    expect(oracleAfter(one, 1, cell(2), 9)).toEqual({ gen: 2, of: 1, at: 9 })
  })
})

describe('a leader that steps down', () => {
  it.each(['succession', 'oracle'])(
    'is followed by the next leader within a look and an election, not a lease: %s',
    {
      timeout: LONG,
    },
    (turns) => {
      const { mostMs, violated } = turnRuns(RUNS, 3, { turns }, 'stepDown')
      expect(violated).toEqual([])
      // Its own write, a look, the oracle's wait and round, an election, and a second look of the next in order.
      expect(mostMs).toBeLessThan((2 * poll + 2 * full + settle) / 1000)
      expect(mostMs).toBeLessThan(lease / 2000)
    },
  )

  it('is recognized by its released stamp, unlike a node that never led and a node that is a candidate again', () => {
    const more = { inc: 1, lctr: 0, lbal: 0, led: 4, term: 2, gone: false, gen: 0 }
    expect(isReleased('a', { ctr: 4, pbal: 1, bal: 1, val: 'a', more })).toBe(true)
    expect(isReleased('a', { ctr: 4, pbal: 1, bal: 1, val: 'a', more: { ...more, lctr: 4 } })).toBe(false)
    expect(isReleased('a', { ctr: 5, pbal: 1, bal: 0, val: null, more })).toBe(false)
    expect(isReleased('a', { ctr: 5, pbal: 1, bal: 1, val: 'b', more })).toBe(false)
    expect(isReleased('a', ZERO)).toBe(false)
  })

  it('has generation 0 if an earlier version wrote its block', () => {
    const more = { inc: 1, lctr: 0, lbal: 0, led: 4, term: 2, gone: false }
    expect(blockOf({ ctr: 4, pbal: 1, bal: 1, val: 'a', more })?.more?.gen).toBe(0)
  })
})
