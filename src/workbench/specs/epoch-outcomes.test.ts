import { describe, expect, it } from 'vitest'
import { judgement, outputAt } from '../../../test/support/traces.ts'
import type { Plain, PlainObject } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'

const RUN = { nodes: [1, 2, 3], prefers: 'highest', constants: {} } as const
const learned = (ms: number, node: number, epoch: number, leader: number): Observation =>
  outputAt(ms, node, { type: 'learned', epoch, leader })
const said = (spec: string, seen: readonly Observation[]) => judgement(spec, RUN, seen)

describe('one leader per epoch', () => {
  it('rejects a second leader of an epoch, however much later', () => {
    expect(
      said('one-leader-an-epoch', [learned(1, 1, 4, 1), learned(9, 2, 5, 2), learned(99, 2, 4, 2)]),
    ).toEqual({
      violated: '2 leads epoch 4, which 1 has led',
    })
  })
  it('accepts two leaders of different epochs at one time', () => {
    expect(said('one-leader-an-epoch', [learned(1, 1, 4, 1), learned(1, 2, 5, 2)])).toBe('held')
    expect(said('one-leader-an-epoch', [learned(1, 1, 4, 1), learned(1, 2, 4, 1)])).toBe('not concerned')
  })
})

describe('agreement in an epoch', () => {
  it('rejects two outcomes, also if neither node leads', () => {
    expect(said('epoch-agreement', [learned(1, 1, 4, 3), learned(2, 2, 4, 2)])).toEqual({
      violated: '2 ends epoch 4 with 2, others with 3',
    })
  })
  it('accepts one outcome per epoch', () => {
    expect(said('epoch-agreement', [learned(1, 1, 4, 3), learned(2, 2, 4, 3), learned(3, 2, 5, 2)])).toBe(
      'held',
    )
  })
})

describe('the invariants of the proof', () => {
  type Block = readonly [ctr: number, pbal: number, bal: number, val: number | null]
  const block = ([ctr, pbal, bal, val]: Block): PlainObject => ({ ctr, pbal, bal, val })
  type Held = {
    readonly phase: 0 | 1 | 2
    readonly written: boolean
    readonly read?: readonly (readonly [number, Block])[]
  }
  /** Node 1 and node 2: the contents of the disk and of memory (null: down). */
  function state(nodes: readonly (readonly [Block, Held | null])[]): Observation {
    return {
      type: 'state',
      at: 0,
      nodes: nodes.map((_, index) => index + 1),
      registers: nodes.map(([disk]): Plain => block(disk)),
      variables: nodes.map(([disk, held]) =>
        held === null
          ? null
          : {
              ctr: disk[0],
              phase: held.phase,
              diskWritten: held.written,
              read: (held.read ?? []).map(([of, seen]) => [of, block(seen)]),
            },
      ),
    }
  }

  it('INV4 rejects a vote that another with a greater ballot contradicts, when its owner will not see it', () => {
    const blind = { phase: 2, written: true, read: [[2, [1, 0, 0, null]]] } as const
    const contradicted = state([
      [[1, 1, 1, 1], blind],
      [[1, 2, 2, 2], { phase: 2, written: true }],
    ])
    expect(said('INV4', [contradicted])).toEqual({
      violated: 'the vote of 1 in epoch 1 is neither decided nor about to be given up',
    })
  })

  it('INV4 allows it where the owner has still to read the greater ballot, or both vote alike', () => {
    const other = { phase: 2, written: true, read: [[1, [1, 1, 1, 1]]] } as const
    expect(
      said('INV4', [
        state([
          [[1, 1, 1, 1], { phase: 2, written: true }],
          [[1, 2, 2, 2], other],
        ]),
      ]),
    ).toBe('held')
    const blind = { phase: 2, written: true, read: [[2, [1, 0, 0, null]]] } as const
    expect(
      said('INV4', [
        state([
          [[1, 1, 1, 1], blind],
          [[1, 2, 2, 1], other],
        ]),
      ]),
    ).toBe('held')
    expect(
      said('INV4', [
        state([
          [[1, 1, 0, null], { phase: 1, written: true }],
          [[0, 0, 0, null], null],
        ]),
      ]),
    ).toBe('not concerned')
  })

  it('INV4k rejects a ballot of a higher epoch that is not above that of a leader which has read it', () => {
    const leader = { phase: 2, written: true, read: [[2, [0, 0, 0, null]]] } as const
    const ahead = { phase: 1, written: true } as const
    expect(
      said('INV4k', [
        state([
          [[1, 2, 2, 1], leader],
          [[2, 1, 0, null], ahead],
        ]),
      ]),
    ).toEqual({
      violated: '2 has ballot 1 in epoch 2, not above ballot 2 of 1 in epoch 1',
    })
    expect(
      said('INV4k', [
        state([
          [[1, 2, 2, 1], leader],
          [[2, 3, 0, null], ahead],
        ]),
      ]),
    ).toBe('held')
    expect(
      said('INV4k', [
        state([
          [[1, 2, 2, 1], leader],
          [[2, 1, 0, null], null],
        ]),
      ]),
    ).toBe('not concerned')
  })
})
