import { describe, expect, it } from 'vitest'
import { exploring, ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import type { PlainObject } from '../../core/index.ts'

function run(n: number, more: PlainObject) {
  return simulate({
    protocol: 'bully-gm',
    nodes: ids(n),
    network: { delayMs: [1, 10] },
    options: { timeoutMs: 30, periodMs: 100_000 },
    untilMs: 4000,
    ...more,
  })
}

const verdictOf = (report: ReturnType<typeof run>, name: string) =>
  report.specs.find((spec) => spec.name === name)?.verdict

describe("Garcia-Molina's bully", () => {
  it.each([3, 4, 5, 8])(
    'sends 6(N-2)+1 messages when the second highest of N = %i nodes detects the crash',
    (n) => {
      const report = run(n, {
        initial: { leader: n },
        events: [
          { atMs: 0, crash: n },
          { atMs: 1, command: { node: n - 1, do: 'election' } },
        ],
      })
      expect(report.messages.total).toBe(6 * (n - 2) + 1)
      expect(report.leaders).toEqual([n - 1])
    },
  )

  it('elects the highest node at boot, and both assertions hold', () => {
    const report = run(5, { options: { timeoutMs: 30, periodMs: 300 } })
    expect(report.leaders).toEqual([5])
    expect([verdictOf(report, 'assertion-1'), verdictOf(report, 'assertion-2')]).toEqual(['held', 'held'])
  })

  it('keeps Assertion 1 when halts of a deposed and of a restarted coordinator cross, at any time', () => {
    for (let recoverMs = 100; recoverMs < 400; recoverMs += sized(4.5, 1.5)) {
      const report = run(3, {
        initial: { leader: 3 },
        options: { timeoutMs: 30, periodMs: 200 },
        events: [
          { atMs: 90, crash: 3 },
          { atMs: 100, command: { node: 2, do: 'election' } },
          { atMs: recoverMs, recover: 3 },
        ],
        untilMs: 3000,
      })
      expect(verdictOf(report, 'assertion-1')).not.toBe('violated')
      expect(report.leaders).toEqual([3])
    }
  })

  it('must ignore a halt that crossed with the halt of a higher node, in every interleaving', () => {
    const misread = exploring('bully-gm', 3, { options: { misreading: 'obey-last-halt' } })
    expect(misread.counterexample).toMatchObject({ spec: 'assertion-1', why: '1 has coordinator 2, 3 has 3' })
    expect(misread.counterexample?.steps).toHaveLength(14)
    expect(exploring('bully-gm', 3)).toMatchObject({ complete: true, counterexample: null, states: 1388 })
  })

  it('violates Assertion 1 when delays exceed T/2', () => {
    const seeds = ids(sized(20, 60))
    const verdicts = seeds.map((seed) =>
      verdictOf(
        run(4, {
          seed,
          options: { timeoutMs: 30, periodMs: 200 },
          network: { delayMs: [1, 10], rules: [{ delayMs: [1, 60] }] },
        }),
        'assertion-1',
      ),
    )
    expect(verdicts.filter((verdict) => verdict === 'violated').length).toBeGreaterThan(seeds.length / 2)
  })

  it('starts again when a halted node does not answer `ready`', () => {
    const report = run(3, {
      initial: { leader: 3 },
      network: { delayMs: 10 },
      events: [
        { atMs: 0, crash: 3 },
        { atMs: 1, command: { node: 2, do: 'election' } },
        { atMs: 75, crash: 1 },
      ],
    })
    expect(report.messages.byKind).toMatchObject({ newCoordinator: 1, ready: 1, halt: 2 })
    expect(report.leaders).toEqual([2])
  })

  it('refuses a timeout below two delays', () => {
    expect(() => run(3, { network: { delayMs: 20 } })).toThrow(
      'options.timeoutMs: 30 is below 40, its least value here (two delays',
    )
  })
})
