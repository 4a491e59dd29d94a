import { describe, expect, it } from 'vitest'
import { connectivityAt, followsAt, memoryAfter, viewAt } from '../../../../test/support/traces.ts'
import type { Observation } from '../../trace/index.ts'
import type { RunFacts } from '../spec.ts'
import { connections, sameSet } from './connections.ts'

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { kappaBI: 100_000 } }

describe('connections', () => {
  const since = (...seen: readonly Observation[]) => memoryAfter(connections, RUN, seen).system.since

  it('keep the start of a pair that stays connected, and restart a pair that was cut', () => {
    const full = connectivityAt(0, 'full', [[1, 2, 3]])
    const pair = connectivityAt(10, [[1, 2]], [[1, 2], [3]])
    const again = connectivityAt(20, 'full', [[1, 2, 3]])
    expect(since(full, pair)).toEqual([
      [null, 0, null],
      [0, null, null],
      [null, null, null],
    ])
    expect(since(full, pair, again)).toEqual([
      [null, 0, 20_000],
      [0, null, 20_000],
      [20_000, 20_000, null],
    ])
  })

  it('keep the start of a stable partition in any order of its members', () => {
    const memory = memoryAfter(connections, RUN, [
      connectivityAt(0, [[1, 2]], [[1, 2], [3]]),
      connectivityAt(10, [[1, 2]], [[3], [2, 1]]),
    ])
    expect(memory.system.stable).toEqual([
      { members: [3], since: 0 },
      { members: [1, 2], since: 0 },
    ])
  })

  it('restart with a node that becomes an observer or stops being one', () => {
    const full = connectivityAt(0, 'full', [[1, 2, 3]])
    const memory = memoryAfter(connections, RUN, [full, viewAt(30, 3, 'observer')])
    expect(memory.system.observers).toEqual([3])
    expect(memory.system.since).toEqual([
      [null, 0, 30_000],
      [0, null, 30_000],
      [30_000, 30_000, null],
    ])
    expect(memory.system.stable).toEqual([{ members: [1, 2, 3], since: 30_000 }])
    expect(connections.next(memory, followsAt(40, 3, 1)).system.observers).toEqual([])
  })

  it('ignore links with nodes outside the group', () => {
    expect(since(connectivityAt(0, [[1, 9]], [[1, 9]]))).toEqual([
      [null, null, null],
      [null, null, null],
      [null, null, null],
    ])
  })

  it.each([
    [[], [], true],
    [[1, 2], [2, 1], true],
    [[1, 2], [1, 3], false],
    [[1, 2], [1, 2, 3], false],
  ] as const)('compare the sets %j and %j', (a, b, isSame) => {
    expect(sameSet(a, b)).toBe(isSame)
  })
})
