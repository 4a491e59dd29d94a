/** Votes for other nodes: which request a node supports, for how long, and how its answer reaches the candidate. */
import {
  equalPlain,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  persist,
  send,
  setTimer,
  stopTimer,
  withId,
} from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import type { Ballots } from './ballot.ts'
import type { Beacons } from './beacon.ts'
import type { CandidacyHandlers } from './candidacy.ts'
import { type Context, type LocalLeaderEffect, type LocalLeaderStep, TIMER, unchanged } from './context.ts'
import { type Ballot, type Election, type Epoch, isSame, type Reply } from './messages.ts'
import { clearMismatch, reportMismatch } from './mismatches.ts'
import type { Pacing } from './pacing.ts'
import { createEpochRaising } from './raise.ts'
import type { Reachability } from './reachability.ts'
import { afterRound } from './record.ts'
import {
  changed,
  type Gathering,
  type LocalLeaderState,
  type ReportedConfig,
  withEligibility,
  withKnown,
  withVote,
} from './state.ts'
import { placeInTree } from './tree.ts'
import { type Configuration, contradicts, isNewer, isVoter } from './voters.ts'

/** A node that does not lead must report the voters this many times before this node believes it. */
const REPORTS = 3

export function createVoting(
  context: Context,
  beacons: Beacons,
  others: Reachability,
  { isSupportable, refusedBounds, castVote, canStoreShorterLock }: Ballots,
  own: CandidacyHandlers,
  { evidenceIn }: Pacing,
) {
  const { self, isMajority, isLeading, stableOf, settings } = context
  const { beaconFor, sendNotice } = beacons
  const { recordBeacon, recordRound, forgetExpiredRivals } = others
  const { countSupport, countRefusal, countAnswers, applyCertificate } = own
  const { tree } = settings
  const { afterRefusal } = createEpochRaising(context)

  function handleElection(
    before: LocalLeaderState,
    from: NodeId,
    election: Election,
    receipt: Receipt,
    now: Micros,
  ): LocalLeaderStep {
    const { fast: isFast } = receipt
    const heard = recordBeacon(before, from, election.beacon, receipt, now)
    // A direct request to a voter that the tree missed arrives later than the start of the round.
    const isRound = tree === null || election.tree !== null
    const informed = isFast && isRound ? recordRound(heard, from, election, receipt, now) : heard
    if (isMajority && contradicts(election.config, informed.vote.config)) {
      const seen = reportVoters(informed, from, election)
      // The sender also learns which voters this node has stored.
      const { request } = election
      const refusal = { candidate: from, request, parent: from, votes: [{ node: self, support: false }] }
      const answers = seen.state.silentUntil === null && from !== self
      return answers ? { ...seen, effects: [...seen.effects, forwardVotes(seen.state, refusal, now)] } : seen
    }
    const updated = updateRecord(clearMismatch(informed, from), from, election)
    if (updated.silentUntil !== null) return unchanged(updated)
    const isKnownLeader = isLedBy(before, from, election.epoch)
    if (!isVoter(updated.vote.config, self)) {
      return handleElectionWithoutVote(updated, from, election, receipt, isKnownLeader, now)
    }
    const state = election.certificate === null ? updated : applyCertificate(updated, election.certificate)
    const supports =
      (isFast || isMajority) &&
      isSupportable(state, from, election, receipt.bound !== null && !receipt.overtaken, now) &&
      (isKnownLeader || !hasNewerVoters(state, from, election))
    if (!supports && isKnownLeader && isDismissal(state, election)) {
      const dismissed = withVote(state, { config: election.config })
      return { state: dismissed, effects: [persist(stableOf(dismissed))] }
    }
    if (!supports) {
      return isFast
        ? replyTo(state, from, election, false, persistForProbe(state, election), now)
        : unchanged(state)
    }
    const { state: next, stored } = castVote(forgetExpiredRivals(state, election, now), from, election, now)
    const isShorterDue = stored.length === 0 && canStoreShorterLock(next, now)
    return replyTo(next, from, election, true, isShorterDue ? [setTimer(TIMER.store, now)] : stored, now)
  }

  /**
   * A probe asks whether a majority could vote for its sender. A voter whose storage fails could not, so it stores its
   * unchanged state again before it answers. Without that write, the prober would depose a leader that it cannot
   * replace, lose its rank, regain it under the next leader, and depose that one too.
   */
  function persistForProbe(state: LocalLeaderState, { epoch }: Election): readonly LocalLeaderEffect[] {
    return isMajority && epoch === 0 ? [persist(stableOf(state))] : NOTHING
  }

  /** A leader names the supporters of its last round: the record depends on whether this node is among them. */
  function updateRecord(state: LocalLeaderState, from: NodeId, { renew, view }: Election): LocalLeaderState {
    const { record } = state.eligibility
    if (!renew || view === null || state.known.following?.leader !== from) return state
    const next = afterRound(record, view.members.includes(self))
    return next === record ? state : withEligibility(state, { record: next })
  }

  /** Reports a node that has other voters under the same configuration id: it is unknown whose votes count. */
  function reportVoters(
    state: LocalLeaderState,
    from: NodeId,
    { config }: Election | Reply,
  ): LocalLeaderStep {
    const voters = { ours: state.vote.config.sets, theirs: config.sets }
    const seen = reportMismatch(state, { peer: from, field: 'voters', ...voters })
    return { state: seen.state, effects: seen.event === null ? NOTHING : [output(seen.event)] }
  }

  /**
   * The node that may say who the voters are: the leader of a term that this node supports, or follows since an earlier
   * message. A single message of another node that claims to lead is not enough.
   */
  function isLedBy({ vote, known }: LocalLeaderState, from: NodeId, epoch: number): boolean {
    if (from === self || (vote.promised.owner === from && vote.promised.number === epoch)) return true
    const { following } = known
    if (following === null || following.leader !== from) return false
    return following.token === epoch || following.view?.epoch === epoch
  }

  /** A renewal with voters that this node would have to store. */
  function hasNewerVoters({ vote }: LocalLeaderState, from: NodeId, { renew, config }: Election): boolean {
    return isMajority && renew && from !== self && isNewer(config, vote.config)
  }

  /** The leader removes this node's vote. The node may be unable to support that, but its support is not needed. */
  function isDismissal({ vote }: LocalLeaderState, { renew, config }: Election): boolean {
    return isMajority && renew && isNewer(config, vote.config) && !isVoter(config, self)
  }

  /**
   * A node without a vote learns the voters from every candidate. If it has become a voter, it votes. If it is about to
   * become one, it answers to show that it is up. If it knows of a later change, because that change removed its vote,
   * it reports that change.
   */
  function handleElectionWithoutVote(
    state: LocalLeaderState,
    from: NodeId,
    election: Election,
    receipt: Receipt,
    isKnownLeader: boolean,
    now: Micros,
  ): LocalLeaderStep {
    const { config, wanted } = election
    if (isMajority && isNewer(config, state.vote.config)) {
      const heard = isKnownLeader ? null : addReport(state, from, config)
      if (heard !== null && !isConfirmed(heard)) return unchanged(changed(state, { reportedConfig: heard }))
      const next = changed(withVote(state, { config }), { reportedConfig: null })
      const stored = persist(stableOf(next))
      if (!isVoter(config, self)) return { state: next, effects: [stored] }
      const voted = handleElection(next, from, election, receipt, now)
      return { state: voted.state, effects: [stored, ...voted.effects] }
    }
    const hasNews = (isMajority && isNewer(state.vote.config, config)) || wanted?.includes(self) === true
    return receipt.fast && hasNews ? replyTo(state, from, election, false, NOTHING, now) : unchanged(state)
  }

  /** `first`: effects that precede the reply. */
  function replyTo(
    state: LocalLeaderState,
    to: NodeId,
    election: Election,
    support: boolean,
    first: readonly LocalLeaderEffect[],
    now: Micros,
  ): LocalLeaderStep {
    const { request, tree: order } = election
    if (to === self) {
      const counted = support ? countSupport(state, [self], request, now) : unchanged(state)
      return first.length === 0 ? counted : { state: counted.state, effects: [...first, ...counted.effects] }
    }
    const place = tree === null || order === null ? null : placeInTree(order, self, tree)
    const gathering: Gathering = {
      candidate: to,
      request,
      parent: place?.parent ?? to,
      votes: [ballotFor(state, election, support)],
      awaited: place?.children ?? [],
    }
    if (place === null || place.children.length === 0) {
      return { state, effects: [...first, forwardVotes(state, gathering, now)] }
    }
    return {
      state: changed(state, { gathering }),
      effects: [...first, setTimer(TIMER.gather, now + place.wait)],
    }
  }

  /** The own vote. A refusal because of the lock names the bounds. */
  function ballotFor(state: LocalLeaderState, election: Election, support: boolean): Ballot {
    // With fixed timing there is neither evidence nor a bound.
    if (state.pace === null) return { node: self, support }
    const measured = evidenceIn(state)
    const evidence = measured === null ? {} : { evidence: measured }
    const refused = support ? null : refusedBounds(state, election)
    if (refused === null) return { node: self, support, ...evidence }
    const { shortest, longest } = refused
    return { node: self, support, ...evidence, bounds: { shortest, longest } }
  }

  // ---- Along a tree ----

  /** The votes so far, as an answer to the parent in the tree, or to the candidate. */
  function forwardVotes(
    state: LocalLeaderState,
    { candidate, request, parent, votes }: Omit<Gathering, 'awaited'>,
    now: Micros,
  ): LocalLeaderEffect {
    const { promised, config } = state.vote
    return send(parent, {
      kind: 'Reply',
      beacon: beaconFor(state, parent, now),
      candidate,
      request,
      votes,
      promised,
      config,
    })
  }

  /** Votes from below, on their way to the candidate. */
  function gatherVotes(state: LocalLeaderState, from: NodeId, reply: Reply, now: Micros): LocalLeaderStep {
    const { gathering } = state
    if (
      gathering === null ||
      gathering.candidate !== reply.candidate ||
      !isSame(gathering.request, reply.request) ||
      !gathering.awaited.includes(from)
    ) {
      // Late, or repeated: forward it to the candidate as it is, so that no child adds votes twice.
      const late = { candidate: reply.candidate, request: reply.request, votes: reply.votes }
      return { state, effects: [forwardVotes(state, { ...late, parent: reply.candidate }, now)] }
    }
    const more: Gathering = {
      ...gathering,
      votes: [...gathering.votes, ...reply.votes],
      awaited: gathering.awaited.filter((node) => node !== from),
    }
    if (more.awaited.length > 0) return unchanged(changed(state, { gathering: more }))
    return handleGatherEnd(changed(state, { gathering: more }), now)
  }

  function handleGatherEnd(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const { gathering } = state
    if (gathering === null) return unchanged(state)
    return {
      state: changed(state, { gathering: null }),
      effects: [stopTimer(TIMER.gather), forwardVotes(state, gathering, now)],
    }
  }

  // ---- Answers of others ----

  function handleReply(
    before: LocalLeaderState,
    from: NodeId,
    reply: Reply,
    receipt: Receipt,
    now: Micros,
  ): LocalLeaderStep {
    const heard = recordBeacon(before, from, reply.beacon, receipt, now)
    const seen = epochAfterRefusal(heard.known.seen, reply.promised)
    const informed = seen === heard.known.seen ? heard : withKnown(heard, { seen })
    const isOdd = isMajority && contradicts(reply.config, informed.vote.config)
    if (!isOdd) {
      const agreed = clearMismatch(informed, from)
      if (reply.candidate !== self) return countVotes(agreed, from, reply, receipt, now)
      // The answer of a node with other voters does not count.
      const answers = countAnswers(agreed, answering(reply), reply.request, now)
      const counted = countVotes(answers.state, from, reply, receipt, now)
      if (answers.effects.length === 0) return counted
      return { state: counted.state, effects: [...answers.effects, ...counted.effects] }
    }
    const step = countVotes(informed, from, reply, receipt, now)
    const odd = reportVoters(step.state, from, reply)
    return { state: odd.state, effects: [...step.effects, ...odd.effects] }
  }

  /** The nodes that have answered. A node that would grant no such lock has not: it cannot help. */
  function answering({ votes }: Reply): readonly NodeId[] {
    // A loop, because every answer runs this, and `flatMap` takes several times as long.
    const nodes: NodeId[] = []
    for (const { node, bounds } of votes) if (bounds === undefined) nodes.push(node)
    return nodes
  }

  function countVotes(
    state: LocalLeaderState,
    from: NodeId,
    reply: Reply,
    receipt: Receipt,
    now: Micros,
  ): LocalLeaderStep {
    if (!receipt.fast && !isMajority) return unchanged(state)
    if (reply.candidate !== self) return gatherVotes(state, from, reply, now)
    const supporters: NodeId[] = []
    for (const { node, support } of reply.votes) if (support) supporters.push(node)
    if (!isMajority) {
      return supporters.length > 0 ? countSupport(state, supporters, reply.request, now) : unchanged(state)
    }
    const next = isLeading(state, now) ? afterRefusal(state, from, reply, now) : state
    if (supporters.length > 0) return countSupport(next, supporters, reply.request, now)
    return isLeading(next, now)
      ? countRefusal(markContested(next, reply), reply.request, now)
      : adoptVoters(next, from, reply, now)
  }

  /** A voter refuses this leader, because it has stored an earlier change of voters that never came into force. */
  function markContested(state: LocalLeaderState, { config }: Reply): LocalLeaderState {
    const epoch = state.term?.epoch ?? 0
    const isAbandoned = isNewer(config, state.vote.config) && config.id[0] < epoch
    return isAbandoned && !state.isContested ? changed(state, { isContested: true }) : state
  }

  /** The epoch that a voter has promised to another node counts even if it is no larger than the epoch of this node. */
  function epochAfterRefusal(seen: Epoch, promised: Epoch): Epoch {
    if (promised.owner === self || promised.number < seen.number) return seen
    return promised.number > seen.number || seen.owner === self ? promised : seen
  }

  /**
   * A candidate that was refused because it has missed a change of the voters adopts the change. So does a node that
   * receives a notice and knows of no leader or has no vote; other nodes learn the change from their leader in time.
   */
  function adoptVoters(
    state: LocalLeaderState,
    from: NodeId,
    { votes, config }: Reply,
    now: Micros,
  ): LocalLeaderStep {
    const isNotice = votes.length === 0
    if (isNewer(config, state.vote.config)) {
      const isConcerned = state.known.following === null || !isVoter(state.vote.config, self)
      if (isNotice && !isConcerned) return unchanged(state)
      const heard = addReport(state, from, config)
      if (!isConfirmed(heard)) return unchanged(changed(state, { reportedConfig: heard }))
      const next = changed(withVote(state, { config }), { reportedConfig: null })
      return { state: next, effects: [persist(stableOf(next))] }
    }
    const knowsBetter = isNotice && state.silentUntil === null && isNewer(state.vote.config, config)
    return knowsBetter ? { state, effects: [sendNotice(state, from, now)] } : unchanged(state)
  }

  /** A node that does not lead reports other voters. */
  function addReport(
    { reportedConfig }: LocalLeaderState,
    from: NodeId,
    config: Configuration,
  ): ReportedConfig {
    if (reportedConfig === null || !equalPlain(reportedConfig.config, config))
      return { config, by: [from], times: 1 }
    return { config, by: withId(reportedConfig.by, from), times: reportedConfig.times + 1 }
  }

  /** Confirmed by two nodes, or by repetition: a single message must not change the voters. */
  function isConfirmed({ by, times }: ReportedConfig): boolean {
    return by.length >= 2 || times >= REPORTS
  }

  return { handleElection, handleReply, handleGatherEnd }
}
