/**
 * The election of one epoch: section 4 of the paper in its corrected form, without time and without a world.
 *
 * A node ticks into an epoch (its counter goes to its register first), reads all others (phase 0), writes a ballot above
 * all that it read and reads again (phase 1), writes a vote and reads again (phase 2). A node that reads a higher counter
 * is out of this epoch; a node that reads a greater (pbal, id) of its own epoch begins phase 1 again. A leader that ticks to the
 * very next epoch starts in phase 2: its tick is its vote.
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
  /** Keep what was read when a node has done with an epoch, as the paper does: its invariants speak of it. */
  readonly keepsRead: boolean
}

export function election({ self, nodes }: Identity, { rules, ballots, keepsRead }: ElectionSettings) {
  const others = nodes.filter((id) => id !== self)
  const { isBetterVote, isGreaterBallot, countsBallot, canRenew, givesUpInPhase0, keepsRound } = rules
  const keeps = keepsRead || keepsRound(true) || keepsRound(false)

  /** The counter goes to the register; memory follows when that is acknowledged. */
  function tick(state: EpochsState, to: number): EpochsState {
    const { own, status } = state
    const renews = status === 'Leader' && canRenew(state.ctr, to)
    return renews
      ? { ...state, own: { ...own, ctr: to }, writing: 'renewal' }
      : { ...state, own: { ...own, ctr: to, bal: 0, val: null }, writing: 'tick' }
  }

  function ticked(state: EpochsState): EpochsState {
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

  /** Above every ballot that was read, of whatever epoch: that is what makes renewal in one round safe. */
  function nextBallot({ own, read, ctr }: EpochsState): number {
    let most = own.pbal
    for (const [, block] of read) {
      if (block.pbal > most && countsBallot(block.ctr, ctr)) most = block.pbal
    }
    return most + 1
  }

  /** Whether the next thing to do is a write of phase 1 or 2. */
  function mayWrite(state: EpochsState): boolean {
    const { status, phase, diskWritten, writing } = state
    if (status !== 'Participant' && status !== 'PreviousLeader') return false
    if (phase === 0 || diskWritten || writing !== null) return false
    return phase === 2 || ballots === null || nextBallot(state) <= ballots
  }

  function write(state: EpochsState): EpochsState {
    const { own, phase } = state
    return phase === 1
      ? { ...state, own: { ...own, pbal: nextBallot(state) }, writing: 'ballot' }
      : { ...state, own: { ...own, bal: own.pbal, val: proposed(state) }, writing: 'vote' }
  }

  function written(state: EpochsState): EpochsState {
    return { ...state, diskWritten: true, writing: null, read: [] }
  }

  /** The vote with the greatest (bal, id) among those of this epoch, or one for itself. */
  function proposed({ own, read, ctr }: EpochsState): NodeId {
    let best: Reading | null = null
    for (const reading of [...read, [self, own] as const].sort(byId)) {
      const [of, block] = reading
      if (block.ctr !== ctr || block.val === null) continue
      if (best === null || isBetterVote(block.bal, of, best[1].bal, best[0])) best = reading
    }
    return best?.[1].val ?? self
  }

  /** Whose blocks the present round still lacks; none where no round is under way. */
  function missing({ status, phase, diskWritten, writing, read }: EpochsState): readonly NodeId[] {
    if (status !== 'Participant' && status !== 'PreviousLeader') return []
    if (writing !== null || (phase > 0 && !diskWritten)) return []
    return read.length === 0 ? others : others.filter((id) => !read.some(([of]) => of === id))
  }

  /** A block of the present round; with the last one the round is judged. */
  function took(state: EpochsState, of: NodeId, block: Block): EpochsState {
    const place = nodes.indexOf(of)
    const before = state.read.findIndex(([other]) => nodes.indexOf(other) > place)
    const read =
      before < 0
        ? [...state.read, [of, block] as const]
        : state.read.toSpliced(before, 0, [of, block] as const)
    return judged({ ...state, read })
  }

  /** The case analysis, once all blocks of a round are there. */
  function judged(state: EpochsState): EpochsState {
    const { read, ctr, phase, own } = state
    if (read.length < others.length) return state
    if (read.some(([, block]) => block.ctr > ctr)) return suspended(state, null)
    if (phase === 0) {
      return givesUpInPhase0(state, self)
        ? suspended(state, null)
        : { ...state, phase: 1, diskWritten: false }
    }
    if (read.some((reading) => isRival(state, reading))) {
      // What was read is kept for the next ballot.
      return { ...state, status: 'Participant', phase: 1, diskWritten: false }
    }
    if (phase === 1) return { ...state, phase: 2, diskWritten: false }
    if (own.val !== self) return suspended(state, own.val)
    return { ...state, status: 'Leader', learned: self, read: keeps ? read : [] }
  }

  function isRival({ own, ctr }: EpochsState, [of, block]: Reading): boolean {
    return block.ctr === ctr && isGreaterBallot(block.pbal, of, own.pbal, self)
  }

  function suspended(state: EpochsState, learned: NodeId | null): EpochsState {
    const done = { ...state, status: 'Suspended', learned, writing: null } as const
    return keeps ? done : { ...done, phase: 0, diskWritten: false, read: [] }
  }

  return { others, tick, ticked, mayWrite, write, written, missing, took, judged, suspended }
}

function byId([a]: Reading, [b]: Reading): number {
  return isAfter(0, a, 0, b) ? 1 : -1
}
