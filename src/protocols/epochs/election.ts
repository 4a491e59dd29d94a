/**
 * The election of one epoch: section 4 of the paper in its corrected form, without time and without a world.
 *
 * A node enters an epoch by a tick: it writes its new counter to its register. Then it goes through three phases:
 *
 *  - phase 0: it reads all other registers;
 *  - phase 1: it writes a ballot above all ballots that it read, and reads again;
 *  - phase 2: it writes a vote, and reads again.
 *
 * A node that reads a higher counter drops out of the epoch. A node that reads a greater (pbal, id) of its own epoch
 * starts phase 1 again. A leader that ticks to the next epoch starts in phase 2: its tick is its vote.
 *
 * Source: Dharmadeep & Gopinath, Proactive Leader Election in Asynchronous Shared Memory Systems, 2006. README.md lists
 * what was changed and why.
 */
import type { Identity, NodeId } from '../../core/index.ts'
import { type Block, isAfter } from './block.ts'
import type { EpochsRules } from './rules.ts'
import type { EpochsState, Reading } from './state.ts'

export type ElectionSettings = {
  readonly rules: EpochsRules
  /** No ballot above this is written; null: no bound. */
  readonly ballots: number | null
  /** Whether a node keeps the blocks that it read after an epoch, as the paper does: the paper's invariants use them. */
  readonly keepsRead: boolean
}

export function election({ self, nodes }: Identity, { rules, ballots, keepsRead }: ElectionSettings) {
  const others = nodes.filter((id) => id !== self)
  const { isBetterVote, isGreaterBallot, countsBallot, canRenew, givesUpInPhase0, keepsRound } = rules
  const keeps = keepsRead || keepsRound(true) || keepsRound(false)

  /** Writes the counter to the register. `completeTick` sets it in memory when the write is acknowledged. */
  function tick(state: EpochsState, to: number): EpochsState {
    const { own, status } = state
    const renews = status === 'Leader' && canRenew(state.ctr, to)
    return renews
      ? { ...state, own: { ...own, ctr: to }, writing: 'renewal' }
      : { ...state, own: { ...own, ctr: to, bal: 0, val: null }, writing: 'tick' }
  }

  function completeTick(state: EpochsState): EpochsState {
    const renews = state.writing === 'renewal'
    return {
      ...state,
      status: renews ? 'PreviousLeader' : 'Participant',
      ctr: state.own.ctr,
      phase: renews ? 2 : 0,
      diskWritten: renews,
      writing: null,
      read: keepsRound(renews) ? state.read : [],
      learned: null,
    }
  }

  /** Above every ballot that the node has read, of any epoch: this makes renewal in one round safe. */
  function nextBallot({ own, read, ctr }: EpochsState): number {
    let most = own.pbal
    for (const [, block] of read) {
      if (block.pbal > most && countsBallot(block.ctr, ctr)) most = block.pbal
    }
    return most + 1
  }

  /** Whether the node's next step is the write of phase 1 or 2. */
  function canWrite(state: EpochsState): boolean {
    const { status, phase, diskWritten, writing } = state
    if (status !== 'Participant' && status !== 'PreviousLeader') return false
    if (phase === 0 || diskWritten || writing !== null) return false
    return phase === 2 || ballots === null || nextBallot(state) <= ballots
  }

  function write(state: EpochsState): EpochsState {
    const { own, phase } = state
    return phase === 1
      ? { ...state, own: { ...own, pbal: nextBallot(state) }, writing: 'ballot' }
      : { ...state, own: { ...own, bal: own.pbal, val: chooseValue(state) }, writing: 'vote' }
  }

  function completeWrite(state: EpochsState): EpochsState {
    return { ...state, diskWritten: true, writing: null, read: [] }
  }

  /** The value of the vote with the greatest (bal, id) in this epoch. The node itself if there is no vote yet. */
  function chooseValue({ own, read, ctr }: EpochsState): NodeId {
    let best: Reading | null = null
    for (const reading of [...read, [self, own] as const].sort(byId)) {
      const [of, block] = reading
      if (block.ctr !== ctr || block.val === null) continue
      if (best === null || isBetterVote(block.bal, of, best[1].bal, best[0])) best = reading
    }
    return best?.[1].val ?? self
  }

  /** The nodes whose blocks the current round still needs; none if no round is in progress. */
  function findMissing({ status, phase, diskWritten, writing, read }: EpochsState): readonly NodeId[] {
    if (status !== 'Participant' && status !== 'PreviousLeader') return []
    if (writing !== null || (phase > 0 && !diskWritten)) return []
    return read.length === 0 ? others : others.filter((id) => !read.some(([of]) => of === id))
  }

  /** Adds a block to the current round. The last block completes the round. */
  function addBlock(state: EpochsState, of: NodeId, block: Block): EpochsState {
    const place = nodes.indexOf(of)
    const before = state.read.findIndex(([other]) => nodes.indexOf(other) > place)
    const read =
      before < 0
        ? [...state.read, [of, block] as const]
        : state.read.toSpliced(before, 0, [of, block] as const)
    return judgeRound({ ...state, read })
  }

  /** The case analysis of the paper, once all blocks of a round have been read. */
  function judgeRound(state: EpochsState): EpochsState {
    const { read, ctr, phase, own } = state
    if (read.length < others.length) return state
    if (read.some(([, block]) => block.ctr > ctr)) return suspend(state, null)
    if (phase === 0) {
      return givesUpInPhase0(state, self) ? suspend(state, null) : { ...state, phase: 1, diskWritten: false }
    }
    if (read.some((reading) => isRival(state, reading))) {
      // The next ballot must exceed the ballots in these blocks.
      return { ...state, status: 'Participant', phase: 1, diskWritten: false }
    }
    if (phase === 1) return { ...state, phase: 2, diskWritten: false }
    if (own.val !== self) return suspend(state, own.val)
    return { ...state, status: 'Leader', learned: self, read: keeps ? read : [] }
  }

  function isRival({ own, ctr }: EpochsState, [of, block]: Reading): boolean {
    return block.ctr === ctr && isGreaterBallot(block.pbal, of, own.pbal, self)
  }

  function suspend(state: EpochsState, learned: NodeId | null): EpochsState {
    const done = { ...state, status: 'Suspended', learned, writing: null } as const
    return keeps ? done : { ...done, phase: 0, diskWritten: false, read: [] }
  }

  return {
    others,
    tick,
    completeTick,
    canWrite,
    write,
    completeWrite,
    findMissing,
    addBlock,
    judgeRound,
    suspend,
  }
}

function byId([a]: Reading, [b]: Reading): number {
  return isAfter(0, a, 0, b) ? 1 : -1
}
