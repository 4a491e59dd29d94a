/** The level of a node: how it judges messages by it, from whom it takes it over, and when it changes it. */
import { type Micros, NOTHING, type NodeId, output, persist, setTimer } from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import { type Context, type LocalLeaderEffect, type LocalLeaderStep, TIMER } from './context.ts'
import {
  amountOf,
  boundsNeed,
  commonLevels,
  grantedLevels,
  higherNeed,
  highestGranted,
  INHERITED,
  lossNeed,
  type Need,
  nearestGranted,
  QUIET,
  quorumNeed,
  type VoterEvidence,
} from './evidence.ts'
import { HIGHEST_LEVEL, levelFor, lockAt, storedLockFor, withinBounds } from './levels.ts'
import { createMeasuring } from './measuring.ts'
import { type LocalLeaderMessage, NO_LOSS } from './messages.ts'
import { changedPace, type Pace } from './pace.ts'
import { afterLowering, afterRaise, type Hold, nextLevel } from './policy.ts'
import { keepsFailing } from './record.ts'
import { levelOf, UNKNOWN } from './samples.ts'
import { changed, type LocalLeaderState } from './state.ts'
import { createVoterReports } from './voter-reports.ts'
import { votersOf } from './voters.ts'

/** A candidate that too few voters answer this often in a row asks for more time. */
const UNANSWERED = 2
/** By this many levels: about half as much time again. */
const LEVELS_PER_FAILURE = 2

type LevelChoice = Pick<Pace, 'level' | 'need' | 'hold' | 'ceiling'>

export type Pacing = ReturnType<typeof createPacing>

export function createPacing(context: Context) {
  const { self, isGroupNode, timingIn, isLeading, stableOf, settings } = context
  const { longestLockToStore } = settings.rules
  const { adaptive } = settings
  const lossPerDay = adaptive === null ? 1 : adaptive.lossPerDay
  const measuring = createMeasuring(context)
  const { votersIn, grantsIn, losesNothing } = createVoterReports(context)
  const { isMeasuring, measureRound, slownessOf } = measuring

  /** A message is fast by the level in force. The layer below knows only how long it took at most. */
  function receiptIn(state: LocalLeaderState, receipt: Receipt): Receipt {
    const { bound, overtaken } = receipt
    if (adaptive === null || bound === null) return receipt
    return { fast: bound <= timingIn(state).heard, bound, overtaken }
  }

  /** A follower takes over the level of its leader, or a higher one, at which it hears the leader in time. */
  function takeOverLevel(
    state: LocalLeaderState,
    from: NodeId,
    body: LocalLeaderMessage,
    now: Micros,
  ): LocalLeaderState {
    const { pace } = state
    if (!isMeasuring || pace === null) return state
    if (body.kind !== 'Election' || !body.renew || body.lock === undefined || from === self) return state
    if (isLeading(state, now) || state.known.following?.leader !== from) return state
    const level = withinBounds(pace.bounds, Math.max(levelFor(body.lock), slownessOf(state, from)))
    if (level === pace.level && pace.unanswered === 0) return state
    return changed(state, {
      pace: changedPace(pace, { level, hold: holdAfter(pace, level, now), unanswered: 0 }),
    })
  }

  /** The level changes to this one for another reason than the node's own evidence. */
  function holdAfter(pace: Pace, level: number, now: Micros): Hold {
    const { level: before, hold } = pace
    if (level === before) return hold
    return level > before ? afterRaise(hold, [before, level], lossPerDay, now) : afterLowering(hold, now)
  }

  /** The level that a leader needs. */
  function leaderNeed(state: LocalLeaderState, pace: Pace, now: Micros): Need {
    const { bounds, measured } = pace
    const voters = votersIn(state, pace, now)
    const { config } = state.vote
    const late: Need = { level: levelOf(measured.late), cause: 'late', by: self }
    const round: Need = { level: levelOf(measured.round), cause: 'round', by: null }
    const ofTime = higherNeed(higherNeed(quorumNeed(config, self, voters, bounds.least), late), round)
    const need =
      adaptive === null ? ofTime : higherNeed(ofTime, lossNeed(config, self, voters, bounds, adaptive))
    const level = withinBounds(bounds, need.level)
    return level === need.level ? need : { level, cause: need.cause, by: need.by }
  }

  /** A leader uses only levels that a majority grants. On the way to a lower level it skips the others. */
  function grantedChange(
    { level, bounds }: Pace,
    wanted: number,
    needed: number,
    isLevelGranted: (level: number) => boolean,
  ): number {
    if (wanted >= level) return nearestGranted(wanted, bounds, isLevelGranted)
    for (let lower = wanted; lower >= needed; lower--) if (isLevelGranted(lower)) return lower
    return level
  }

  /** The leader has won a round, and chooses the level of the next. */
  function afterRound(
    before: LocalLeaderState,
    length: Micros,
    isFirst: boolean,
    now: Micros,
  ): LocalLeaderStep {
    const state = measureRound(before, length)
    const { pace } = state
    if (!isMeasuring || pace === null || adaptive === null) return { state, effects: NOTHING }
    const held = isFirst ? { ...pace.hold, since: now } : pace.hold
    const choice = chooseLevel(state, pace, held, now)
    const { level } = choice
    if (longestFor(state, pace, level) === state.longestLock) return applyLevel(state, pace, choice)
    // No renewal may wait for this write, nor fail with it: until it is done, the leader uses a level that it has stored.
    const usable = highestStored(state, pace, level)
    const need = usable === pace.level ? pace.need : choice.need
    const { state: next, effects } = applyLevel(state, pace, { ...choice, level: usable, need, hold: held })
    return { state: next, effects: [...effects, setTimer(TIMER.store, now)] }
  }

  /** The level that the leader wants next, why, and the waits after that. */
  function chooseLevel(state: LocalLeaderState, pace: Pace, held: Hold, now: Micros): LevelChoice {
    const asked = leaderNeed(state, pace, now)
    const isGranted = grantedLevels(pace.bounds, state.vote.config, grantsIn(state, pace, now))
    // A majority has just granted the present level. In the first round of a term other votes are still on their way.
    const isLevelGranted = (level: number): boolean => level === pace.level || isGranted(level)
    const next = nextLevel(pace.level, asked.level, held, { least: pace.bounds.least, lossPerDay }, now)
    const level = grantedChange(pace, next.level, asked.level, isLevelGranted)
    return {
      level,
      need: level === next.level ? asked : boundsNeed(level),
      // A change that is not granted does not happen, and so it was no mistake.
      hold: level === pace.level && level !== next.level ? held : next.hold,
      ceiling: highestGranted(pace.bounds, isLevelGranted),
    }
  }

  function applyLevel(state: LocalLeaderState, pace: Pace, choice: LevelChoice): LocalLeaderStep {
    const { level, need, hold, ceiling } = choice
    return {
      state: changed(state, {
        pace: changedPace(pace, { level, need, hold, ceiling, announced: level, unanswered: 0 }),
      }),
      effects:
        level === pace.announced
          ? NOTHING
          : [levelEvent(level, pace.announced, reasonFor(pace, level, need))],
    }
  }

  /** The longest lock that must be stored before the leader asks itself for a lock of this level. */
  function longestFor({ longestLock }: LocalLeaderState, { bounds }: Pace, level: number): Micros {
    const lock = lockAt(level)
    return lock <= longestLock ? longestLock : longestLockToStore(longestLock, storedLockFor(lock, bounds))
  }

  function highestStored(
    { longestLock }: LocalLeaderState,
    { level: present }: Pace,
    wanted: number,
  ): number {
    for (let level = wanted; level > present; level--) if (lockAt(level) <= longestLock) return level
    return present
  }

  /** A leader stores a longer lock in a step of its own, and uses it from the next renewal on. */
  function storeLongerLock(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const { pace } = state
    if (!isMeasuring || pace === null) return { state, effects: NOTHING }
    const choice = chooseLevel(state, pace, pace.hold, now)
    const longestLock = longestFor(state, pace, choice.level)
    if (longestLock === state.longestLock) return { state, effects: NOTHING }
    const stored = changed(state, { longestLock, pace: changedPace(pace, { largeAt: now }) })
    const { state: next, effects } = applyLevel(stored, changedPace(pace, { largeAt: now }), choice)
    return { state: next, effects: [persist(stableOf(next)), ...effects] }
  }

  /** Why the level differs from the level that this leader announced last. */
  function reasonFor(before: Pace, level: number, need: Need): Need {
    if (level > before.level) return need
    if (level < before.level) return QUIET
    return before.need.cause === 'bounds' ? before.need : INHERITED
  }

  /** `former`: the level that this node announced before. */
  function levelEvent(level: number, former: number, { cause, by }: Need): LocalLeaderEffect {
    const amount = adaptive === null ? null : amountOf({ level, cause }, adaptive.timingAt)
    return output({ type: 'level', level, lock: lockAt(level), former: lockAt(former), cause, by, amount })
  }

  /**
   * A node that does not lead needs a level at which it hears a majority in time, or all nodes that it hears at all:
   * another node may depend on its vote.
   */
  function candidateNeed(state: LocalLeaderState, pace: Pace): number {
    const own = Math.max(levelOf(pace.measured.late), pace.bounds.least)
    const heard = votersOf(state.vote.config).map((node): VoterEvidence => {
      const slowness = isGroupNode(node) ? slownessOf(state, node) : UNKNOWN
      return { node, evidence: slowness === UNKNOWN ? null : { late: 0, delay: slowness, loss: NO_LOSS } }
    })
    return Math.max(own, quorumNeed(state.vote.config, self, heard, pace.bounds.least).level)
  }

  /**
   * A node that follows no leader raises its level until it hears others in time. While it still counts on a candidate that
   * it has heard, it waits: at a higher level it would believe for longer that a leader which has crashed is up, and refuse
   * the next one.
   */
  function raiseToHear(state: LocalLeaderState, now: Micros): LocalLeaderState {
    const { pace } = state
    const { following, peers } = state.known
    if (!isMeasuring || pace === null || isLeading(state, now)) return state
    if (following !== null && now < following.until) return state
    if (peers.some((peer) => peer?.candidate === true)) return state
    const level = withinBounds(pace.bounds, candidateNeed(state, pace))
    if (level <= pace.level) return state
    return changed(state, {
      pace: changedPace(pace, { level, need: INHERITED, hold: holdAfter(pace, level, now) }),
    })
  }

  /** The state in which a node asks for support: at a level that a majority grants. */
  function beforeRequest(
    state: LocalLeaderState,
    renew: boolean,
    isChosen: boolean,
    now: Micros,
  ): LocalLeaderState {
    const { pace } = state
    if (!isMeasuring || pace === null) return state
    const { config } = state.vote
    const needed = renew ? pace.level : candidateNeed(state, pace)
    const wanted = withinBounds(pace.bounds, Math.max(pace.level, needed))
    const voters = grantsIn(state, pace, now)
    const isFirst = !renew && (isChosen || !keepsFailing(state.eligibility.record))
    const isLevelGranted = grantedLevels(pace.bounds, config, voters, isFirst)
    const suits =
      renew || isFirst
        ? undefined
        : commonLevels(voters, quorumNeed(config, self, votersIn(state, pace, now), needed).level)
    const level = nearestGranted(wanted, pace.bounds, isLevelGranted, suits)
    const ceiling = highestGranted(pace.bounds, isLevelGranted)
    if (level === pace.level && ceiling === pace.ceiling) return state
    const need = level === pace.level ? pace.need : level === wanted ? INHERITED : boundsNeed(level)
    return changed(state, {
      pace: changedPace(pace, { level, ceiling, need, hold: holdAfter(pace, level, now) }),
    })
  }

  /**
   * When a round ends that no majority supports. Where no request gets lost, the first round of a renewal takes all the time
   * that the other tries do not need: a late answer still counts.
   */
  function roundEndsAt(state: LocalLeaderState, renew: boolean, now: Micros): Micros {
    const { collection, tries, tryTime } = timingIn(state)
    const { term, pace } = state
    const soonest = now + collection
    if (!isMeasuring || !renew || term === null || pace === null) return soonest
    const latest = term.until - (tries - 1) * tryTime
    return latest > soonest && losesNothing(state, pace, now) ? latest : soonest
  }

  /** A candidacy has failed. `isAnswered`: a majority answered in time, so that more time would not help. */
  function afterFailure(state: LocalLeaderState, isAnswered: boolean): LocalLeaderState {
    const { pace } = state
    if (!isMeasuring || pace === null) return state
    const unanswered = isAnswered ? 0 : pace.unanswered + 1
    if (unanswered === pace.unanswered) return state
    if (unanswered < UNANSWERED) return changed(state, { pace: changedPace(pace, { unanswered }) })
    const level = Math.min(pace.level + LEVELS_PER_FAILURE, pace.bounds.most, HIGHEST_LEVEL)
    return changed(state, { pace: changedPace(pace, { unanswered: 0, level }) })
  }

  return {
    ...measuring,
    receiptIn,
    takeOverLevel,
    raiseToHear,
    afterRound,
    storeLongerLock,
    beforeRequest,
    roundEndsAt,
    afterFailure,
  }
}

/** Whether the level has become lower. Then a node waits too long for its leader: as long as it would at the one before. */
export function hasLowerLevel({ pace: is }: LocalLeaderState, { pace: was }: LocalLeaderState): boolean {
  return is !== null && was !== null && is.level < was.level
}
