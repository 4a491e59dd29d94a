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
  compareIds,
  type Effect,
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  type Protocol,
  persist,
  present,
  type Step,
  send,
  setTimer,
  sortIds,
  stopTimer,
  unreachable,
  type View,
  withId,
  withIds,
} from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import type { Timing } from './constants.ts'
import {
  type Certificate,
  type Election,
  type Epoch,
  type Herald,
  isLater,
  isSame,
  type LocalLeaderCommand,
  type LocalLeaderMessage,
  type MembershipView,
  NO_EPOCH,
  type Release,
  type Reply,
  type Request,
} from './messages.ts'
import { isAlive, isDeaf, laterEpoch, outranks, peerOf } from './peers.ts'
import type { Rank } from './rank.ts'
import { checkedStable, type LocalLeaderStable } from './stable.ts'
import {
  type Campaign,
  changed,
  type Following,
  type Gathering,
  type Known,
  knowing,
  type Lead,
  type LocalLeaderState,
  type Peer,
  shifted,
  withKnown,
  withStanding,
  withVote,
} from './state.ts'
import { placeInTree, type Tree } from './tree.ts'
import {
  type Configuration,
  contradicts,
  holdsMajorities,
  initialConfiguration,
  isNewer,
  isVoter,
  nextConfiguration,
  votersOf,
} from './voters.ts'

/** Faults of the paper or of a careless implementation, each put back on purpose to see it caught. */
export const MISREADINGS = [
  'none',
  // A failed renewal releases the locks that still protect the lease; and a leader that is outranked goes on.
  'release-while-leader',
  // The paper's κ, and its rule by which the first try always fails: one σ is missing.
  'short-kappa',
  // Neither Echo nor heartbeats: followers never have a round trip.
  'no-echo',
  // A restarted process takes part at once, though it has forgotten its lock.
  'quick-restart',
  // A renewal that completes when the lease is over begins a second leadership with the same token.
  'renewal-after-expiry',
  // Promises of epochs are forgotten in a crash.
  'volatile-promises',
  // A clock that stood still is trusted.
  'no-suspend-check',
] as const
export type Misreading = (typeof MISREADINGS)[number]

export type LocalLeaderSettings = {
  readonly timing: Timing
  /** Majority mode: a majority is enough, or all that are heard must be among the supporters, as in the paper. */
  readonly rule: 'quorum' | 'equality'
  readonly sticky: boolean
  readonly priority: number
  /** How long a process of better rank waits before it deposes a leader; 0: not at all. */
  readonly holdDown: Micros
  /** How long one leads before it is another's turn; null: as long as it can. */
  readonly term: Micros | null
  /** How answers are gathered; null: each answers directly. */
  readonly tree: Tree | null
  readonly voters: readonly NodeId[]
  readonly witnesses: readonly NodeId[]
  readonly misreading: Misreading
  /**
   * For searches of every interleaving: nobody knows anything of anybody, so whoever may lead may stand at any moment,
   * so many times at most. Null: as it should be.
   */
  readonly mostRequests: number | null
}

type Change = Step<LocalLeaderState, LocalLeaderMessage, LocalLeaderStable>
type Deed = Effect<LocalLeaderMessage, LocalLeaderStable>

const ALIVE = 'alive'
const RELEASE = 'release'
const EXPIRE = 'expire'
const HEARTBEAT = 'heartbeat'
const GATHER = 'gather'
const ASK = 'ask'

/** In a large group only so many beat, the first that are there: who else is there the leader learns from answers. */
const HERALDS = 16

const NO_HERALD: Herald = {
  candidate: true,
  low: 0,
  priority: 0,
  incumbent: false,
  heard: true,
  seen: NO_EPOCH,
  lease: null,
}

/** Without a layer that measures delays, nothing is known to be slow. */
const ASSUMED_FAST: Receipt = { fast: true, bound: null, overtaken: false }

export function localLeader(
  { self, nodes }: Identity,
  settings: LocalLeaderSettings,
): Protocol<LocalLeaderState, LocalLeaderMessage, LocalLeaderCommand, LocalLeaderStable> {
  const { timing, misreading, witnesses, tree, mostRequests } = settings
  const beats = misreading !== 'no-echo' && mostRequests === null
  const { expires, fast: threshold, rho, lockTime, lease, roundTrip, tryTime, tries } = timing
  const isMajority = timing.mode === 'majority'
  const mayLead = !witnesses.includes(self)
  const indexOf = new Map(nodes.map((id, index) => [id, index]))
  const others = nodes.map((id, index) => ({ id, index })).filter(({ id }) => id !== self)
  const placeOf = (node: NodeId): number => present(indexOf.get(node), 'node')
  const isAmongFirst = sortIds(nodes).indexOf(self) < HERALDS
  /** A follower may trust what it was told of a round for this long after that round's request came. */
  const viewTrust = Math.floor(lockTime * (1 - 4 * rho)) - Math.ceil(threshold * (1 + rho))
  const pause: readonly [Micros, Micros] = isMajority
    ? [
        Math.floor((3 * threshold + timing.lateness) * 0.75),
        Math.ceil((3 * threshold + timing.lateness) * 1.25),
      ]
    : [timing.electionPeriod - timing.lateness, timing.electionPeriod - timing.lateness]

  /**
   * Voters hear a leader for the last time up to Δ later than its successor does, and must have given it up when they
   * are asked. In local mode the successor waits for that; in majority mode, where ranks only say who is preferred,
   * voters give a rival up earlier by as much.
   */
  const standAfter = isMajority ? 0 : threshold
  const rivalExpires = isMajority ? expires - threshold : expires

  const leads = ({ lead }: LocalLeaderState, now: Micros): boolean => lead !== null && now < lead.until

  const takesPart = (state: LocalLeaderState): boolean =>
    state.silentUntil === null && isVoter(state.vote.config, self)

  const isEligible = (state: LocalLeaderState): boolean => mayLead && takesPart(state)

  const latest = ({ incarnation, requests }: LocalLeaderState): Request => ({
    incarnation,
    counter: requests,
  })

  const stableOf = ({ incarnation, longestLock, vote }: LocalLeaderState): LocalLeaderStable => ({
    incarnation,
    lockTime: longestLock,
    promised: vote.promised,
    config: vote.config,
  })

  // ---- Ranks ----

  function lowOf({ standing, known }: LocalLeaderState, now: Micros): number {
    if (standing.lowUntil !== null && now < standing.lowUntil) return 2
    const { holdUntil, following } = known
    const waits = holdUntil !== null && now < holdUntil && following !== null && now < following.until
    return waits ? 1 : 0
  }

  function rankOf(state: LocalLeaderState, now: Micros): Rank {
    return {
      low: lowOf(state, now),
      priority: state.standing.priority,
      incumbent: settings.sticky && leads(state, now),
    }
  }

  /** Whether somebody of better rank is there for whom `counts`; and when the last such will have been silent too long. */
  function betterUntil(state: LocalLeaderState, now: Micros, counts: (peer: Peer) => boolean): Micros | null {
    const rank = rankOf(state, now)
    let until: Micros | null = null
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (!isAlive(peer, now, expires) || !counts(peer)) continue
      if (!outranks(peer, id, rank, self) || witnesses.includes(id)) continue
      if (isDeaf(peer, now, expires) || !isVoter(state.vote.config, id)) continue
      const gone = peer.heardAt + expires
      if (until === null || gone > until) until = gone
    }
    return until
  }

  // ---- Saying how one stands ----

  function heraldOf(state: LocalLeaderState, now: Micros, heard: boolean): Herald {
    if (mostRequests !== null) return NO_HERALD
    const { lead } = state
    const isLeader = lead !== null && now < lead.until
    return {
      candidate: state.standing.candidate,
      low: lowOf(state, now),
      priority: state.standing.priority,
      incumbent: settings.sticky && isLeader,
      heard,
      seen: laterEpoch(state.known.seen, state.vote.promised),
      lease: isLeader ? { left: lead.until - now, token: lead.token } : null,
    }
  }

  function heraldFor(state: LocalLeaderState, to: NodeId, now: Micros): Herald {
    return heraldOf(state, now, isAlive(state.known.peers[placeOf(to)] ?? null, now, expires))
  }

  function broadcast(
    state: LocalLeaderState,
    now: Micros,
    bodyWith: (herald: Herald) => LocalLeaderMessage,
  ): Deed[] {
    let toHeard: LocalLeaderMessage | null = null
    let toUnheard: LocalLeaderMessage | null = null
    // Along a tree a leader hears most of its supporters through others.
    const supporters = tree !== null && state.lead !== null ? new Set(state.lead.members) : null
    return others.map(({ id, index }) => {
      if (isAlive(state.known.peers[index] ?? null, now, expires) || supporters?.has(id) === true) {
        toHeard ??= bodyWith(heraldOf(state, now, true))
        return send(id, toHeard)
      }
      toUnheard ??= bodyWith(heraldOf(state, now, false))
      return send(id, toUnheard)
    })
  }

  // ---- Hearing how others stand ----

  function hear(
    state: LocalLeaderState,
    from: NodeId,
    herald: Herald,
    { fast: isFast, overtaken }: Receipt,
    now: Micros,
  ): LocalLeaderState {
    if (mostRequests !== null) return state
    const { known } = state
    const seen = laterEpoch(known.seen, herald.seen)
    if (from === self || !isFast) return seen === known.seen ? state : withKnown(state, { seen })
    const place = placeOf(from)
    const before = known.peers[place] ?? null
    if (overtaken && before !== null) {
      // It is there; how it stands, a later message has said.
      return withKnown(state, { peers: known.peers.with(place, { ...before, heardAt: now }), seen })
    }
    const peer = peerOf(herald, before, now)
    const following = followingAfter(state, from, herald, now)
    const holdUntil = settings.holdDown === 0 ? null : holdAfter(known, following, peer, state, now)
    return knowing(state, { peers: known.peers.with(place, peer), seen, following, holdUntil })
  }

  /** Whom it takes for the leader, after this herald. */
  function followingAfter(
    state: LocalLeaderState,
    from: NodeId,
    { lease: claimed }: Herald,
    now: Micros,
  ): Following | null {
    const { following } = state.known
    if (claimed === null) return following?.leader === from ? null : following
    const until = now + claimed.left
    const isKnown = following !== null && following.leader === from && following.token === claimed.token
    if (!(isKnown && isMajority) && !isBelievable(state, from, claimed.token, now)) return following
    if (isKnown) {
      const { leader, token, round, roundAt, view } = following
      return { leader, token, until, round, roundAt, view }
    }
    return { leader: from, token: claimed.token, until, round: null, roundAt: now, view: null }
  }

  /** Of two that claim to lead the larger token does; in local mode whom one supports does. */
  function isBelievable(state: LocalLeaderState, from: NodeId, token: number | null, now: Micros): boolean {
    const { following } = state.known
    const { lock } = state.vote
    if (!isMajority && isVoter(state.vote.config, self)) {
      return lock !== null && lock.owner === from && now <= lock.until
    }
    if (following === null || now >= following.until) return true
    return token !== null && following.token !== null && token > following.token
  }

  /** Whoever would depose a leader waits first, from when it began to hear it. */
  function holdAfter(
    known: Known,
    following: Following | null,
    leader: Peer,
    { standing }: LocalLeaderState,
    now: Micros,
  ): Micros | null {
    if (following === null) return null
    if (known.holdUntil !== null && known.following?.leader === following.leader) return known.holdUntil
    const own: Rank = { low: 0, priority: standing.priority, incumbent: false }
    return outranks(own, self, leader, following.leader) ? now + settings.holdDown : null
  }

  // ---- Standing for election ----

  /** Time to look whether it should stand, or whether its lease must be renewed. */
  function onAlive(state: LocalLeaderState, now: Micros, defers: boolean): Change {
    if (!isEligible(state)) {
      // It may become a voter.
      const again = mayLead ? [setTimer(ALIVE, now + roundTrip + timing.heartbeat)] : NOTHING
      return { state: withStanding(state, { candidate: false }), effects: again }
    }
    if (state.campaign !== null) return unchanged(state)
    const rivalUntil = betterUntil(state, now, ({ candidate }) => candidate)
    if (rivalUntil !== null) {
      if (leads(state, now) && misreading !== 'release-while-leader') {
        return giveUp(state, 'outranked', state.standing.lowUntil, now)
      }
      return {
        state: withStanding(state, { candidate: false, deferringSince: null }),
        effects: [setTimer(ALIVE, rivalUntil + standAfter)],
      }
    }
    const { lead } = state
    const isDue = settings.term !== null && lead !== null && now - lead.since >= settings.term
    if (isDue && leads(state, now)) {
      return giveUp(
        state,
        'term over',
        now + (settings.term ?? 0) * (votersOf(state.vote.config).length - 1),
        now,
      )
    }
    if (defers && !leads(state, now) && !state.standing.candidate) {
      const betterGone = betterUntil(state, now, ({ candidate }) => !candidate)
      const since = state.standing.deferringSince ?? now
      const patience = since + timing.deference
      if (betterGone !== null && now < patience) {
        return {
          state: withStanding(state, { candidate: false, deferringSince: since }),
          effects: [setTimer(ALIVE, Math.min(patience, betterGone))],
        }
      }
    }
    return stand(state, now)
  }

  /** Asks all for their support. */
  function stand(state: LocalLeaderState, now: Micros): Change {
    if (mostRequests !== null && state.requests >= mostRequests) return unchanged(state)
    const renew = leads(state, now)
    const { lead } = state
    if (!renew && !couldWin(state, now)) {
      return {
        state: withStanding(state, { candidate: true, deferringSince: null }),
        effects: [setTimer(ALIVE, [now + pause[0], now + pause[1]])],
      }
    }
    const epoch = !isMajority ? 0 : renew && lead !== null ? lead.epoch : nextEpoch(state)
    const request: Request = { incarnation: state.incarnation, counter: state.requests + 1 }
    const config =
      renew && lead !== null && !isNewer(state.vote.config, lead.config) && isMajority
        ? nextConfiguration(state.vote.config, reachable(state, now), epoch)
        : state.vote.config
    const campaign: Campaign = {
      request,
      at: now,
      epoch,
      renew,
      config,
      supporters: [],
      previousAt: state.standing.stoodAt,
      succeeds: !renew && state.vote.certificate !== null,
    }
    const candidate = withStanding(state, {
      candidate: true,
      deferringSince: null,
      stoodAt: misreading === 'short-kappa' ? now : null,
    })
    const next = changed(candidate, {
      requests: request.counter,
      campaign,
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
    return {
      state: next,
      effects: [
        ...broadcast(next, now, election),
        send(self, election(heraldOf(next, now, true))),
        setTimer(RELEASE, now + timing.collection),
        ...(tree === null ? NOTHING : [setTimer(ASK, now + tree.patience * (tree.levels + 1))]),
      ],
    }
  }

  /**
   * Whether it hears a majority. If not it need not ask, and must not: whoever supports it promises a larger epoch, and
   * would refuse the leader of the others for as long as that leads.
   */
  function couldWin(state: LocalLeaderState, now: Micros): boolean {
    if (!isMajority || !beats || tree !== null) return true
    const there = [self]
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (isAlive(peer, now, expires) && !isDeaf(peer, now, expires)) there.push(id)
    }
    return holdsMajorities(state.vote.config, there)
  }

  /** Who answers along the tree: at first all voters, then those that answered the last time. */
  function orderOf(config: Configuration, view: MembershipView | null): readonly NodeId[] {
    const members = view?.members ?? votersOf(config)
    return [self, ...members.filter((node) => node !== self)]
  }

  /** Whoever has not been heard along the tree is asked directly. */
  function onAsk(state: LocalLeaderState, now: Micros): Change {
    const { campaign } = state
    if (campaign === null) return unchanged(state)
    const missing = votersOf(campaign.config).filter(
      (node) => node !== self && !campaign.supporters.includes(node),
    )
    return {
      state,
      effects: missing.map((to) =>
        send(to, {
          kind: 'Election',
          herald: heraldFor(state, to, now),
          request: campaign.request,
          epoch: campaign.epoch,
          renew: campaign.renew,
          config: campaign.config,
          certificate: state.vote.certificate,
          view: null,
          wanted: null,
          tree: null,
        }),
      ),
    }
  }

  /** The voters that are wanted, once a majority of them is there: a leader must not depend on those it does not hear. */
  function reachable(state: LocalLeaderState, now: Micros): readonly NodeId[] | null {
    const { wanted } = state
    if (wanted === null) return null
    const there = wanted.filter(
      (node) => node === self || isAlive(state.known.peers[placeOf(node)] ?? null, now, expires),
    )
    return there.length * 2 > wanted.length ? wanted : null
  }

  /** An epoch that was promised to this process and under which nobody led is as good as a new one. */
  function nextEpoch({ vote: { promised }, known: { seen }, spent }: LocalLeaderState): number {
    const isUnused = promised.owner === self && promised.number > spent
    const isLargest =
      seen.number < promised.number || (seen.number === promised.number && seen.owner === self)
    return isUnused && isLargest ? promised.number : Math.max(seen.number, promised.number) + 1
  }

  /** Who supported the leader in its last round. */
  function viewOf({ request, supporters, requestedAt }: Lead): MembershipView {
    const members = supporters.filter(({ until }) => until === requestedAt + lease).map(({ node }) => node)
    return { round: request, members }
  }

  // ---- Supporting others ----

  function onElection(
    before: LocalLeaderState,
    from: NodeId,
    election: Election,
    receipt: Receipt,
    now: Micros,
  ): Change {
    const { fast: isFast } = receipt
    const heard = hear(before, from, election.herald, receipt, now)
    const told = isFast ? toldOf(heard, from, election, now) : heard
    if (isMajority && contradicts(election.config, told.vote.config)) return unchanged(told)
    if (told.silentUntil !== null) return unchanged(told)
    if (!isVoter(told.vote.config, self)) return onElectionOfOthers(told, from, election, receipt, now)
    const state = election.certificate === null ? told : yielded(told, election.certificate)
    const supports = (isFast || isMajority) && isSupportable(state, from, election, now)
    if (!supports) return isFast ? answered(state, from, election, false, NOTHING, now) : unchanged(state)
    const until = now + lockTime
    const lock = {
      owner: from,
      request: election.request,
      until: state.vote.lock?.owner === from ? Math.max(state.vote.lock.until, until) : until,
    }
    const promised: Epoch =
      isMajority && election.epoch > state.vote.promised.number
        ? { number: election.epoch, owner: from }
        : state.vote.promised
    const config =
      election.renew && isNewer(election.config, state.vote.config) ? election.config : state.vote.config
    const certificate = from === self ? state.vote.certificate : null
    const next = withVote(state, { lock, promised, config, certificate })
    const isNews = promised !== state.vote.promised || config !== state.vote.config
    const stored: readonly Deed[] = isNews ? [persist(stableOf(next))] : NOTHING
    return answered(next, from, election, true, stored, now)
  }

  /** A process without a vote learns who the voters are. If it is among them now it votes; if it is to be, it shows itself. */
  function onElectionOfOthers(
    state: LocalLeaderState,
    from: NodeId,
    election: Election,
    receipt: Receipt,
    now: Micros,
  ): Change {
    const { config, renew, wanted } = election
    if (isMajority && renew && isNewer(config, state.vote.config)) {
      const next = withVote(state, { config })
      const stored = persist(stableOf(next))
      if (!isVoter(config, self)) return { state: next, effects: [stored] }
      const voted = onElection(next, from, election, receipt, now)
      return { state: voted.state, effects: [stored, ...voted.effects] }
    }
    const isWanted = receipt.fast && wanted?.includes(self) === true
    return isWanted ? answered(state, from, election, false, NOTHING, now) : unchanged(state)
  }

  function isSupportable(state: LocalLeaderState, from: NodeId, election: Election, now: Micros): boolean {
    const { lock, promised } = state.vote
    const { request, herald } = election
    const isFree = lock === null || lock.until < now || lock.owner === from
    if (!isFree || (!isMajority && isUnheardBy(state, from, now))) return false
    if (lock !== null && lock.owner === from && isLater(lock.request, request)) return false
    const released = state.vote.released[placeOf(from)] ?? null
    if (released !== null && !isLater(request, released)) return false
    if (isMajority) {
      const isPromisable =
        election.epoch > promised.number || (election.epoch === promised.number && promised.owner === from)
      if (!isPromisable || isNewer(state.vote.config, election.config)) return false
    }
    return isBest(state, from, herald, now)
  }

  /** A candidate that has not heard this process for long would not hear its answer: only others would suffer from a lock. */
  function isUnheardBy(state: LocalLeaderState, from: NodeId, now: Micros): boolean {
    const peer = from === self ? null : (state.known.peers[placeOf(from)] ?? null)
    return isAlive(peer, now, expires) && isDeaf(peer, now, expires)
  }

  /** Nobody that stands for election ranks before it, nor does this process. */
  function isBest(state: LocalLeaderState, from: NodeId, rank: Rank, now: Micros): boolean {
    if (mostRequests !== null) return true
    if (from !== self && isEligible(state) && outranks(rankOf(state, now), self, rank, from)) return false
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (id === from || !isAlive(peer, now, rivalExpires) || !peer.candidate) continue
      if (!outranks(peer, id, rank, from) || !isVoter(state.vote.config, id)) continue
      if (!isDeaf(peer, now, expires)) return false
    }
    return true
  }

  function answered(
    state: LocalLeaderState,
    to: NodeId,
    { request, tree: order }: Election,
    support: boolean,
    stored: readonly Deed[],
    now: Micros,
  ): Change {
    if (to === self) {
      const counted = support ? withSupport(state, [self], request, now) : unchanged(state)
      return stored.length === 0
        ? counted
        : { state: counted.state, effects: [...stored, ...counted.effects] }
    }
    const place = tree === null || order === null ? null : placeInTree(order, self, tree)
    const gathering: Gathering = {
      candidate: to,
      request,
      parent: place?.parent ?? to,
      votes: [{ node: self, support }],
      awaited: place?.children ?? [],
    }
    if (place === null || place.children.length === 0) {
      return { state, effects: [...stored, passedOn(state, gathering, now)] }
    }
    return {
      state: changed(state, { gathering }),
      effects: [...stored, setTimer(GATHER, now + place.wait)],
    }
  }

  /** The votes so far, as an answer to whoever waits for them. */
  function passedOn(
    state: LocalLeaderState,
    { candidate, request, parent, votes }: Gathering,
    now: Micros,
  ): Deed {
    const { promised, config } = state.vote
    return send(parent, {
      kind: 'Reply',
      herald: heraldFor(state, parent, now),
      candidate,
      request,
      votes,
      promised,
      config,
    })
  }

  /** Votes from below, on their way to the candidate. */
  function gathered(state: LocalLeaderState, from: NodeId, reply: Reply, now: Micros): Change {
    const { gathering } = state
    if (
      gathering === null ||
      gathering.candidate !== reply.candidate ||
      !isSame(gathering.request, reply.request)
    ) {
      // Too late to be gathered: the candidate gets them as they are.
      const late = { candidate: reply.candidate, request: reply.request, votes: reply.votes }
      return { state, effects: [passedOn(state, { ...late, parent: reply.candidate, awaited: [] }, now)] }
    }
    const more: Gathering = {
      ...gathering,
      votes: [...gathering.votes, ...reply.votes],
      awaited: gathering.awaited.filter((node) => node !== from),
    }
    if (more.awaited.length > 0) return unchanged(changed(state, { gathering: more }))
    return onGatherOver(changed(state, { gathering: more }), now)
  }

  function onGatherOver(state: LocalLeaderState, now: Micros): Change {
    const { gathering } = state
    if (gathering === null) return unchanged(state)
    return {
      state: changed(state, { gathering: null }),
      effects: [stopTimer(GATHER), passedOn(state, gathering, now)],
    }
  }

  /** What a follower learns from its leader's rounds: who supported the one before this. */
  function toldOf(
    state: LocalLeaderState,
    from: NodeId,
    { request, view }: Election,
    now: Micros,
  ): LocalLeaderState {
    const { following } = state.known
    if (following === null || following.leader !== from) return state
    const isNext = view !== null && following.round !== null && isSame(view.round, following.round)
    const told = isNext
      ? { round: view.round, members: view.members, until: following.roundAt + viewTrust }
      : null
    const { leader, token, until } = following
    return withKnown(state, {
      following: { leader, token, until, round: request, roundAt: now, view: told },
    })
  }

  // ---- Being supported ----

  function onReply(
    before: LocalLeaderState,
    from: NodeId,
    reply: Reply,
    receipt: Receipt,
    now: Micros,
  ): Change {
    const heard = hear(before, from, reply.herald, receipt, now)
    const seen = refusalSeen(heard.known.seen, reply.promised)
    const state = seen === heard.known.seen ? heard : withKnown(heard, { seen })
    if (!receipt.fast && !isMajority) return unchanged(state)
    if (reply.candidate !== self) return gathered(state, from, reply, now)
    const supporters = reply.votes.filter(({ support }) => support).map(({ node }) => node)
    if (supporters.length > 0) return withSupport(state, supporters, reply.request, now)
    return isMajority && !leads(state, now) ? caughtUp(state, reply) : unchanged(state)
  }

  /** The epoch that a voter has promised to another counts even if it is no larger than one's own. */
  function refusalSeen(seen: Epoch, promised: Epoch): Epoch {
    if (promised.owner === self || promised.number < seen.number) return seen
    return promised.number > seen.number || seen.owner === self ? promised : seen
  }

  /** Whoever was refused because it has missed a change of the voters makes up for it. */
  function caughtUp(state: LocalLeaderState, { config }: Reply): Change {
    if (!isNewer(config, state.vote.config)) return unchanged(state)
    const next = withVote(state, { config })
    return { state: next, effects: [persist(stableOf(next))] }
  }

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
    const { supporters, config, at, previousAt } = present(state.campaign, 'campaign')
    if (!supporters.includes(self)) return false
    const isFirstTry = previousAt === null || at - previousAt >= expires
    if (misreading === 'short-kappa' && isFirstTry) return false
    if (isMajority && !holdsMajorities(config, supporters)) return false
    return (isMajority && settings.rule === 'quorum') || supportedByAll(state, supporters, now)
  }

  /** All that it hears support it; those that do not hear it need not. */
  function supportedByAll(state: LocalLeaderState, supporters: readonly NodeId[], now: Micros): boolean {
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (!isAlive(peer, now, expires) || isDeaf(peer, now, expires)) continue
      if (isVoter(state.vote.config, id) && !supporters.includes(id)) return false
    }
    return true
  }

  /** Every fast answer is in. */
  function onRoundOver(state: LocalLeaderState, now: Micros): Change {
    if (state.campaign === null) return unchanged(state)
    return isElected(state, now) ? win(state, now) : lose(state, now)
  }

  function win(state: LocalLeaderState, now: Micros): Change {
    const campaign = present(state.campaign, 'campaign')
    const until = campaign.at + lease
    const isLate = now >= until || (campaign.renew && !leads(state, now))
    if (isLate && misreading !== 'renewal-after-expiry') return lose(state, now)
    const before = campaign.renew ? state.lead : null
    const token = isMajority ? campaign.epoch : null
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
    }
    const lead = withSupporters(fresh, campaign.supporters, until)
    const settled = withVote(withKnown(state, { following: null }), { certificate: null })
    const next = changed(settled, {
      campaign: null,
      lead,
      spent: Math.max(state.spent, campaign.epoch),
      wanted: isReached(state, campaign) ? null : state.wanted,
    })
    const timers = [
      stopTimer(RELEASE),
      setTimer(EXPIRE, until),
      setTimer(ALIVE, Math.max(now, until - tries * tryTime)),
    ]
    const news = newsOf(state, campaign, before === null ? token : undefined)
    if (isVoter(campaign.config, self)) return { state: next, effects: [...timers, ...news] }
    const gone = giveUp(next, 'no longer a voter', null, now)
    return { state: gone.state, effects: [...timers, ...news, ...gone.effects] }
  }

  /** The voters that were wanted are the only ones now. */
  function isReached({ wanted }: LocalLeaderState, { config }: Campaign): boolean {
    const [current, next] = config.sets
    return wanted !== null && next === undefined && current?.join() === wanted.join()
  }

  function newsOf(state: LocalLeaderState, campaign: Campaign, token: number | null | undefined): Deed[] {
    const news: Deed[] = []
    if (token !== undefined) {
      news.push(output({ type: 'elected', token, cause: campaign.succeeds ? 'handed over' : 'elected' }))
    }
    const { config } = campaign
    const isChange = campaign.renew && state.lead !== null && isNewer(config, state.lead.config)
    if (isChange) news.push(output({ type: 'config', id: config.id, sets: config.sets }))
    return news
  }

  function lose(state: LocalLeaderState, now: Micros): Change {
    const campaign = present(state.campaign, 'campaign')
    const next = changed(state, { campaign: null })
    if (leads(state, now) && misreading !== 'release-while-leader') {
      return { state: next, effects: [stopTimer(RELEASE), setTimer(ALIVE, now)] }
    }
    const [least, most] = pause
    const again: Micros | readonly [Micros, Micros] =
      least === most
        ? Math.max(now, campaign.at + least)
        : [Math.max(now, campaign.at + least), Math.max(now, campaign.at + most)]
    return {
      state: next,
      effects: [
        stopTimer(RELEASE),
        setTimer(ALIVE, leads(state, now) ? now : again),
        ...released(next, campaign.request, false, now),
      ],
    }
  }

  // ---- Letting go ----

  function released(
    state: LocalLeaderState,
    request: Request,
    yields: boolean,
    now: Micros,
  ): readonly Deed[] {
    const release = (herald: Herald): Release => ({ kind: 'Release', herald, request, yields })
    return [...broadcast(state, now, release), send(self, release(heraldOf(state, now, true)))]
  }

  /** Stops leading, and only then lets its supporters go. */
  function giveUp(state: LocalLeaderState, cause: string, lowUntil: Micros | null, now: Micros): Change {
    const token = state.lead?.token ?? null
    const next = changed(state, {
      lead: null,
      campaign: null,
      standing: { ...state.standing, candidate: false, lowUntil },
      wanted: null,
    })
    return {
      state: next,
      effects: [
        output({ type: 'demoted', token, cause }),
        stopTimer(RELEASE),
        stopTimer(EXPIRE),
        ...released(next, latest(next), true, now),
        setTimer(ALIVE, now + roundTrip + timing.heartbeat),
      ],
    }
  }

  function onRelease(
    before: LocalLeaderState,
    from: NodeId,
    { herald, request, yields }: Release,
    receipt: Receipt,
    now: Micros,
  ): Change {
    const heard = hear(before, from, herald, receipt, now)
    const certificate = { owner: from, request }
    const state = voided(heard, certificate, !yields)
    if (!yields || from === self) return unchanged(state)
    const heir = withVote(state, { certificate })
    const isNext = isEligible(heir) && !leads(heir, now) && betterUntil(heir, now, () => true) === null
    // One that began before this process was free itself is lost: it begins anew, with the certificate.
    const isFree = heir.campaign === null || !heir.campaign.supporters.includes(self)
    return isNext && isFree ? stand(heir, now) : unchanged(heir)
  }

  /** Requests up to this one are void; with `exactly`, this one alone releases its lock. */
  function voided(
    state: LocalLeaderState,
    { owner, request }: Certificate,
    exactly = false,
  ): LocalLeaderState {
    const place = placeOf(owner)
    const { lock, released } = state.vote
    const known = released[place] ?? null
    const frees =
      lock !== null &&
      lock.owner === owner &&
      (exactly ? isSame(lock.request, request) : !isLater(lock.request, request))
    const isNews = known === null || isLater(request, known)
    if (!frees && !isNews) return state
    return withVote(state, {
      lock: frees ? null : lock,
      released: isNews ? released.with(place, request) : released,
    })
  }

  /** The owner led and gave it up: it stands no more, even where this news overtook its own message. */
  function yielded(before: LocalLeaderState, certificate: Certificate): LocalLeaderState {
    const state = voided(before, certificate)
    const place = placeOf(certificate.owner)
    const peer = state.known.peers[place] ?? null
    if (state === before || peer === null || !peer.candidate) return state
    return withKnown(state, { peers: state.known.peers.with(place, { ...peer, candidate: false }) })
  }

  // ---- The passing of time ----

  function onHeartbeat(state: LocalLeaderState, now: Micros): Change {
    const awake = state.silentUntil !== null && now >= state.silentUntil ? begun(state) : state
    const next = forgetful(awake, now)
    const first = awake === state ? NOTHING : [setTimer(ALIVE, now + roundTrip + timing.heartbeat)]
    if (!beats && next.silentUntil === null) return { state: next, effects: first }
    const sent =
      beats && takesPart(next) && isHerald(next, now)
        ? broadcast(next, now, (herald) => ({ kind: 'Heartbeat', herald }))
        : NOTHING
    const again = next.silentUntil ?? now + timing.heartbeat
    return { state: next, effects: [...sent, ...first, setTimer(HEARTBEAT, again)] }
  }

  /** In a large group only the first that are there beat. */
  function isHerald(state: LocalLeaderState, now: Micros): boolean {
    if (tree === null) return true
    let before = 0
    for (const { id, index } of others) {
      if (compareIds(id, self) < 0 && isAlive(state.known.peers[index] ?? null, now, expires)) before += 1
    }
    return before < HERALDS
  }

  /** In a large group the others listen first, whether they need to. */
  function firstBeat(now: Micros): Micros {
    return tree === null || isAmongFirst ? now : now + 2 * timing.heartbeat
  }

  function begun(state: LocalLeaderState): LocalLeaderState {
    return changed(state, { silentUntil: null })
  }

  /** Forgets whom it has not heard for too long. */
  function forgetful(state: LocalLeaderState, now: Micros): LocalLeaderState {
    const { following, peers } = state.known
    const isOver = following !== null && now >= following.until
    const isGone = peers.some((peer) => peer !== null && !isAlive(peer, now, expires))
    if (!isOver && !isGone) return state
    return withKnown(state, {
      following: isOver ? null : following,
      peers: isGone ? peers.map((peer) => (isAlive(peer, now, expires) ? peer : null)) : peers,
    })
  }

  /** A lease that the clock has overtaken is over, whatever happens next. */
  function lapsed(state: LocalLeaderState): Change {
    const token = state.lead?.token ?? null
    return {
      state: changed(state, { lead: null, wanted: null }),
      effects: [stopTimer(EXPIRE), output({ type: 'demoted', token, cause: 'expired' })],
    }
  }

  /** The clock stood still: no lease, no request and no knowledge of others that hangs on it can be trusted. */
  function onSuspended(state: LocalLeaderState, now: Micros): Change {
    if (misreading === 'no-suspend-check') return unchanged(state)
    const next = withKnown(state, { following: null, peers: nodes.map(() => null) })
    if (state.lead !== null) return giveUp(next, 'suspended', state.standing.lowUntil, now)
    if (state.campaign === null) return unchanged(next)
    const idle = withStanding(changed(next, { campaign: null }), { candidate: false })
    return {
      state: idle,
      effects: [
        stopTimer(RELEASE),
        ...released(idle, latest(idle), true, now),
        setTimer(ALIVE, now + roundTrip + timing.heartbeat),
      ],
    }
  }

  // ---- Commands ----

  function onCommand(state: LocalLeaderState, command: LocalLeaderCommand, now: Micros): Change {
    switch (command.do) {
      case 'stepDown':
        return leads(state, now)
          ? giveUp(state, 'stepped down', now + timing.retirement, now)
          : refused(state, command.do, 'this process does not lead')
      case 'setPriority':
        return unchanged(withStanding(state, { priority: command.priority }))
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
    body: LocalLeaderMessage,
    receipt: Receipt,
    now: Micros,
  ): Change {
    switch (body.kind) {
      case 'Heartbeat':
        return unchanged(hear(state, from, body.herald, receipt, now))
      case 'Election':
        return onElection(state, from, body, receipt, now)
      case 'Reply':
        return onReply(state, from, body, receipt, now)
      case 'Release':
        return onRelease(state, from, body, receipt, now)
      default:
        return unreachable(body)
    }
  }

  function onTimer(state: LocalLeaderState, name: string, now: Micros): Change {
    switch (name) {
      case ALIVE:
        return onAlive(state, now, true)
      case RELEASE:
        return onRoundOver(state, now)
      case HEARTBEAT:
        return onHeartbeat(state, now)
      case GATHER:
        return onGatherOver(state, now)
      case ASK:
        return onAsk(state, now)
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
        return onMessage(state, input.from, input.body, receipt, now)
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
      const isFirst = stable === null || misreading === 'quick-restart'
      const remembered = misreading === 'volatile-promises' ? NO_EPOCH : (stable?.promised ?? NO_EPOCH)
      const state: LocalLeaderState = {
        incarnation,
        longestLock: longest,
        silentUntil: isFirst ? null : now + Math.ceil(longest * (1 + 2 * rho)),
        known: { peers: nodes.map(() => null), seen: remembered, following: null, holdUntil: null },
        standing: {
          priority: settings.priority,
          lowUntil: null,
          candidate: false,
          deferringSince: null,
          stoodAt: null,
        },
        vote: {
          lock: null,
          released: nodes.map(() => null),
          certificate: null,
          promised: remembered,
          config: stable?.config ?? initialConfiguration(settings.voters),
        },
        requests: 0,
        campaign: null,
        lead: null,
        spent: remembered.number,
        wanted: null,
        gathering: null,
      }
      return {
        state,
        effects: [
          persist(stableOf(state)),
          ...(beats || !isFirst ? [setTimer(HEARTBEAT, state.silentUntil ?? firstBeat(now))] : []),
          ...(isFirst ? [setTimer(ALIVE, now + roundTrip + timing.heartbeat)] : []),
        ],
      }
    },
    step(state, input, now) {
      const { lead } = state
      if (lead === null || now < lead.until || misreading === 'renewal-after-expiry') {
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
        detail: isMajority ? { config: lead.config } : null,
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
      detail: isMajority ? { config: state.vote.config } : null,
    }
  }
}

function unchanged(state: LocalLeaderState): Change {
  return { state, effects: NOTHING }
}

function withVotes(campaign: Campaign, supporters: readonly NodeId[]): Campaign {
  const { request, at, epoch, renew, config, previousAt, succeeds } = campaign
  return { request, at, epoch, renew, config, supporters, previousAt, succeeds }
}

/** The leadership with these bound to it until then. */
function withSupporters(lead: Lead, nodes: readonly NodeId[], until: Micros): Lead {
  const rest = lead.supporters.filter(({ node }) => !nodes.includes(node))
  const all = [...rest, ...nodes.map((node) => ({ node, until }))]
  const supporters = all.sort((a, b) => compareIds(a.node, b.node))
  const isSameSet =
    supporters.length === lead.members.length &&
    supporters.every(({ node }, index) => node === lead.members[index])
  const members = isSameSet ? lead.members : supporters.map(({ node }) => node)
  const { token, epoch, since, request, requestedAt, config } = lead
  return { token, epoch, since, until: lead.until, request, requestedAt, supporters, members, config }
}
