import { describe, expect, it } from 'vitest'
import type { Plain } from '../../core/index.ts'
import {
  type Block,
  blockOf,
  isAfter,
  isReleased,
  LARGEST,
  type More,
  NO_MORE,
  shownBlock,
  ZERO,
} from './block.ts'

const more: More = { inc: 1, lctr: 2, lbal: 3, led: 2, term: 1, gone: false, gen: 4 }
const block: Block = { ctr: 5, pbal: 2, bal: 1, val: 'a', more }

describe('a register', () => {
  it('that was never written holds zeros', () => {
    expect(blockOf(null)).toBe(ZERO)
  })

  it('holds a block, with or without the fields for leases', () => {
    expect(blockOf(block)).toEqual(block)
    expect(blockOf({ ...block, val: null, more: null })).toEqual({ ...block, val: null, more: null })
    expect(blockOf({ ...block, val: 7 })?.val).toBe(7)
  })

  it('loses fields that no version wrote', () => {
    expect(blockOf({ ...block, extra: 1 })).toEqual(block)
  })

  it.each<[string, Plain]>([
    ['a text', 'block'],
    ['a list', [5, 2, 1]],
    ['no counter', { ...block, ctr: null }],
    ['a negative ballot', { ...block, pbal: -1 }],
    ['a fraction', { ...block, bal: 1.5 }],
    ['a counter beyond the limit', { ...block, ctr: LARGEST + 1 }],
    ['a vote for an object', { ...block, val: {} }],
    ['a vote for a flag', { ...block, val: true }],
    ['a text instead of the fields for leases', { ...block, more: 'x' }],
    ['no incarnation', { ...block, more: { ...more, inc: null } }],
    ['a text as stamp', { ...block, more: { ...more, lctr: '2' } }],
    ['a tombstone flag that is no flag', { ...block, more: { ...more, gone: 1 } }],
    ['a negative generation', { ...block, more: { ...more, gen: -1 } }],
  ])('is damaged if it holds %s', (_what, value) => {
    expect(blockOf(value)).toBeNull()
  })

  it('accepts the largest counter', () => {
    expect(blockOf({ ...block, ctr: LARGEST })?.ctr).toBe(LARGEST)
  })

  it('is shown as the paper writes it', () => {
    expect([shownBlock(block), shownBlock(null), shownBlock('damaged')]).toEqual([
      [5, 2, 1, 'a'],
      [0, 0, 0, 0],
      null,
    ])
  })
})

describe('the order of numbers', () => {
  it.each([
    [2, 'a', 1, 'b', true],
    [1, 'b', 2, 'a', false],
    [1, 'b', 1, 'a', true],
    [1, 'a', 1, 'a', false],
    [1, 10, 1, 9, true],
  ] as const)('puts (%j, %j) after (%j, %j): %j', (a, i, b, j, after) => {
    expect(isAfter(a, i, b, j)).toBe(after)
  })
})

describe('a released lease', () => {
  it('is that of a node that has led, voted for itself, and removed its stamp', () => {
    expect(isReleased('a', { ...block, more: { ...more, lctr: 0 } })).toBe(true)
  })
  it.each([
    ['still has its stamp', block],
    ['has never led', { ...block, more: { ...NO_MORE } }],
    ['has voted for another node', { ...block, val: 'b', more: { ...more, lctr: 0 } }],
    ['has no fields for leases', { ...block, more: null }],
  ])('is not that of a node that %s', (_what, held) => {
    expect(isReleased('a', held)).toBe(false)
  })
})
