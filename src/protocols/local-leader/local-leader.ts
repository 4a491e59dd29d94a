/**
 * The local leader service: one leader in each partition (local mode), or one in all (majority mode), by locks and
 * leases on clocks that drift by at most ρ.
 *
 * Who hears of nobody of better rank that stands for election stands itself: it asks all for their support (Election).
 * Whoever supports it is locked to it for `lockTime`, and answers (Reply). With the support of all that it hears
 * (local), or of a majority of the voters (majority), it leads until its own clock shows its request plus a lease that
 * is shorter than the lock on any two clocks. So nobody need ever learn that a leader has failed: its supporters are
 * free again only when it has stopped leading by itself. It renews well before that, and has several tries. Who fails
 * to be elected lets its supporters go (Release); who leads never does, for an older request may still be what it
 * leads by. A leader that steps down stops leading first and then releases everything, with a certificate that its
 * successor can show to those who have not heard of it yet.
 *
 * In majority mode every leadership has an epoch of its own, its token. A voter promises an epoch to one candidate,
 * and remembers that through crashes; so tokens only grow, whatever the clocks do.
 *
 * Source: Fetzer & Cristian, A Highly Available Local Leader Election Service, 1999, corrected where it fails: README.md.
 */
import {
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  type Protocol,
  persist,
  setTimer,
  sortIds,
  stopTimer,
  unreachable,
  type View,
  withId,
} from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import { balloting } from './ballot.ts'
import { heralding } from './beacon.ts'
import { isNodeId } from './bounds.ts'
import { candidacy } from './candidacy.ts'
import { type Change, contextOf, TIMER, unchanged } from './context.ts'
import { quietness } from './heartbeat-suppression.ts'
import { type Herald, type LocalLeaderCommand, type LocalLeaderMessage } from './messages.ts'
import { reporting } from './mismatches.ts'
import { laterEpoch } from './peers.ts'
import { plausibility } from './plausible.ts'
import { HERALDS, hearing } from './reachability.ts'
import { afterFailure, CLEAN_RECORD } from './record.ts'
import type { LocalLeaderSettings } from './settings.ts'
import { checkedStable, type LocalLeaderStable } from './stable.ts'
import { changed, type LocalLeaderState, shifted, withKnown, withStanding } from './state.ts'
import { vetting } from './strangers.ts'
import { type Configuration, initialConfiguration, isVoter } from './voters.ts'
import { voting } from './voting.ts'

/** Without a layer that measures delays, nothing is known to be slow. */
const ASSUMED_FAST: Receipt = { fast: true, bound: null, overtaken: false }

export function localLeader(
  identity: Identity,
  settings: LocalLeaderSettings,
): Protocol<LocalLeaderState, LocalLeaderMessage, LocalLeaderCommand, LocalLeaderStable> {
  const context = contextOf(identity, settings)
  const { self, nodes, isMajority, beats, leads, takesPart, isRecorded, stableOf } = context
  const { timing, rules, witnesses, tree, yieldWhenTold } = settings
  const { isLeaseOver } = rules
  const { rho, lockTime, roundTrip } = timing
  const heralds = heralding(context)
  const quiet = quietness(context, heralds)
  const heard = hearing(context, quiet)
  const ballots = balloting(context, heard)
  const standing = candidacy(context, heralds, heard, ballots, quiet)
  const votes = voting(context, heralds, heard, ballots, standing)
  const { releases } = heralds
  const { hear, forgetful, isHerald } = heard
  const { giveUp, stepDown } = standing
  const shownOf = showing(isMajority)
  const vetted = vetting(nodes)
  const { implausible, withoutForeign, strideAfter } = plausibility(context)
  const isAmongFirst = sortIds(nodes).indexOf(self) < HERALDS

  // ---- The passing of time ----

  function onHeartbeat(state: LocalLeaderState, now: Micros): Change {
    const awake = state.silentUntil !== null && now >= state.silentUntil ? begun(state) : state
    const next = forgetful(awake, now)
    const first = awake === state ? NOTHING : [setTimer(TIMER.alive, now + roundTrip + timing.heartbeat)]
    if (!beats && next.silentUntil === null) return { state: next, effects: first }
    const beaten = beat(next, now)
    const again = setTimer(TIMER.heartbeat, next.silentUntil ?? quiet.nextBeat(beaten.state, now))
    return { state: beaten.state, effects: [...beaten.effects, ...first, again] }
  }

  function beat(state: LocalLeaderState, now: Micros): Change {
    return beats && takesPart(state) && isHerald(state, now) ? quiet.beat(state, now) : unchanged(state)
  }

  /** In a large group the others listen first, whether they need to. */
  function firstBeat(now: Micros): Micros {
    return tree === null || isAmongFirst ? now : now + 2 * timing.heartbeat
  }

  function begun(state: LocalLeaderState): LocalLeaderState {
    return changed(state, { silentUntil: null })
  }

  /** A lease that the clock has overtaken is over, whatever happens next. */
  function lapsed(state: LocalLeaderState): Change {
    const token = state.lead?.token ?? null
    const { record } = state.standing
    const next = isRecorded ? withStanding(state, { record: afterFailure(record), candidate: false }) : state
    return {
      state: changed(next, { lead: null, wanted: null, isContested: false }),
      effects: [stopTimer(TIMER.expire), output({ type: 'demoted', token, cause: 'expired' })],
    }
  }

  /** The clock stood still: no lease, no request and no knowledge of others that hangs on it can be trusted. */
  function onSuspended(state: LocalLeaderState, now: Micros): Change {
    if (!rules.distrustsSuspendedClock()) return unchanged(state)
    const next = withKnown(state, { following: null, peers: nodes.map(() => null) })
    if (state.lead !== null) {
      return spokenUp(giveUp(next, 'suspended', state.standing.lowUntil, now, !yieldWhenTold), now)
    }
    const idle = withStanding(changed(next, { campaign: null }), { candidate: false })
    const freed: Change['effects'] =
      state.campaign === null
        ? NOTHING
        : [stopTimer(TIMER.release), ...releases(idle, state.campaign.request, false, now)]
    // It listens before it stands: at this moment it knows of nobody.
    const listens =
      state.silentUntil === null ? [setTimer(TIMER.alive, now + roundTrip + timing.heartbeat)] : NOTHING
    return spokenUp({ state: idle, effects: [...freed, ...listens] }, now)
  }

  /** All learn at once that what it stamped before is void; until then it cannot tell which of their messages are fast. */
  function spokenUp(step: Change, now: Micros): Change {
    if (!beats || step.state.silentUntil !== null) return step
    return { state: step.state, effects: [...step.effects, setTimer(TIMER.heartbeat, now)] }
  }

  // ---- Commands ----

  function onCommand(state: LocalLeaderState, command: LocalLeaderCommand, now: Micros): Change {
    switch (command.do) {
      case 'stepDown':
        return leads(state, now)
          ? stepDown(state, now)
          : refused(state, command.do, 'this process does not lead')
      case 'campaign':
        return onCampaign(state, command.willing, command.lapse, now)
      case 'setPriority':
        return {
          state: withStanding(state, { priority: command.priority, record: CLEAN_RECORD }),
          effects: quiet.changedRank(now),
        }
      case 'addVoter':
        return withVoters(state, command.do, now, (voters) => withId(voters, command.voter))
      case 'removeVoter':
        return withVoters(state, command.do, now, (voters) =>
          voters.filter((voter) => voter !== command.voter),
        )
      default:
        return unreachable(command)
    }
  }

  /** From now on it would lead, or would not: then whoever is led by it gets another, at once or when its lease is over. */
  function onCampaign(state: LocalLeaderState, willing: boolean, lapse: boolean, now: Micros): Change {
    const next = withStanding(state, willing ? { willing, record: CLEAN_RECORD } : { willing })
    if (next === state && (willing || !leads(state, now))) return unchanged(state)
    if (!leads(state, now)) {
      const { campaign } = next
      if (willing || campaign === null) return { state: next, effects: quiet.changedRank(now) }
      // It has asked for support: whoever gives it now would elect it.
      const idle = withStanding(changed(next, { campaign: null }), { candidate: false })
      const freed = [stopTimer(TIMER.release), ...releases(idle, campaign.request, false, now)]
      const again = setTimer(TIMER.alive, now + roundTrip + timing.heartbeat)
      return { state: idle, effects: [...freed, again, ...quiet.changedRank(now)] }
    }
    // It may have let the time pass at which it should have renewed.
    if (willing) return { state: next, effects: [setTimer(TIMER.alive, now)] }
    return lapse ? unchanged(next) : giveUp(next, 'withdrew', state.standing.lowUntil, now)
  }

  function refused(state: LocalLeaderState, command: string, why: string): Change {
    return { state, effects: [output({ type: 'refused', command, why })] }
  }

  function withVoters(
    state: LocalLeaderState,
    command: string,
    now: Micros,
    change: (voters: readonly NodeId[]) => readonly NodeId[],
  ): Change {
    if (!isMajority) return refused(state, command, 'only majority mode has voters')
    if (!leads(state, now)) return refused(state, command, 'this process does not lead')
    const current = state.wanted ?? state.vote.config.sets.at(-1) ?? []
    const wanted = change(current)
    if (!wanted.every(isNodeId)) return refused(state, command, 'the voter must be named by its id')
    const stranger = wanted.find((voter) => !nodes.includes(voter))
    if (stranger !== undefined) return refused(state, command, `${stranger} is not one of the nodes`)
    if (wanted.length === 0) return refused(state, command, 'at least one voter must be left')
    if (wanted.every((voter) => witnesses.includes(voter))) {
      return refused(state, command, 'at least one voter must be able to lead')
    }
    return unchanged(wanted.join() === current.join() ? state : changed(state, { wanted }))
  }

  // ---- The whole ----

  function onMessage(
    state: LocalLeaderState,
    from: NodeId,
    message: LocalLeaderMessage,
    receipt: Receipt,
    now: Micros,
  ): Change {
    const wrong = implausible(state, from, message, now)
    if (wrong !== null) {
      const { field, problem, learnt } = wrong
      const seen = learnt === null ? state.known.seen : laterEpoch(state.known.seen, learnt)
      return {
        state: seen === state.known.seen ? state : withKnown(state, { seen }),
        effects: [output({ type: 'implausible', peer: from, field: `${message.kind}.${field}`, problem })],
      }
    }
    const { body, stranger } = vetted(withoutForeign(state, message))
    const step = body === null ? unchanged(state) : onVetted(state, from, body, receipt, now)
    if (stranger === null) return step
    const told = reporting(step.state, { peer: from, field: 'peers', ours: nodes, theirs: stranger })
    return told.event === null ? step : { state: told.state, effects: [...step.effects, output(told.event)] }
  }

  function onVetted(
    state: LocalLeaderState,
    from: NodeId,
    body: LocalLeaderMessage,
    receipt: Receipt,
    now: Micros,
  ): Change {
    switch (body.kind) {
      case 'Heartbeat':
        return onBeat(state, from, body.herald, receipt, now)
      case 'Election':
        return refreshed(quiet.answering(state, votes.onElection(state, from, body, receipt, now), now), now)
      case 'Reply':
        return votes.onReply(state, from, body, receipt, now)
      case 'Release':
        return standing.onRelease(state, from, body, receipt, now)
      default:
        return unreachable(body)
    }
  }

  /** Where beats are rare, whoever is gone is forgotten as the rounds go by. */
  function refreshed({ state, effects }: Change, now: Micros): Change {
    return { state: timing.quiet === null ? state : forgetful(state, now), effects }
  }

  function onBeat(
    state: LocalLeaderState,
    from: NodeId,
    herald: Herald,
    receipt: Receipt,
    now: Micros,
  ): Change {
    const next = hear(state, from, herald, receipt, now)
    return { state: next, effects: quiet.assured(next, from, herald, now) }
  }

  function onTimer(state: LocalLeaderState, name: string, now: Micros): Change {
    switch (name) {
      case TIMER.alive:
        return refreshed(standing.onAlive(state, now, true), now)
      case TIMER.release:
        return standing.onRoundOver(state, now)
      case TIMER.heartbeat:
        return onHeartbeat(state, now)
      case TIMER.overdue:
        return quiet.onOverdue(state, now)
      case TIMER.gather:
        return votes.onGatherOver(state, now)
      case TIMER.ask:
        return standing.onAsk(state, now)
      default:
        // The lease is over: that was seen to before anything else.
        return unchanged(state)
    }
  }

  function react(
    state: LocalLeaderState,
    input: Input<LocalLeaderMessage, LocalLeaderCommand>,
    now: Micros,
  ): Change {
    switch (input.type) {
      case 'message': {
        const receipt = (input.receipt as Receipt | null) ?? ASSUMED_FAST
        const step = onMessage(state, input.from, input.body, receipt, now)
        return isMajority ? { state: strideAfter(state, step.state, now), effects: step.effects } : step
      }
      case 'timer':
        return onTimer(state, input.name, now)
      case 'command':
        return onCommand(state, input.command, now)
      case 'suspended':
        return onSuspended(state, now)
      case 'link':
      case 'register':
        return unchanged(state)
      default:
        return unreachable(input)
    }
  }

  function withNews(was: LocalLeaderState, step: Change): Change {
    const before = was.known.following?.leader ?? null
    const after = step.state.known.following?.leader ?? null
    if (before === after || (after === null && step.state.lead !== null)) return step
    const token = step.state.known.following?.token ?? null
    return {
      state: step.state,
      effects: [...step.effects, output({ type: 'following', leader: after, token })],
    }
  }

  return {
    start(kept, now) {
      const stable = kept === null ? null : checkedStable(kept)
      const incarnation = (stable?.incarnation ?? 0) + 1
      const longest = Math.max(stable?.lockTime ?? 0, lockTime)
      const isSilent = rules.mustStaySilent(stable)
      const remembered = rules.recallPromise(stable)
      const state: LocalLeaderState = {
        incarnation,
        longestLock: longest,
        silentUntil: isSilent ? now + Math.ceil(longest * (1 + 2 * rho)) : null,
        known: { peers: nodes.map(() => null), seen: remembered, following: null, holdUntil: null },
        standing: {
          willing: true,
          priority: settings.priority,
          lowUntil: null,
          candidate: false,
          record: CLEAN_RECORD,
          deferringSince: null,
          stoodAt: null,
          told: null,
        },
        vote: {
          lock: null,
          released: nodes.map(() => null),
          certificate: null,
          promised: remembered,
          revocable: null,
          config: stable?.config ?? initialConfiguration(settings.voters),
        },
        requests: 0,
        campaign: null,
        lead: null,
        spent: remembered.number,
        wanted: null,
        isContested: false,
        gathering: null,
        mismatches: [],
        rumour: null,
        stride: null,
      }
      return {
        state,
        effects: [
          persist(stableOf(state)),
          ...(beats || isSilent ? [setTimer(TIMER.heartbeat, state.silentUntil ?? firstBeat(now))] : []),
          ...(isSilent ? [] : [setTimer(TIMER.alive, now + roundTrip + timing.heartbeat)]),
        ],
      }
    },
    step(state, input, now) {
      const { lead } = state
      if (lead === null || !isLeaseOver(lead.until, now)) {
        return withNews(state, react(state, input, now))
      }
      const over = lapsed(state)
      const next = withNews(over.state, react(over.state, input, now))
      return { state: next.state, effects: [...over.effects, ...next.effects] }
    },
    view: (state, now) => viewOfState(state, now),
    shift: shifted,
  }

  function viewOfState(state: LocalLeaderState, now: Micros): View {
    const { lead } = state
    const { following } = state.known
    if (lead !== null && now < lead.until) {
      return {
        role: 'leader',
        leader: self,
        token: lead.token,
        until: lead.until,
        members: lead.members,
        detail: shownOf(lead.config),
      }
    }
    const isLed = following !== null && now < following.until
    const view = isLed && following.view !== null && now < following.view.until ? following.view : null
    const role = !isVoter(state.vote.config, self)
      ? 'observer'
      : state.standing.candidate && !isLed
        ? 'candidate'
        : 'follower'
    return {
      role,
      leader: isLed ? following.leader : null,
      token: isLed ? following.token : null,
      until: view === null ? null : view.until,
      members: view === null ? null : view.members,
      detail: shownOf(state.vote.config),
    }
  }
}

/** What a view shows besides. The last answer is remembered, so that views which show the same share it. */
function showing(isMajority: boolean): (config: Configuration) => { readonly config: Configuration } | null {
  if (!isMajority) return () => null
  let last: { readonly config: Configuration } | null = null
  return (config) => {
    if (last === null || last.config !== config) last = { config }
    return last
  }
}
