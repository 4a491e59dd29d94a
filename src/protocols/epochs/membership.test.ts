import { describe, expect, it } from 'vitest'
import { TIME } from '../../../test/support/epochs-node.ts'
import { counterToReach, nextRemovalTask, restartRemoval } from './membership.ts'
import type { Removal, Seen, Timed } from './state.ts'

describe('a removal', () => {
  const removal = (stage: Removal['stage'], since: number | null = 100): Removal => ({
    of: 'c',
    stage,
    to: 5,
    since,
  })
  const seen = (of: string, ctr: number, more: Partial<Seen> = {}): Seen => ({
    of,
    ctr,
    pbal: 1,
    lctr: 0,
    lbal: 0,
    gone: false,
    at: 0,
    ...more,
  })
  const task = (change: Partial<Timed>, ctr = 5, now = 1000) =>
    nextRemovalTask('b', { ...TIME, removal: removal('wait'), ...change }, ctr, 200, now)

  it('reads first, and deletes when all nodes have reached the tombstone', () => {
    expect(task({ removal: removal('read') })).toEqual({ do: 'read', of: 'c' })
    expect(task({ seen: [seen('a', 5), seen('c', 5)] })).toEqual({ do: 'delete', of: 'c' })
  })

  it.each<[string, Partial<Timed>, number, number]>([
    ['no removal is in progress', { removal: null }, 5, 1000],
    ['its write is in progress', { removal: removal('tombstone') }, 5, 1000],
    ['this node has not reached the counter', {}, 4, 1000],
    ['another node has not reached the counter', { seen: [seen('a', 4)] }, 5, 1000],
    ['a lease of the removed node may last', { seen: [seen('c', 5, { lctr: 4, at: 801 })] }, 5, 1000],
    ['the tombstone is younger than a lease', {}, 5, 299],
    ['the tombstone is not known to be written', { removal: removal('wait', null) }, 5, 1000],
  ])('waits while %s', (_why, change, ctr, now) => {
    expect(task(change, ctr, now)).toBeNull()
  })

  it('does not wait for other removed nodes, nor for its own former incarnation', () => {
    expect(task({ seen: [seen('a', 1, { gone: true }), seen('b', 1)] })?.do).toBe('delete')
  })

  it('makes followers reach the greatest tombstone, and only that', () => {
    const all = [seen('a', 9), seen('c', 6, { gone: true }), seen('d', 4, { gone: true })]
    expect(counterToReach({ ...TIME, seen: all }, 3)).toBe(6)
    expect(counterToReach({ ...TIME, seen: all }, 6)).toBeNull()
  })

  it('starts again with a read if its progress is unknown', () => {
    expect(restartRemoval(removal('delete'))).toEqual({ of: 'c', stage: 'read', to: 0, since: null })
    expect(restartRemoval(null)).toBeNull()
    const reading = removal('read')
    expect(restartRemoval(reading)).toBe(reading)
  })
})
