import { describe, expect, it } from 'vitest'
import { STATE, TIME, TIMING } from '../../../test/support/epochs-node.ts'
import { startActing, takeLease } from './lease.ts'
import { confirmFenced, isPrimary, NO_PARTITION, withFencing } from './partition.ts'
import type { EpochsState } from './state.ts'

describe('the primary partition', () => {
  const nodes = ['a', 'b', 'c', 'd']
  const viewing = (view: readonly string[] | null) => ({ ...NO_PARTITION, view })

  it('fences every node outside the view of the leader', () => {
    expect(withFencing(viewing(['a', 'b']), 7, nodes).fencing).toEqual({
      token: 7,
      targets: ['c', 'd'],
      asked: false,
    })
    expect(withFencing(viewing(nodes), 7, nodes).fencing).toBeNull()
    expect(withFencing(viewing(null), 7, nodes).fencing).toBeNull()
  })

  it('is done when every target is confirmed with the current token', () => {
    const fencing = withFencing(viewing(['a', 'b']), 7, nodes)
    expect(confirmFenced(fencing, 'c', 6)).toBe(fencing)
    expect(confirmFenced(fencing, 'a', 7)).toBe(fencing)
    const half = confirmFenced(fencing, 'c', 7)
    expect(half.fencing?.targets).toEqual(['d'])
    expect(confirmFenced(half, 'd', 7).fencing).toBeNull()
    expect(confirmFenced(NO_PARTITION, 'd', 7)).toBe(NO_PARTITION)
  })

  it('holds a node whose view includes the leader of its epoch', () => {
    const state = (view: readonly string[] | null, learned: string | null): EpochsState => ({
      ...STATE,
      learned,
      time: { ...TIME, partition: viewing(view) },
    })
    expect(isPrimary(state(['a', 'b'], 'a'))).toBe(true)
    expect(isPrimary(state(['b'], 'a'))).toBe(false)
    expect(isPrimary(state(null, 'a'))).toBeNull()
    expect(isPrimary(state(['a'], null))).toBeNull()
  })

  it('keeps its leader from acting until it is fenced, and asks once', () => {
    const partition = withFencing(viewing(['b']), 7, ['a', 'b'])
    const asking = takeLease({ ...TIME, w: 1000, startAt: 1000, partition }, 7, TIMING, 1500)
    expect(asking.effects.at(-1)).toEqual({
      type: 'output',
      event: { type: 'fence', targets: ['a'], token: 7 },
    })
    expect(startActing(asking.time, 1600).effects).toEqual([])
    const done = { ...asking.time, partition: confirmFenced(asking.time.partition, 'a', 7) }
    expect(startActing(done, 1700).effects).toHaveLength(1)
  })
})
