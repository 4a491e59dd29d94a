/** With adaptive timing, followers name their leader for as long as it leads. */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'

type Gap = { readonly atMs: number; readonly node: number }

/** When followers named no leader although one node led since `fromMs` without interruption. */
function gapsAfter(fromMs: number, file: object): readonly Gap[] {
  const gaps: Gap[] = []
  let terms = 0
  simulate(
    { protocol: 'local-leader', nodes: ids(3), clocks: { driftPpm: 50 }, ...file },
    {
      observe(seen) {
        const atMs = seen.at / 1000
        if (atMs < fromMs) return
        if (seen.type === 'output' && seen.event.type === 'elected') terms += 1
        if (seen.type === 'view' && seen.view.leader === null) gaps.push({ atMs, node: Number(seen.node) })
        if (seen.type === 'output' && seen.event.type === 'following' && seen.event['leader'] === null)
          gaps.push({ atMs, node: Number(seen.node) })
      },
    },
  )
  expect(terms).toBe(0)
  return gaps
}

describe('a follower names its leader', () => {
  it('when renewals of short leases are late, but not too late', () => {
    const options = { timing: 'adaptive', profile: 'fast' }
    const network = { delayMs: [0.05, 0.3] }
    const events = [{ atMs: 8000, load: 'all', lateMs: [0, 5] }]
    for (let seed = 1; seed <= sized(3, 40); seed++)
      expect(gapsAfter(9000, { seed, options, network, events, untilMs: 20_000 })).toEqual([])
  })

  it('also when its leases are longer than this node would grant, or than it was configured to', () => {
    const options = { timing: 'adaptive', leaseMinMs: 60, leaseMaxMs: 500 }
    const change = (node: number, leaseMinMs: number, atMs: number) => ({
      atMs,
      command: { node, do: 'setLeaseBounds', leaseMinMs, leaseMaxMs: 8000 },
    })
    const events = [change(1, 60, 5000), change(2, 60, 5000), change(1, 4000, 6000), change(2, 4000, 6000)]
    const network = { delayMs: [0.05, 0.5] }
    expect(gapsAfter(9000, { options, network, events, untilMs: 60_000 })).toEqual([])
  })
})
