/** Whether a node supports a request, and what its vote changes: for requests of other nodes and for its own alike. */
import { assertNoDecrease, equalPlain, type Micros, NOTHING, type NodeId, persist } from '../../core/index.ts'
import { type Context, type LocalLeaderEffect, type LocalLeaderStep, unchanged } from './context.ts'
import type { LevelBounds } from './levels.ts'
import { type Election, type Epoch, isLater } from './messages.ts'
import { brokenLockBound, canRelax, changedPace, longestAfter, relaxedAfter } from './pace.ts'
import { isSuperseded } from './raise.ts'
import type { Reachability } from './reachability.ts'
import { RULES } from './rules.ts'
import { changed, type LocalLeaderState, withVote } from './state.ts'
import { holdsMajorities, isNewer, isVoter } from './voters.ts'

export type Ballots = ReturnType<typeof createBallots>

export function createBallots(context: Context, { isBestCandidate, isUnheardBy }: Reachability) {
  const { self, isMajority, placeOf, stableOf, lockOf, settings } = context
  const { canRevokePromise, lockEnd, longestLockToStore } = settings.rules
  const relaxed = relaxedAfter(self)

  /** The bounds of this node, if the lock of a request is outside them; null otherwise. */
  function refusedBounds({ pace }: LocalLeaderState, election: Election): LevelBounds | null {
    if (pace === null || election.lock === undefined) return null
    return brokenLockBound(pace, election.lock) === null ? null : pace.bounds
  }

  /** `isLatest`: no later message of the sender arrived before this one. */
  function isSupportable(
    state: LocalLeaderState,
    from: NodeId,
    election: Election,
    isLatest: boolean,
    now: Micros,
  ): boolean {
    const { lock, promised } = state.vote
    const { request } = election
    if (refusedBounds(state, election) !== null) return false
    const isFree = lock === null || lock.until < now || lock.owner === from
    if (!isFree || (!isMajority && isUnheardBy(state, from, now))) return false
    const isLocked = lock !== null && lock.until >= now && lock.owner === from
    if (isLocked && isLater(lock.request, request)) return false
    const released = state.vote.released[placeOf(from)] ?? null
    // A request may arrive after its Release. But the latest message of a node is no such request, even if a Release
    // that a faulty node sent says so.
    if (!isLatest && released !== null && !isLater(request, released)) return false
    if (isMajority) {
      const isPromisable =
        election.epoch > promised.number || (election.epoch === promised.number && promised.owner === from)
      if (
        (!isPromisable && !isObsolete(state, from, election, now)) ||
        !isSuperseded(state, from, election, now) ||
        isNewer(state.vote.config, election.config)
      )
        return false
    }
    return isBestCandidate(state, from, election, now)
  }

  /**
   * A node that crashed as a candidate has promised its epoch to itself, and does not know whether it led by it. The
   * leader that it hears now has since won a whole round with a majority of the same voters and a smaller epoch. A
   * majority that had promised the larger epoch would have refused. So no node has led by it, and the promise binds no
   * node.
   */
  function isObsolete(
    { vote, known: { following }, candidacy, term }: LocalLeaderState,
    from: NodeId,
    { epoch, renew, config }: Election,
    now: Micros,
  ): boolean {
    if (!renew || vote.promised.owner !== self || epoch >= vote.promised.number) return false
    if (candidacy !== null || term !== null || following === null || following.leader !== from) return false
    const { view, roundAt } = following
    if (view === null || roundAt !== now || !equalPlain(config, vote.config)) return false
    return holdsMajorities(config, view.members)
  }

  /** The state after a vote for a request, and what must be stored before another node hears of the vote. */
  function castVote(
    state: LocalLeaderState,
    from: NodeId,
    election: Election,
    now: Micros,
  ): { readonly state: LocalLeaderState; readonly stored: readonly LocalLeaderEffect[] } {
    const granted = lockOf(election)
    const until = now + granted
    const before = state.vote.lock
    const lock = {
      owner: from,
      request: election.request,
      until: before?.owner === from ? lockEnd(before.until, until) : until,
    }
    const isSound = lockEnd === RULES.lockEnd
    if (before !== null && isSound) assertNoDecrease('the end of the lock', before.until, lock.until)
    const isOther = isMajority && election.epoch !== state.vote.promised.number
    const promised: Epoch = isOther ? { number: election.epoch, owner: from } : state.vote.promised
    const former = isOther ? state.vote.promised : (state.vote.revocable?.former ?? null)
    // A later request of the same epoch came before this one, and may have been won. So the failure of this request
    // proves nothing.
    const isOvertaken =
      !isOther && state.vote.revocable !== null && isLater(state.vote.revocable.request, election.request)
    const isRevocable = canRevokePromise(election.renew || isOvertaken)
    const revocable = isRevocable && former !== null ? { request: election.request, former } : null
    // A leader that leaves writes a configuration without itself. It stores that configuration only when it is in
    // force.
    const isKept = election.renew && (from !== self || isVoter(election.config, self))
    const config = isKept && isNewer(election.config, state.vote.config) ? election.config : state.vote.config
    const certificate = from === self ? state.vote.certificate : null
    const next = withGrant(withVote(state, { lock, promised, revocable, config, certificate }), granted, now)
    const mustStore =
      promised !== state.vote.promised ||
      config !== state.vote.config ||
      next.longestLock !== state.longestLock
    if (!mustStore) return { state: next, stored: NOTHING }
    const kept = withShorterLock(next, now)
    return { state: kept, stored: [persist(stableOf(kept))] }
  }

  /** With adaptive timing, a node remembers how long it may have been bound. */
  function withGrant(state: LocalLeaderState, lock: Micros, now: Micros): LocalLeaderState {
    const { pace } = state
    if (pace === null) return state
    const { longestLock, largeAt } = longestAfter(state.longestLock, pace, lock, now)
    if (longestLock === state.longestLock && largeAt === pace.largeAt) return state
    return changed(state, {
      longestLock: longestLockToStore(state.longestLock, longestLock),
      pace: changedPace(pace, { largeAt }),
    })
  }

  /**
   * Whether a shorter longest lock should be stored, so that a restart does not take long. No vote may depend on that
   * write, because the disk may be full. So it is stored with a vote that must be stored anyway. A voter that follows also
   * stores it in a step of its own. A leader does not: its renewals must not wait for the disk.
   */
  function canStoreShorterLock({ pace, longestLock }: LocalLeaderState, now: Micros): boolean {
    return pace !== null && canRelax(longestLock, pace, relaxed, now)
  }

  function withShorterLock(state: LocalLeaderState, now: Micros): LocalLeaderState {
    const { pace, longestLock } = state
    if (pace === null || !canStoreShorterLock(state, now)) return state
    return changed(state, {
      longestLock: Math.ceil(longestLock / 2),
      pace: changedPace(pace, { largeAt: now }),
    })
  }

  function storeShorterLock(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const next = withShorterLock(state, now)
    return next === state ? unchanged(state) : { state: next, effects: [persist(stableOf(next))] }
  }

  return { isSupportable, refusedBounds, castVote, canStoreShorterLock, storeShorterLock }
}
