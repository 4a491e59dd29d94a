/** The state of a node, and what it knows of the others. */
import { compareIds, equalPlain, type Micros, type NodeId } from '../../core/index.ts'
import type { Ballot, Certificate, Epoch, MembershipView, Request } from './messages.ts'
import type { Mismatch } from './mismatches.ts'
import { changedPace, type Pace } from './pace.ts'
import type { Rank } from './rank.ts'
import type { CandidateRecord } from './record.ts'
import { type Configuration, initialConfiguration } from './voters.ts'

/** What this node knows of another node, from its last fast message. */
export type Peer = Rank & {
  /** When it was last reachable: it sent a message, or the leader vouched for it. */
  readonly heardAt: Micros
  /** When its own last message arrived. */
  readonly saidAt: Micros
  readonly candidate: boolean
  /** Since when it reports that it does not hear this node (a one-way link); null when it hears this node. */
  readonly oneWaySince: Micros | null
  /** Since when it has been a candidate without leading, and when it last announced that; null: it is no candidate. */
  readonly claim: { readonly since: Micros; readonly last: Micros } | null
}

/** A pending request to be elected, or to renew. */
export type Candidacy = {
  readonly request: Request
  readonly at: Micros
  /** How long a supporter of this request is bound. */
  readonly lock: Micros
  readonly epoch: number
  readonly renew: boolean
  readonly config: Configuration
  /** A probe asks for answers only: a challenger makes sure that a majority hears it before it deposes a leader. */
  readonly isProbe: boolean
  /** The nodes that support the request, and the nodes that have answered at all, sorted. */
  readonly supporters: readonly NodeId[]
  readonly answered: readonly NodeId[]
  /** When the request before this one was made. */
  readonly previousAt: Micros | null
  /** Whether it follows a hand-over. */
  readonly succeeds: boolean
  /** Whether the leader that handed over has chosen this node: then it ranks first until the request is decided. */
  readonly isChosen: boolean
}

/** A term. It is over when the clock shows `until`, even if no node has noticed. */
export type Term = {
  /** The epoch of its election. Null in local mode, which has no tokens. */
  readonly token: number | null
  /** The epoch of its renewals: the epoch of its election, unless it had to be raised (raise.ts). */
  readonly epoch: number
  readonly since: Micros
  readonly until: Micros
  /** The request by which the node leads, and when the node made it. */
  readonly request: Request
  readonly requestedAt: Micros
  readonly lock: Micros
  /** Until when each supporter is bound, on this node's clock; sorted by node. */
  readonly supporters: readonly Supporter[]
  readonly members: readonly NodeId[]
  /** The last configuration that won. */
  readonly config: Configuration
  /**
   * Since when a voter refuses the leader because it promised a larger epoch to another node, and when it last did;
   * null: none does.
   */
  readonly outbid: { readonly since: Micros; readonly last: Micros } | null
}

/** `counter`: the last request that it supported. */
export type Supporter = { readonly node: NodeId; readonly until: Micros; readonly counter: number }

/** Until `until` this node supports `owner`, and no other node. */
export type Lock = { readonly owner: NodeId; readonly request: Request; readonly until: Micros }

/** What the node knows of the others. */
export type Known = {
  /** In the order of the nodes; null for the node itself and for nodes that sent nothing fast lately. */
  readonly peers: readonly (Peer | null)[]
  /** The largest epoch that any node has mentioned. */
  readonly seen: Epoch
  /** The leader, as far as it is known. */
  readonly following: Following | null
  /** The end of the hold-down before it deposes a leader of worse rank. */
  readonly holdUntil: Micros | null
}

/** Whether the node should be a candidate, and the rank that it announces. */
export type Eligibility = {
  /** Whether it wants to lead at present. If not, it only votes. */
  readonly willing: boolean
  readonly priority: number
  /** Until when it ranks low, so that other nodes lead, after it stepped down. */
  readonly lowUntil: Micros | null
  /** It is a candidate, and announces that. */
  readonly candidate: boolean
  readonly record: CandidateRecord
  /** Since when it has deferred to a node of better rank that is not a candidate. */
  readonly deferringSince: Micros | null
  /** When it last asked for support, where a rule needs it (rules.ts). */
  readonly lastRequestAt: Micros | null
  /** The rank that it last announced to all nodes, and when. */
  readonly announced: { readonly low: number; readonly priority: number; readonly at: Micros } | null
}

/** What the node has promised to others. */
export type Vote = {
  readonly lock: Lock | null
  /** The largest request of each node that is known to be void, in the order of the nodes. */
  readonly released: readonly (Request | null)[]
  readonly certificate: Certificate | null
  readonly promised: Epoch
  /**
   * The earlier promise, and the request that replaced it. If the request fails, no node has led by it, and the promise
   * binds no node. Null once a node may have led by it.
   */
  readonly revocable: { readonly request: Request; readonly former: Epoch } | null
  readonly config: Configuration
}

export type Gathering = {
  readonly candidate: NodeId
  readonly request: Request
  readonly parent: NodeId
  readonly votes: readonly Ballot[]
  readonly awaited: readonly NodeId[]
}

export type LocalLeaderState = {
  readonly incarnation: number
  /** The longest lock that this node may have given in any incarnation. */
  readonly longestLock: Micros
  /** Null: the timing is fixed. */
  readonly pace: Pace | null
  /** Until then the node is silent, because locks from before its restart may still hold. Null: it takes part. */
  readonly silentUntil: Micros | null
  readonly known: Known
  readonly eligibility: Eligibility
  readonly vote: Vote
  /** The number of requests in this incarnation, and the pending one. */
  readonly requests: number
  readonly candidacy: Candidacy | null
  readonly term: Term | null
  /** The largest epoch under which this node may have led. */
  readonly largestLedEpoch: number
  /** The voters that a command asked this leader to establish. */
  readonly wanted: readonly NodeId[] | null
  /** A voter has stored a newer configuration that never came into force, so this leader writes its own again. */
  readonly isContested: boolean
  /** Votes on their way to a candidate, while children are awaited. */
  readonly gathering: Gathering | null
  /** Contradictions with the configuration of peers that were reported already. */
  readonly mismatches: readonly Mismatch[]
  /** Voters that other nodes report, until the report is confirmed. */
  readonly reportedConfig: ReportedConfig | null
  /** Where epochs exceed the wall clock: the epoch from which they last grew, and when. Usually null. */
  readonly epochGrowth: { readonly from: number; readonly at: Micros } | null
}

/** A configuration that other nodes report as stored, the reporters, and the number of reports. */
export type ReportedConfig = {
  readonly config: Configuration
  readonly by: readonly NodeId[]
  readonly times: number
}

export type Following = {
  readonly leader: NodeId
  readonly token: number | null
  /** When its lease ends; with adaptive timing, if the renewal that this node received last succeeds. */
  readonly until: Micros
  /**
   * The latest round of the leader that came in time, when, under which epoch, for how long its report is good, and how long
   * its supporters are bound.
   */
  readonly round: Request | null
  readonly roundAt: Micros
  readonly trust: Micros
  readonly lock: Micros
  readonly epoch: number
  /** The supporters of the round before, its epoch, and until when the report may be trusted. */
  readonly view: (MembershipView & { readonly until: Micros; readonly epoch: number }) | null
}

/** All states are made here, in one shape: copies that differ in shape are several times slower to make and to read. */
export function changed(state: LocalLeaderState, change: Partial<LocalLeaderState>): LocalLeaderState {
  const {
    silentUntil,
    known,
    eligibility,
    vote,
    requests,
    candidacy,
    term,
    largestLedEpoch,
    wanted,
    gathering,
  } = change
  const { longestLock, pace, isContested, mismatches, reportedConfig, epochGrowth } = change
  return {
    incarnation: state.incarnation,
    longestLock: longestLock ?? state.longestLock,
    pace: pace ?? state.pace,
    silentUntil: silentUntil === undefined ? state.silentUntil : silentUntil,
    known: known ?? state.known,
    eligibility: eligibility ?? state.eligibility,
    vote: vote ?? state.vote,
    requests: requests ?? state.requests,
    candidacy: candidacy === undefined ? state.candidacy : candidacy,
    term: term === undefined ? state.term : term,
    largestLedEpoch: largestLedEpoch ?? state.largestLedEpoch,
    wanted: wanted === undefined ? state.wanted : wanted,
    isContested: isContested ?? state.isContested,
    gathering: gathering === undefined ? state.gathering : gathering,
    mismatches: mismatches ?? state.mismatches,
    reportedConfig: reportedConfig === undefined ? state.reportedConfig : reportedConfig,
    epochGrowth: epochGrowth === undefined ? state.epochGrowth : epochGrowth,
  }
}

export function withKnown(state: LocalLeaderState, change: Partial<Known>): LocalLeaderState {
  const { peers, seen, following, holdUntil } = change
  const { known } = state
  return replaceKnown(state, {
    peers: peers ?? known.peers,
    seen: seen ?? known.seen,
    following: following === undefined ? known.following : following,
    holdUntil: holdUntil === undefined ? known.holdUntil : holdUntil,
  })
}

export function replaceKnown(state: LocalLeaderState, known: Known): LocalLeaderState {
  return withParts(state, known, state.eligibility, state.vote, state.candidacy, state.term)
}

export function replaceEligibility(state: LocalLeaderState, eligibility: Eligibility): LocalLeaderState {
  return withParts(state, state.known, eligibility, state.vote, state.candidacy, state.term)
}

export function replaceCandidacy(state: LocalLeaderState, candidacy: Candidacy | null): LocalLeaderState {
  return withParts(state, state.known, state.eligibility, state.vote, candidacy, state.term)
}

export function replaceTerm(state: LocalLeaderState, term: Term | null): LocalLeaderState {
  return withParts(state, state.known, state.eligibility, state.vote, state.candidacy, term)
}

/** The parts that messages change. Faster than `changed`, which has to find out which fields a change has. */
function withParts(
  state: LocalLeaderState,
  known: Known,
  eligibility: Eligibility,
  vote: Vote,
  candidacy: Candidacy | null,
  term: Term | null,
): LocalLeaderState {
  return {
    incarnation: state.incarnation,
    longestLock: state.longestLock,
    pace: state.pace,
    silentUntil: state.silentUntil,
    known,
    eligibility,
    vote,
    requests: state.requests,
    candidacy,
    term,
    largestLedEpoch: state.largestLedEpoch,
    wanted: state.wanted,
    isContested: state.isContested,
    gathering: state.gathering,
    mismatches: state.mismatches,
    reportedConfig: state.reportedConfig,
    epochGrowth: state.epochGrowth,
  }
}

/** Returns the same state when nothing changes. */
export function withEligibility(state: LocalLeaderState, change: Partial<Eligibility>): LocalLeaderState {
  const { willing, priority, lowUntil, candidate, record, deferringSince, lastRequestAt, announced } = change
  const { eligibility } = state
  const next: Eligibility = {
    willing: willing ?? eligibility.willing,
    priority: priority ?? eligibility.priority,
    lowUntil: lowUntil === undefined ? eligibility.lowUntil : lowUntil,
    candidate: candidate ?? eligibility.candidate,
    record: record ?? eligibility.record,
    deferringSince: deferringSince === undefined ? eligibility.deferringSince : deferringSince,
    lastRequestAt: lastRequestAt === undefined ? eligibility.lastRequestAt : lastRequestAt,
    announced: announced === undefined ? eligibility.announced : announced,
  }
  return isSameEligibility(eligibility, next) ? state : replaceEligibility(state, next)
}

/** Field by field, because every round compares: `equalPlain` has to look up the names of the fields. */
function isSameEligibility(a: Eligibility, b: Eligibility): boolean {
  return (
    a.willing === b.willing &&
    a.priority === b.priority &&
    a.lowUntil === b.lowUntil &&
    a.candidate === b.candidate &&
    a.deferringSince === b.deferringSince &&
    a.lastRequestAt === b.lastRequestAt &&
    equalPlain(a.record, b.record) &&
    equalPlain(a.announced, b.announced)
  )
}

export function withVote(state: LocalLeaderState, change: Partial<Vote>): LocalLeaderState {
  const { lock, released, certificate, promised, revocable, config } = change
  const { vote } = state
  const next: Vote = {
    lock: lock === undefined ? vote.lock : lock,
    released: released ?? vote.released,
    certificate: certificate === undefined ? vote.certificate : certificate,
    promised: promised ?? vote.promised,
    revocable: revocable === undefined ? vote.revocable : revocable,
    config: config ?? vote.config,
  }
  return withParts(state, state.known, state.eligibility, next, state.candidacy, state.term)
}

/**
 * The state of a node whose group now has other nodes. What it knows of each node moves to that node's new index. In
 * majority mode the voters stay as they are, because only a leader changes them. In local mode the new voters replace
 * them.
 */
export function adoptNodes(
  state: LocalLeaderState,
  former: readonly NodeId[],
  nodes: readonly NodeId[],
  voters: readonly NodeId[] | null,
): LocalLeaderState {
  const inOrder = <T>(list: readonly (T | null)[]): readonly (T | null)[] =>
    nodes.map((id) => list[former.indexOf(id)] ?? null)
  const isIn = (id: NodeId): boolean => nodes.includes(id)
  const { following } = state.known
  const { certificate } = state.vote
  const { gathering, wanted } = state
  const known = withKnown(state, {
    peers: inOrder(state.known.peers),
    following: following !== null && isIn(following.leader) ? following : null,
  })
  const config = voters === null ? state.vote.config : initialConfiguration(voters)
  const vote = withVote(known, {
    released: inOrder(state.vote.released),
    certificate: certificate !== null && isIn(certificate.owner) ? certificate : null,
    config,
  })
  return changed(vote, {
    pace: state.pace && changedPace(state.pace, { peers: inOrder(state.pace.peers) }),
    gathering: gathering !== null && isIn(gathering.candidate) && isIn(gathering.parent) ? gathering : null,
    wanted: wanted?.every(isIn) === true ? wanted : null,
  })
}

export function withVotes(
  candidacy: Candidacy,
  supporters: readonly NodeId[],
  answered: readonly NodeId[] = candidacy.answered,
): Candidacy {
  const { request, at, lock, epoch, renew, config, isProbe, previousAt, succeeds, isChosen } = candidacy
  return {
    request,
    at,
    lock,
    epoch,
    renew,
    config,
    isProbe,
    supporters,
    answered,
    previousAt,
    succeeds,
    isChosen,
  }
}

/** The term, with these nodes bound by its request until `until`. An earlier request may bind them for longer. */
export function withSupporters(term: Term, nodes: readonly NodeId[], until: Micros): Term {
  const supporters = term.supporters.slice()
  let members = term.members
  for (const node of nodes) {
    let place = 0
    while (place < supporters.length && compareIds((supporters[place] as Supporter).node, node) < 0)
      place += 1
    const known = supporters[place]?.node === node ? (supporters[place] as Supporter) : null
    const bound = { node, until: Math.max(until, known?.until ?? until), counter: term.request.counter }
    if (known === null) supporters.splice(place, 0, bound)
    else supporters[place] = bound
  }
  const isSameSet =
    supporters.length === members.length && supporters.every(({ node }, index) => node === members[index])
  if (!isSameSet) members = supporters.map(({ node }) => node)
  const { token, epoch, since, request, requestedAt, lock, config, outbid } = term
  return {
    token,
    epoch,
    since,
    until: term.until,
    request,
    requestedAt,
    lock,
    supporters,
    members,
    config,
    outbid,
  }
}
