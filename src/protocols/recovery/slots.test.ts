/** Where jobs are placed: the least loaded node with a free slot, also when several jobs are placed in one step. */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'

type Shown = { readonly status: string; readonly owner: readonly [number, number] | null }

/** How many jobs each node runs at the end, as node 3 knows. */
function loads(crashes: readonly number[], slots: number): readonly (readonly [number, number])[] {
  const report = simulate({
    protocol: 'recovery',
    nodes: ids(5),
    seed: 3,
    network: { delayMs: [0.1, 2] },
    events: crashes.map((crash) => ({ atMs: 2000, crash })),
    untilMs: 5000,
    options: { links: 'reported', jobs: 5, length: 100_000, slots },
  })
  const jobs = report.nodes['3']?.['jobs'] as unknown as readonly Shown[]
  const owners = jobs.flatMap(({ status, owner }) => (status === 'running' ? [owner?.[0]] : []))
  return ids(5).map((id) => [Number(id), owners.filter((owner) => owner === id).length])
}

describe('jobs of lost nodes', () => {
  it('are spread over the nodes that are left', () => {
    expect(loads([1, 2], 2)).toEqual([
      [1, 0],
      [2, 0],
      [3, 2],
      [4, 2],
      [5, 1],
    ])
  })

  it('wait if all slots are taken', () => {
    expect(loads([1, 2], 1)).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
      [4, 1],
      [5, 1],
    ])
  })
})
