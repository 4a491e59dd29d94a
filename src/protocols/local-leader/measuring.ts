/** What a node with adaptive timing measures: its timers, the messages of its peers, and its own rounds. */
import { type Micros, type NodeId, replaced } from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import { type Context, type LocalLeaderEffect, TIMER } from './context.ts'
import { lowestLevel } from './evidence.ts'
import { lockAt } from './levels.ts'
import { type Election, type Evidence, type LocalLeaderMessage, NO_LOSS, type Reply } from './messages.ts'
import {
  changedMeasured,
  changedPace,
  type Due,
  type Measured,
  type MeasuredTimer,
  type Pace,
  type PeerPace,
} from './pace.ts'
import {
  halvedLosses,
  levelOf,
  lossOf,
  NO_LOSSES,
  NO_PEAK,
  NO_SAMPLES,
  peakOf,
  rotated,
  rotatedPeak,
  UNKNOWN,
  withPeak,
  withRequest,
  withSample,
} from './samples.ts'
import { changed, type LocalLeaderState } from './state.ts'

/** The shortest window; a longer lease has fewer rounds, and needs a longer one. */
const LEAST_WINDOW: Micros = 4_000_000
const LOCKS_PER_WINDOW = 4
/** Losses count for longer: they are rare, and a rate needs many requests. */
const HALF_LIFE_OF_LOSSES: Micros = 20_000_000
/** A leader that made more requests in between has paused, or this node was away. */
const MOST_MISSING = 8

const TIMERS: readonly string[] = [TIMER.alive, TIMER.release, TIMER.heartbeat, TIMER.overdue]
const isMeasured = (timer: string): timer is MeasuredTimer => TIMERS.includes(timer)

export function createMeasuring({ self, placeOf, settings }: Context) {
  const { adaptive, mostRequests } = settings
  /** Null where nothing is measured. */
  const timingAt = adaptive === null || adaptive.isDrawn || mostRequests !== null ? null : adaptive.timingAt

  /** The lowest level at which half of the time for a renewal is enough for a delay of the node itself. */
  const levelForDelay = (delay: Micros): number =>
    lowestLevel((level) => timingAt === null || timingAt(level).tryTime >= delay)
  /** The lowest level at which a message with this bound is fast. */
  const levelForBound = (bound: Micros): number =>
    lowestLevel((level) => timingAt === null || timingAt(level).fast >= bound)

  function withMeasured(state: LocalLeaderState, pace: Pace, change: Partial<Measured>): LocalLeaderState {
    return changed(state, { pace: changedPace(pace, { measured: changedMeasured(pace.measured, change) }) })
  }

  /** Starts a new window when the present one is full. */
  function rotate(before: LocalLeaderState, now: Micros): LocalLeaderState {
    const state = forgetLosses(before, now)
    const { pace } = state
    if (timingAt === null || pace === null) return state
    const { since, late, round, delay } = pace.measured
    const window = Math.max(LEAST_WINDOW, LOCKS_PER_WINDOW * lockAt(pace.level))
    if (now - since < window) return state
    const keeps = now - since < 2 * window
    const peers = pace.peers.map((peer) => peer && { ...peer, heard: rotatedPeak(peer.heard, keeps) })
    return withMeasured(state, changedPace(pace, { peers }), {
      since: now,
      late: rotated(late, keeps),
      round: rotated(round, keeps),
      delay: rotated(delay, keeps),
    })
  }

  /** Old losses count for less, also if few requests have come since. */
  function forgetLosses(state: LocalLeaderState, now: Micros): LocalLeaderState {
    const { pace } = state
    if (timingAt === null || pace === null || now - pace.measured.halvedAt < HALF_LIFE_OF_LOSSES) return state
    return withMeasured(state, pace, { losses: halvedLosses(pace.measured.losses), halvedAt: now })
  }

  /** A timer has fired: how late? */
  function measureTimer(state: LocalLeaderState, name: string, now: Micros): LocalLeaderState {
    const { pace } = state
    if (timingAt === null || pace === null || !isMeasured(name)) return state
    const { late, due } = pace.measured
    const dueAt = due[name]
    if (dueAt === null) return state
    return withMeasured(state, pace, {
      late: withSample(late, levelForDelay(now - dueAt)),
      due: withTimer(due, name, null),
    })
  }

  /** Remembers when timers are due. A timer with a range, or due already, tells nothing. */
  function noteTimers(
    state: LocalLeaderState,
    effects: readonly LocalLeaderEffect[],
    now: Micros,
  ): LocalLeaderState {
    const { pace } = state
    if (timingAt === null || pace === null) return state
    let { due } = pace.measured
    for (const effect of effects) {
      if (effect.type !== 'setTimer' && effect.type !== 'stopTimer') continue
      if (!isMeasured(effect.name)) continue
      const at = effect.type === 'setTimer' && typeof effect.at === 'number' ? effect.at : now
      due = withTimer(due, effect.name, at > now ? at : null)
    }
    return due === pace.measured.due ? state : withMeasured(state, pace, { due })
  }

  /** A message of a peer: how slow was it, and what does it report? */
  function measureMessage(
    before: LocalLeaderState,
    from: NodeId,
    body: LocalLeaderMessage,
    { bound }: Receipt,
    now: Micros,
  ): LocalLeaderState {
    const state = rotate(before, now)
    const { pace } = state
    if (timingAt === null || pace === null || from === self) return state
    const slowness = bound === null ? null : levelForBound(bound)
    const place = placeOf(from)
    const known = pace.peers[place] ?? null
    const peer = reportOf(withSlowness(known, slowness), from, body, now)
    const next =
      peer === known
        ? state
        : changed(state, { pace: changedPace(pace, { peers: replaced(pace.peers, place, peer) }) })
    return body.kind === 'Election' && body.renew ? measureRequest(next, from, body, slowness) : next
  }

  function withSlowness(known: PeerPace | null, slowness: number | null): PeerPace | null {
    if (slowness === null) return known
    const { evidence, at, bounds, heard } = known ?? NO_PEER
    return { heard: withPeak(heard, slowness), evidence, at, bounds }
  }

  /** The evidence of a voter, and the bounds by which it refuses a lock. */
  function reportOf(
    known: PeerPace | null,
    from: NodeId,
    body: LocalLeaderMessage,
    now: Micros,
  ): PeerPace | null {
    const ballot = body.kind === 'Reply' ? ballotOf(body, from) : undefined
    if (ballot === undefined || (ballot.evidence === undefined && ballot.bounds === undefined)) return known
    const { heard, evidence, bounds } = known ?? NO_PEER
    return {
      heard,
      evidence: ballot.evidence ?? evidence,
      at: now,
      bounds: ballot.support ? null : (ballot.bounds ?? bounds),
    }
  }

  function ballotOf({ candidate, votes }: Reply, from: NodeId): Reply['votes'][number] | undefined {
    return candidate === self ? votes.find(({ node }) => node === from) : undefined
  }

  /** A request of the leader: its delay, and how many requests before it did not arrive. */
  function measureRequest(
    state: LocalLeaderState,
    from: NodeId,
    { request }: Election,
    slowness: number | null,
  ): LocalLeaderState {
    const { pace } = state
    if (pace === null) return state
    const { leader, request: last } = pace.measured
    const isSame = leader === from && last !== null && last.incarnation === request.incarnation
    if (isSame && request.counter <= last.counter) return state
    const { delay, losses } = isSame ? pace.measured : { delay: NO_SAMPLES, losses: NO_LOSSES }
    const missing = isSame ? request.counter - last.counter - 1 : 0
    return withMeasured(state, pace, {
      leader: from,
      request,
      delay: slowness === null ? delay : withSample(delay, slowness),
      losses: missing > MOST_MISSING ? losses : withRequest(losses, missing),
    })
  }

  /** A majority supports a request of this node after this time. */
  function measureRound(state: LocalLeaderState, length: Micros): LocalLeaderState {
    const { pace } = state
    if (timingAt === null || pace === null) return state
    const { round } = pace.measured
    return withMeasured(state, pace, {
      round: withSample(round, levelForDelay(length)),
    })
  }

  /** What this node reports with its votes; null where nothing is measured. */
  function evidenceIn({ pace }: LocalLeaderState): Evidence | null {
    if (timingAt === null || pace === null) return null
    const { late, delay, losses } = pace.measured
    const { least, most } = pace.bounds
    return {
      late: levelOf(late),
      delay: levelOf(delay),
      loss: lossOf(losses, NO_LOSS),
      least,
      most,
    }
  }

  /** How slow the messages of a node were; UNKNOWN when nothing is known. */
  function slownessOf({ pace }: LocalLeaderState, node: NodeId): number {
    const peer = pace?.peers[placeOf(node)] ?? null
    return peer === null ? UNKNOWN : peakOf(peer.heard)
  }

  return {
    isMeasuring: timingAt !== null,
    rotate,
    measureTimer,
    noteTimers,
    measureMessage,
    measureRound,
    evidenceIn,
    slownessOf,
  }
}

const NO_PEER: PeerPace = { heard: NO_PEAK, evidence: null, at: 0, bounds: null }

function withTimer(due: Due, timer: MeasuredTimer, at: Micros | null): Due {
  if (due[timer] === at) return due
  return {
    alive: timer === 'alive' ? at : due.alive,
    release: timer === 'release' ? at : due.release,
    heartbeat: timer === 'heartbeat' ? at : due.heartbeat,
    overdue: timer === 'overdue' ? at : due.overdue,
  }
}
