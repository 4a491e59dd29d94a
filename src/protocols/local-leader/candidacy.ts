/** Standing for election, leading, and letting go. */
import {
  assertLease,
  assertNoDecrease,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  persist,
  present,
  send,
  setTimer,
  stopTimer,
  withIds,
} from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import { asking } from './ask.ts'
import type { Balloting } from './ballot.ts'
import type { Heralding } from './beacon.ts'
import { type Change, type Context, type Deed, TIMER, UNWILLING, unchanged } from './context.ts'
import type { Quietness } from './heartbeat-suppression.ts'
import { type Election, type Herald, isSame, type Release, type Request } from './messages.ts'
import { isReached, newsOf } from './news.ts'
import { isRival } from './peers.ts'
import { probing } from './probe.ts'
import { raising } from './raise.ts'
import type { Hearing } from './reachability.ts'
import { afterMiss, afterWin as recordAfterWin } from './record.ts'
import { releasing } from './release.ts'
import {
  type Campaign,
  changed,
  type Lead,
  type LocalLeaderState,
  withKnown,
  withStanding,
  withSupporters,
  withVote,
  withVotes,
} from './state.ts'
import { holdsMajorities, isNewer, isVoter, nextConfiguration, votersOf } from './voters.ts'

export type Candidacy = ReturnType<typeof candidacy>

export function candidacy(
  context: Context,
  heralds: Heralding,
  listening: Hearing,
  { isSupportable, cast }: Balloting,
  { afterRound, announced }: Quietness,
) {
  const {
    self,
    others,
    stableOf,
    isMajority,
    mayLead,
    isEligible,
    leads,
    placeOf,
    settings,
    timing,
    isRecorded,
  } = context
  const { heraldOf, broadcast, releases, notice } = heralds
  const { hear, betterUntil, hasHeir, couldWin, standsAside, supportedByAll, reachable, patience } = listening
  const { mostRequests, tree, yieldWhenTold } = settings
  const { isBoundByLease, isLeaseOver, attemptedAt, canSucceed, canRevokePromise } = settings.rules
  const { fast: threshold, lease, roundTrip, tryTime, tries } = timing
  const pause: readonly [Micros, Micros] = isMajority
    ? [
        Math.floor((3 * threshold + timing.lateness) * 0.75),
        Math.ceil((3 * threshold + timing.lateness) * 1.25),
      ]
    : [timing.electionPeriod - timing.lateness, timing.electionPeriod - timing.lateness]
  /** In local mode a successor waits until its voters, too, have given the old leader up. */
  const standAfter = isMajority ? 0 : threshold

  const { isOutbid, nextEpoch } = raising(context)
  const { mayTrouble, isLed, probe } = probing(context, heralds)
  const { orderOf, onAsk, viewOf } = asking(context, heralds)
  const { giveUp, voided, takenBack, yielded } = releasing(context, heralds)

  // ---- Standing ----

  /** Time to look whether it should stand, or whether its lease must be renewed. */
  function onAlive(state: LocalLeaderState, now: Micros, defers: boolean): Change {
    if (!isEligible(state)) {
      // It may become a voter.
      const again = mayLead ? [setTimer(TIMER.alive, now + roundTrip + timing.heartbeat)] : NOTHING
      return { state: withStanding(state, { candidate: false }), effects: again }
    }
    if (state.campaign !== null) return unchanged(state)
    const rivalUntil = betterUntil(state, now, (peer) => isRival(peer, now, patience))
    if (rivalUntil !== null) {
      if (isBoundByLease(leads(state, now))) {
        if (yieldWhenTold) return asked(stand(state, now), 'outranked')
        return giveUp(state, 'outranked', state.standing.lowUntil, now)
      }
      return {
        state: withStanding(state, { candidate: false, deferringSince: null }),
        effects: [setTimer(TIMER.alive, rivalUntil + standAfter)],
      }
    }
    const nextTurn = nextTurnAt(state, now)
    if (nextTurn !== null && leads(state, now) && hasHeir(state, now)) {
      if (yieldWhenTold) return asked(stand(state, now), 'term over')
      return giveUp(state, 'term over', nextTurn, now)
    }
    if (defers && !leads(state, now) && !state.standing.candidate) {
      const betterGone = betterUntil(state, now, ({ candidate }) => !candidate)
      const since = state.standing.deferringSince ?? now
      const defersUntil = since + timing.deference
      if (betterGone !== null && now < defersUntil) {
        const until = Math.min(defersUntil, betterGone)
        // Where all have lost their rank they may all wait for the same one: they must not stand at the same time.
        const hasRank = state.standing.record.proofs === null
        return {
          state: withStanding(state, { candidate: false, deferringSince: since }),
          effects: [setTimer(TIMER.alive, hasRank ? until : [until, until + pause[1]])],
        }
      }
    }
    return stand(state, now)
  }

  /** Where leaders rotate: when it is this leader's turn again, if its present one is over. */
  function nextTurnAt({ lead, vote }: LocalLeaderState, now: Micros): Micros | null {
    const { term } = settings
    if (term === null || lead === null || now - lead.since < term) return null
    return now + term * (votersOf(vote.config).length - 1)
  }

  /** Told to step down, it leaves the lead to others for a while. */
  function stepDown(state: LocalLeaderState, now: Micros): Change {
    return giveUp(state, 'stepped down', nextTurnAt(state, now) ?? now + timing.retirement, now)
  }

  /** It should give way: whoever works under its lead is asked to end. It goes on as long as its supporters let it. */
  function asked({ state, effects }: Change, cause: string): Change {
    return {
      state,
      effects: [...effects, output({ type: 'yield', token: state.lead?.token ?? null, cause })],
    }
  }

  /** Asks all for their support. */
  function stand(state: LocalLeaderState, now: Micros): Change {
    if (mostRequests !== null && state.requests >= mostRequests) return unchanged(state)
    const renew = leads(state, now)
    const { lead } = state
    if (!renew && !couldWin(state, now)) {
      const waiting = withStanding(state, { candidate: !standsAside(state, now), deferringSince: null })
      return {
        state: waiting,
        effects: [
          // Those that it misses may not know yet that they are voters, or know that others are by now.
          ...others.map(({ id }) => notice(waiting, id, now)),
          setTimer(TIMER.alive, [now + pause[0], now + pause[1]]),
        ],
      }
    }
    const { record } = state.standing
    if (isRecorded && !renew && !record.isProven && mayTrouble(state, now)) return probe(state, now)
    const isRaised = isMajority && renew && lead !== null && isOutbid(lead, now)
    const epoch = !isMajority ? 0 : renew && lead !== null && !isRaised ? lead.epoch : nextEpoch(state)
    const request: Request = { incarnation: state.incarnation, counter: state.requests + 1 }
    const config =
      renew && lead !== null && !isNewer(state.vote.config, lead.config) && isMajority && epoch <= state.spent
        ? nextConfiguration(state.vote.config, reachable(state, now), epoch, state.isContested)
        : state.vote.config
    const campaign: Campaign = {
      request,
      at: now,
      epoch,
      renew,
      config,
      isProbe: false,
      supporters: [],
      answered: [],
      previousAt: state.standing.stoodAt,
      succeeds: !renew && state.vote.certificate !== null,
    }
    // One that has failed of late says nothing of it, and one that leads must be heard of.
    const announces = renew || record.proofs === null
    const candidate = withStanding(state, {
      candidate: announces,
      record: record.isProven ? { ...record, isProven: false } : record,
      deferringSince: null,
      stoodAt: attemptedAt(now),
    })
    // What it writes it keeps, before anybody else can: the same number must never stand for other voters. Only voters
    // without itself it keeps when they are in force, for until then it must be able to go on.
    const writes = config !== state.vote.config && isVoter(config, self)
    const next = changed(writes ? withVote(candidate, { config }) : candidate, {
      requests: request.counter,
      campaign,
      lead: isRaised ? { ...lead, epoch, outbid: null } : lead,
    })
    const view = renew && lead !== null && mostRequests === null ? viewOf(lead) : null
    const order = tree === null ? null : orderOf(config, view)
    const election = (herald: Herald): Election => ({
      kind: 'Election',
      herald,
      request,
      epoch,
      renew,
      config,
      certificate: state.vote.certificate,
      view,
      wanted: renew ? state.wanted : null,
      tree: order,
    })
    const timers = [
      setTimer(TIMER.release, now + timing.collection),
      ...(renew ? afterRound(now) : NOTHING),
      ...(tree === null ? NOTHING : [setTimer(TIMER.ask, now + tree.patience * (tree.levels + 1))]),
    ]
    if (!isMajority) {
      const own = send(self, election(heraldOf(next, now, true)))
      return { state: next, effects: [...broadcast(next, now, election), own, ...timers] }
    }
    // Its own vote comes first, and what must be stored for it: nobody hears of a candidate that cannot store it. One
    // that may not vote for itself yet, because it supports a leader, stores the same again to find out.
    const own = ownVote(next, election(heraldOf(next, now, true)), now)
    const isNews = own.isNews || writes || (announces && !state.standing.candidate && !own.isCast)
    const counted = own.isCast ? withSupport(own.state, [self], request, now) : unchanged(own.state)
    return {
      state: counted.state,
      effects: [
        ...(isNews ? [persist(stableOf(own.state))] : NOTHING),
        ...broadcast(own.state, now, election),
        ...timers,
        ...counted.effects,
      ],
    }
  }

  /** Its own vote for its request, if it may give it. */
  function ownVote(
    before: LocalLeaderState,
    election: Election,
    now: Micros,
  ): { readonly state: LocalLeaderState; readonly isCast: boolean; readonly isNews: boolean } {
    const { certificate } = election
    const state = certificate === null ? before : yielded(before, certificate)
    if (!isSupportable(state, self, election, false, now)) return { state, isCast: false, isNews: false }
    const vote = cast(state, self, election, now)
    return { state: vote.state, isCast: true, isNews: vote.stored.length > 0 }
  }

  // ---- Answers ----

  /** These have answered a request, for it or against it. */
  function withAnswers(
    state: LocalLeaderState,
    from: readonly NodeId[],
    request: Request,
    now: Micros,
  ): Change {
    const { campaign } = state
    if (!isRecorded || campaign === null || !isSame(campaign.request, request)) return unchanged(state)
    const answered = withIds(campaign.answered, from)
    const next = changed(state, { campaign: withVotes(campaign, campaign.supporters, answered) })
    return campaign.isProbe && isAnswered(next) ? proven(next, now) : unchanged(next)
  }

  function isAnswered({ campaign }: LocalLeaderState): boolean {
    const { config, answered } = present(campaign, 'campaign')
    return holdsMajorities(config, withIds(answered, [self]))
  }

  /** A majority hears it, and it hears them: it may stand. */
  function proven(state: LocalLeaderState, now: Micros): Change {
    const record = { ...state.standing.record, isProven: true, misses: 0 }
    const next = changed(withStanding(state, { record }), { campaign: null })
    const step = onAlive(next, now, true)
    return { state: step.state, effects: [stopTimer(TIMER.release), ...step.effects] }
  }

  // ---- Being supported ----

  function withSupport(
    state: LocalLeaderState,
    from: readonly NodeId[],
    request: Request,
    now: Micros,
  ): Change {
    const { campaign, lead } = state
    if (campaign !== null && isSame(campaign.request, request)) {
      const supporters = withIds(campaign.supporters, from)
      const next = changed(state, { campaign: withVotes(campaign, supporters) })
      const isEarly = isMajority || leads(state, now)
      return isEarly && isElected(next, now) ? win(next, now) : unchanged(next)
    }
    // A vote for the request by which it leads already: it comes late, but it binds.
    if (isMajority && lead !== null && isSame(lead.request, request)) {
      return unchanged(changed(state, { lead: withSupporters(lead, from, lead.requestedAt + lease) }))
    }
    return unchanged(state)
  }

  function isElected(state: LocalLeaderState, now: Micros): boolean {
    const attempt = present(state.campaign, 'campaign')
    const { supporters, config } = attempt
    if (!supporters.includes(self) || !canSucceed(attempt, timing)) return false
    if (isMajority && !holdsMajorities(config, supporters)) return false
    return (isMajority && settings.rule === 'quorum') || supportedByAll(state, supporters, now)
  }

  /** Every fast answer is in. */
  function onRoundOver(state: LocalLeaderState, now: Micros): Change {
    if (state.campaign === null) return unchanged(state)
    if (state.campaign.isProbe) {
      const record = afterMiss(state.standing.record, 'unanswered')
      const next = changed(withStanding(state, { record }), { campaign: null })
      return { state: next, effects: [setTimer(TIMER.alive, [now + pause[0], now + pause[1]])] }
    }
    return isElected(state, now) ? win(state, now) : lose(state, now)
  }

  function win(state: LocalLeaderState, now: Micros): Change {
    const campaign = present(state.campaign, 'campaign')
    const until = campaign.at + lease
    const isLate = isLeaseOver(until, now) || (campaign.renew && isLeaseOver(state.lead?.until ?? null, now))
    if (isLate) return lose(state, now)
    const before = campaign.renew ? state.lead : null
    const token = before !== null ? before.token : isMajority ? campaign.epoch : null
    const fresh: Lead = {
      token,
      epoch: campaign.epoch,
      since: before === null ? now : before.since,
      until,
      request: campaign.request,
      requestedAt: campaign.at,
      supporters: before === null || !isMajority ? [] : before.supporters.filter((each) => each.until > now),
      members: before === null ? [] : before.members,
      config: campaign.config,
      outbid: before === null ? null : before.outbid,
    }
    assertLease(until, campaign.at, lease)
    if (before !== null) assertNoDecrease('the end of the lease', before.until, until)
    // A new term has a token of its own; a renewal keeps it.
    if (isMajority) {
      const least = before === null ? state.spent + 1 : before.epoch
      assertNoDecrease('the epoch', least, campaign.epoch)
    }
    const lead = withSupporters(fresh, campaign.supporters, until)
    const isLasting = before !== null && now - before.since >= timing.retirement
    const elect = withStanding(state, {
      candidate: true,
      record: recordAfterWin(state.standing.record, isLasting),
    })
    const settled = withVote(withKnown(elect, { following: null }), { certificate: null })
    const next = changed(settled, {
      campaign: null,
      lead,
      spent: Math.max(state.spent, campaign.epoch),
      wanted: isReached(state, campaign) ? null : state.wanted,
      isContested: state.isContested && campaign.config.id[0] !== campaign.epoch,
    })
    const timers = [
      stopTimer(TIMER.release),
      setTimer(TIMER.expire, until),
      setTimer(TIMER.alive, Math.max(now, until - tries * tryTime)),
      ...(before === null ? announced(next, now) : NOTHING),
    ]
    const news = newsOf(state, campaign, before === null ? token : undefined)
    if (isVoter(campaign.config, self)) return { state: next, effects: [...timers, ...news] }
    const dismissed = withVote(next, { config: campaign.config })
    if (yieldWhenTold) {
      const told = asked({ state: dismissed, effects: [...timers, ...news] }, 'no longer a voter')
      return { state: told.state, effects: [persist(stableOf(dismissed)), ...told.effects] }
    }
    const gone = giveUp(dismissed, 'no longer a voter', null, now)
    return {
      state: gone.state,
      effects: [persist(stableOf(gone.state)), ...timers, ...news, ...gone.effects],
    }
  }

  function lose(state: LocalLeaderState, now: Micros): Change {
    const campaign = present(state.campaign, 'campaign')
    const next = changed(isRecorded && !leads(state, now) ? withMiss(state) : state, { campaign: null })
    if (isBoundByLease(leads(state, now))) {
      return { state: next, effects: [stopTimer(TIMER.release), setTimer(TIMER.alive, now)] }
    }
    const [least, most] = pause
    const again: Micros | readonly [Micros, Micros] =
      least === most
        ? Math.max(now, campaign.at + least)
        : [Math.max(now, campaign.at + least), Math.max(now, campaign.at + most)]
    return {
      state: next,
      effects: [
        stopTimer(TIMER.release),
        setTimer(TIMER.alive, leads(state, now) ? now : again),
        ...releases(next, campaign.request, false, now),
      ],
    }
  }

  /** It has failed to be elected. If it keeps failing it says so, and no longer that it stands. */
  function withMiss(state: LocalLeaderState): LocalLeaderState {
    const { standing } = state
    const record = afterMiss(standing.record, isAnswered(state) ? 'refused' : 'unanswered')
    return withStanding(state, { record, candidate: standing.candidate && record.proofs === null })
  }

  // ---- Letting go ----

  function onRelease(
    before: LocalLeaderState,
    from: NodeId,
    { herald, request, yields }: Release,
    receipt: Receipt,
    now: Micros,
  ): Change {
    const heard = hear(before, from, herald, receipt, now)
    const certificate = { owner: from, request }
    const free = voided(heard, certificate, !yields)
    const state = canRevokePromise(yields) ? takenBack(free, certificate) : free
    if (from === self) return unchanged(state)
    if (!yields) return { state, effects: afterFailureOf(state, from, now) }
    const heir = withVote(state, { certificate })
    const isNext = isEligible(heir) && !leads(heir, now) && betterUntil(heir, now, () => true) === null
    // A request from before the hand-over is lost, for it was refused: the next one carries the certificate.
    const isLost = heir.campaign === null || !heir.campaign.succeeds
    return isNext && isLost ? stand(heir, now) : unchanged(heir)
  }

  /** A candidate that has given up standing keeps nobody waiting. */
  function afterFailureOf(state: LocalLeaderState, from: NodeId, now: Micros): readonly Deed[] {
    const peer = state.known.peers[placeOf(from)] ?? null
    const hasGivenUp = isRecorded && peer !== null && !peer.candidate && peer.low >= UNWILLING
    const isWaiting = isEligible(state) && state.campaign === null && !isLed(state, now) && !leads(state, now)
    return hasGivenUp && isWaiting ? [setTimer(TIMER.alive, now)] : NOTHING
  }

  return { onAlive, onAsk, onRoundOver, withSupport, withAnswers, giveUp, stepDown, onRelease, yielded }
}
