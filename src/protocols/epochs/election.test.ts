/** The election of one epoch, step by step, for node 2 of three. */
import { describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import { type Block, ZERO } from './block.ts'
import { rulesWith } from './defects.ts'
import { election } from './election.ts'
import type { EpochsState } from './state.ts'

const SETTINGS = { rules: rulesWith(null), ballots: null, keepsRead: false }
const node = election({ self: 2, nodes: [1, 2, 3] }, SETTINGS)
const IDLE: EpochsState = {
  status: 'Suspended',
  ctr: 0,
  phase: 0,
  diskWritten: false,
  own: ZERO,
  writing: null,
  read: [],
  learned: null,
  time: null,
}
const block = (ctr: number, pbal = 0, bal = 0, val: NodeId | null = null): Block => ({
  ctr,
  pbal,
  bal,
  val,
  more: null,
})
/** Reads a whole round: the registers of nodes 1 and 3. */
const round = (state: EpochsState, one: Block, three: Block): EpochsState =>
  node.addBlock(node.addBlock(state, 1, one), 3, three)
const entered = node.completeTick(node.tick(IDLE, 1))
const phase1 = round(entered, ZERO, ZERO)
const balloted = node.completeWrite(node.write(phase1))
const phase2 = round(balloted, ZERO, ZERO)
const voted = node.completeWrite(node.write(phase2))
const leader = round(voted, ZERO, ZERO)

describe('a tick', () => {
  it('writes the counter first, and enters the epoch when the write is acknowledged', () => {
    const ticking = node.tick(IDLE, 4)
    expect(ticking).toMatchObject({ status: 'Suspended', ctr: 0, writing: 'tick', own: block(4) })
    expect(node.completeTick(ticking)).toMatchObject({
      status: 'Participant',
      ctr: 4,
      phase: 0,
      writing: null,
    })
  })

  it('withdraws the vote of the epoch before', () => {
    expect(node.tick({ ...IDLE, own: block(1, 3, 3, 2) }, 2).own).toEqual(block(2, 3))
  })

  it('of a leader to the next epoch is its vote there', () => {
    const renewing = node.tick(leader, 2)
    expect(renewing).toMatchObject({ writing: 'renewal', own: { ctr: 2, val: 2, bal: 1 } })
    expect(node.completeTick(renewing)).toMatchObject({
      status: 'PreviousLeader',
      phase: 2,
      diskWritten: true,
    })
  })

  it('of a leader that skips an epoch is that of any node', () => {
    expect(node.tick(leader, 3)).toMatchObject({ writing: 'tick', own: { ctr: 3, val: null } })
  })
})

describe('a round', () => {
  it('reads the registers of all other nodes, each once', () => {
    expect(node.findMissing(entered)).toEqual([1, 3])
    expect(node.findMissing(node.addBlock(entered, 3, ZERO))).toEqual([1])
    expect(node.findMissing(phase1)).toEqual([])
    expect(node.findMissing(IDLE)).toEqual([])
    expect(node.findMissing({ ...entered, writing: 'ballot' })).toEqual([])
  })

  it('keeps blocks in the order of the nodes', () => {
    const both = round({ ...entered, phase: 1, diskWritten: true }, block(1, 5), block(0))
    const turned = node.addBlock(
      node.addBlock({ ...entered, phase: 1, diskWritten: true }, 3, block(0)),
      1,
      block(1, 5),
    )
    expect(both.read.map(([of]) => of)).toEqual([1, 3])
    expect(turned.read).toEqual(both.read)
  })

  it('changes nothing before it is complete', () => {
    const half = node.addBlock(entered, 1, block(9))
    expect(half).toEqual({ ...entered, read: [[1, block(9)]] })
  })

  it('with a higher counter ends the attempt in every phase', () => {
    for (const state of [entered, balloted, voted])
      expect(round(state, block(2), ZERO)).toMatchObject({
        status: 'Suspended',
        learned: null,
        phase: 0,
        read: [],
      })
  })
})

describe('phase 1', () => {
  it('writes a ballot above all that were read, of any epoch', () => {
    expect(node.canWrite(phase1)).toBe(true)
    expect(node.write(phase1)).toMatchObject({ writing: 'ballot', own: { ctr: 1, pbal: 1 } })
    expect(node.write(round(entered, block(0, 7), block(1, 4))).own.pbal).toBe(8)
  })

  it('restarts for a greater ballot of the same epoch, or an equal one of a higher id', () => {
    expect(round(balloted, block(1, 2), ZERO)).toMatchObject({ phase: 1, diskWritten: false })
    expect(round(balloted, ZERO, block(1, 1))).toMatchObject({ phase: 1, diskWritten: false })
    expect(round(balloted, block(1, 1), ZERO)).toMatchObject({ phase: 2 })
  })

  it('ignores ballots of a lower epoch', () => {
    expect(round(balloted, block(0, 9), ZERO)).toMatchObject({ phase: 2 })
  })

  it('chooses a ballot above the rival when it starts again', () => {
    expect(node.write(round(balloted, block(1, 6), ZERO)).own.pbal).toBe(7)
  })

  it('writes no ballot above the bound of a search', () => {
    const bounded = election({ self: 2, nodes: [1, 2, 3] }, { ...SETTINGS, ballots: 3 })
    const read = (pbal: number) => round(entered, block(1, pbal), ZERO)
    expect([bounded.canWrite(read(2)), bounded.canWrite(read(3))]).toEqual([true, false])
  })
})

describe('phase 2', () => {
  it('votes for the node itself if there is no vote in this epoch', () => {
    expect(node.write(phase2)).toMatchObject({ writing: 'vote', own: { bal: 1, pbal: 1, val: 2 } })
    expect(node.write(round(balloted, block(0, 1, 1, 1), ZERO)).own.val).toBe(2)
  })

  it('takes over the vote with the greatest ballot of this epoch, and of equal ones that of the highest id', () => {
    const high = node.completeWrite({ ...node.write(phase1), own: block(1, 9) })
    expect(node.write(round(high, block(1, 2, 2, 1), block(1, 1, 1, 3))).own.val).toBe(1)
    expect(node.write(round(high, block(1, 2, 2, 1), block(1, 2, 2, 3))).own.val).toBe(3)
  })

  it('elects the node if no rival appeared and its vote was for itself', () => {
    expect(leader).toMatchObject({ status: 'Leader', learned: 2, read: [] })
  })

  it('learns the leader if its vote was for another node', () => {
    const own = block(1, 1, 1, 3)
    expect(round({ ...voted, own }, ZERO, ZERO)).toMatchObject({ status: 'Suspended', learned: 3 })
  })

  it('of a renewal needs one round, and goes back to phase 1 for a rival', () => {
    const renewed = node.completeTick(node.tick(leader, 2))
    expect(round(renewed, block(1), block(1))).toMatchObject({ status: 'Leader', ctr: 2 })
    expect(round(renewed, block(2, 2), block(1))).toMatchObject({ status: 'Participant', phase: 1 })
  })
})

describe('a single node', () => {
  it('completes every round at once', () => {
    const alone = election({ self: 1, nodes: [1] }, SETTINGS)
    const first = alone.judgeRound(alone.completeTick(alone.tick(IDLE, 1)))
    const second = alone.judgeRound(alone.completeWrite(alone.write(first)))
    expect(alone.judgeRound(alone.completeWrite(alone.write(second)))).toMatchObject({
      status: 'Leader',
      learned: 1,
    })
  })
})

describe('blocks that were read', () => {
  it('are dropped with the epoch, unless the invariants of the proof need them', () => {
    const keeping = election({ self: 2, nodes: [1, 2, 3] }, { ...SETTINGS, keepsRead: true })
    const read = node.addBlock(node.addBlock(voted, 1, ZERO), 3, ZERO)
    const kept = keeping.addBlock(keeping.addBlock(voted, 1, ZERO), 3, ZERO)
    expect([read.read.length, kept.read.length]).toEqual([0, 2])
    expect(keeping.suspend(kept, null)).toMatchObject({ phase: 2, diskWritten: true })
    expect(node.suspend(read, 3)).toMatchObject({ status: 'Suspended', phase: 0, learned: 3 })
  })
})
