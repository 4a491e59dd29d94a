/**
 * The constants of the protocol, derived from a few that describe the network and the host.
 *
 * Five are given: δ and δmin (message delays), Δ (the threshold of fast messages), σ (scheduling delay) and ρ (clock
 * drift). Two are preferences: the renewal interval, and the number of tries per renewal. The rest follows, starting
 * with the lease. A lease outlasts the renewal interval and all tries. A lock outlasts the lease on any clock. The
 * election period outlasts a lock. A node that is silent for `expires` counts as unreachable.
 */
import type { Micros } from '../../core/index.ts'

export type Given = {
  readonly mode: 'local' | 'majority'
  /** quorum: a majority is enough. equality: all nodes that a leader hears must support it, too. */
  readonly rule: 'quorum' | 'equality'
  /** δ: messages delivered within this time are timely. */
  readonly delay: Micros
  /** δmin: the least delay of a message between two nodes. */
  readonly leastDelay: Micros
  /** Δ: messages that provably took at most this time are fast. */
  readonly fast: Micros
  /** σ: the scheduling delay of a timely node. */
  readonly lateness: Micros
  /** ρ: while one second of true time passes, a clock advances by 1 s ± this many seconds. */
  readonly rho: number
  /** How often a leader renews its lease. */
  readonly renewalInterval: Micros
  /** K: the number of tries that a renewal has before the lease ends. */
  readonly tries: number
  /** Whether answers are gathered along a tree, which takes longer. */
  readonly isTree: boolean
  /** EP and `expires`, if they are given instead of derived. */
  readonly electionPeriod: Micros | null
  readonly expires: Micros | null
}

export type Timing = Omit<Given, 'electionPeriod' | 'expires'> & {
  /** Messages that provably took at most this time count as fast: Δ, except at the highest level (scaled-timing.ts). */
  readonly heard: Micros
  /** 2Δ on any clock: every fast answer has arrived by then. */
  readonly roundTrip: Micros
  /** How long a candidate waits for answers: a round trip; on a tree, two. */
  readonly collection: Micros
  /** The duration of one try to renew: that time, plus the scheduling delay. */
  readonly tryTime: Micros
  /** How long a supporter is bound. */
  readonly lockTime: Micros
  /** The duration of a lease, from its request: a lock on the slowest clock, measured on the fastest. */
  readonly lease: Micros
  /** EP: time between the candidacies of a node. */
  readonly electionPeriod: Micros
  /** A node that sent nothing fast for this long counts as unreachable. */
  readonly expires: Micros
  readonly heartbeat: Micros
  /** Time between renewals: early enough before the end of the lease for all tries. */
  readonly renewalPeriod: Micros
  /** Heartbeat suppression (heartbeat-suppression.ts); null where it is not possible. */
  readonly suppression: Suppression | null
  /** How long a node waits for a node of better rank that could be a candidate but is not. */
  readonly deference: Micros
  /** How long other nodes believe that a candidate may win. */
  readonly candidacy: Micros
  /** The silence after a restart: until every lock from before has expired. */
  readonly silence: Micros
  /** How long a node ranks low after it stepped down. */
  readonly retirement: Micros
  /** Older timestamps would make timely messages look slow. */
  readonly stampAge: Micros
}

/** Heartbeat suppression: while a leader renews, it sends no heartbeats, and the nodes that it names send few. */
export type Suppression = {
  /** Named nodes send heartbeats to each other once in this many rounds. */
  readonly rounds: number
  /** The longest time between two such heartbeats. */
  readonly longest: Micros
  /** A renewal that has not arrived after this time is overdue, and all nodes send heartbeats. */
  readonly patience: Micros
}

/**
 * How long a node may report a peer as reachable after it can last have heard that peer, in true time. A fast message
 * may be in transit. Where a leader vouches for a node, the node's own last heartbeat may be two intervals old.
 */
export function reachableWithinOf({ expires, suppression, heard, rho }: Timing): Micros {
  return heard + Math.ceil((expires + 2 * (suppression?.longest ?? 0)) * (1 + 2 * rho))
}

/** A bound that the given constants break: `left` must be at least `right`. */
export type BrokenBound = {
  readonly option: string
  readonly bound: string
  readonly left: number
  readonly right: number
  readonly nearest: number
}

/** Heartbeats per `expires`: two in a row may get lost. */
const HEARTBEATS_PER_EXPIRY = 3.2

/** `lock`: the lock, if it is given instead of derived, as where leases tune themselves. */
export function timingOf(given: Given, lock: Micros | null = null): Timing {
  const { mode, leastDelay, fast, lateness, rho, renewalInterval, tries } = given
  const roundTrip = Math.ceil(2 * fast * (1 + rho))
  const collection = given.isTree ? 2 * roundTrip : roundTrip
  const tryTime = collection + lateness
  const neededLease = renewalInterval + tries * tryTime
  const neededLock = lock ?? Math.ceil(neededLease / (1 - 2 * rho))
  const electionPeriod = given.electionPeriod ?? periodFor(neededLock, given)
  const lockTime = lock ?? lockFor(electionPeriod, given)
  const expires =
    given.expires ??
    (mode === 'local'
      ? Math.ceil(2 * leastExpires(electionPeriod, given))
      : Math.ceil((lockTime + fast) * (1 + rho)))
  const heartbeat = Math.floor(expires / HEARTBEATS_PER_EXPIRY)
  // The error of a delay bound is 4ρ of the age of the timestamps: clocks drift in opposite directions, and the bound
  // allows for as much again. Stamps age between two messages after they are stored, so that time is subtracted.
  const usable = Math.floor((fast - leastFast(given)) / (4 * rho)) - lateness - 2 * given.delay
  const lease = leaseOf(lockTime, rho)
  const renewalPeriod = lease - tries * tryTime
  const suppression =
    mode === 'majority' && given.rule === 'quorum' && !given.isTree
      ? suppressionOf({ renewalPeriod, expires, usable, delay: given.delay, fast, lateness }, lock !== null)
      : null
  return {
    mode,
    rule: given.rule,
    delay: given.delay,
    leastDelay,
    fast,
    lateness,
    rho,
    renewalInterval,
    tries,
    isTree: given.isTree,
    heard: fast,
    roundTrip,
    collection,
    tryTime,
    lockTime,
    lease,
    electionPeriod,
    expires,
    heartbeat,
    renewalPeriod,
    suppression,
    deference: heartbeat + roundTrip + 2 * lateness,
    candidacy: expires + 2 * electionPeriod + 4 * (3 * fast + lateness),
    silence: Math.ceil(lockTime * (1 + 2 * rho)),
    retirement: 20 * lockTime,
    stampAge: Math.max(0, usable - (suppression?.longest ?? heartbeat)),
  }
}

/** What is left of a lease when the first try to renew it takes as long as it may. */
export function marginOf({ tries, tryTime, collection }: Timing): Micros {
  return tries * tryTime - collection
}

/** The longest lease under a lock: the lock on the slowest clock, measured on the fastest. */
export function leaseOf(lock: Micros, rho: number): Micros {
  return Math.floor(lock * (1 - 2 * rho))
}

/** More rounds would save little, and make reachability older. */
const MOST_QUIET_ROUNDS = 4
/** With leases that tune themselves, rounds may be short: up to twice as many then, if they take no longer than this. */
const QUIET_FOR: Micros = 200_000

type Pace = Pick<Timing, 'renewalPeriod' | 'expires' | 'delay' | 'fast' | 'lateness'> & {
  /** How long timestamps stay usable. */
  readonly usable: Micros
}

/**
 * Heartbeats can be suppressed only if two conditions hold. When a renewal is overdue, heartbeats (up to σ late, Δ in
 * transit) and the answer of the leader must arrive before the leader is given up. And renewals must be frequent: a
 * node that the leader names for a round must not be given up before the round after the next.
 *
 * Where leases tune themselves, followers count on the success of a renewal (`renewedUntil` in reachability.ts) and know
 * their leader for a whole lease. So they wait for two rounds and a spare half, if messages that take δ allow that: a timer
 * that is postponed once in two rounds wakes up an idle process half as often. With fixed timing they know their leader
 * for K tries only.
 */
function suppressionOf(
  { renewalPeriod, expires, usable, delay, fast, lateness }: Pace,
  isAdaptive: boolean,
): Suppression | null {
  const patience = isAdaptive
    ? Math.min(Math.floor((5 / 2) * renewalPeriod), expires - 2 * delay - lateness)
    : Math.min(renewalPeriod + Math.max(fast, lateness), expires - 2 * fast - lateness)
  // Rounds do not arrive on time to the microsecond: half a round is spare.
  const ofTime = isAdaptive ? Math.min(2 * MOST_QUIET_ROUNDS, Math.floor(QUIET_FOR / renewalPeriod)) : 0
  const most = Math.max(MOST_QUIET_ROUNDS, ofTime)
  const rounds = Math.min(most, Math.floor(((3 / 4) * usable) / renewalPeriod - 1 / 2))
  const isOften = 2 * renewalPeriod + lateness + fast <= expires
  if (rounds < 1 || patience <= renewalPeriod || !isOften) return null
  return { rounds, longest: Math.floor((rounds + 1 / 2) * renewalPeriod), patience }
}

/** The longest lock that expires before the next try of the same candidate arrives. */
function lockFor(electionPeriod: Micros, { rho, fast, leastDelay, lateness }: Given): Micros {
  return Math.floor((1 - rho) * ((electionPeriod - lateness) * (1 - rho) - fast + leastDelay))
}

/** The shortest election period with room for such a lock. */
function periodFor(lockTime: Micros, { rho, fast, leastDelay, lateness }: Given): Micros {
  return Math.ceil((Math.ceil((lockTime + 1) / (1 - rho)) + fast - leastDelay) / (1 - rho)) + lateness
}

/** The largest delay bound that two timely messages can have, without old timestamps. */
function leastFast({ delay, leastDelay, rho }: Given): Micros {
  return (2 * delay - leastDelay) * (1 + rho)
}

/** A delay bound is computed from this many clock readings, each up to a microsecond old. */
const READINGS = 4

/**
 * With this Δ, or a larger one, messages that take δ always count as fast. A delay bound errs by the drift of both
 * clocks since the timestamps were made, and allows for as much again. At best the stamps are as old as the time
 * between two messages of a pair. A leader that needs the support of all nodes that it hears must not classify timely
 * messages as slow.
 */
export function ampleFast({ delay, leastDelay, rho, heartbeat, suppression, lateness }: Timing): Micros {
  const age = (suppression?.longest ?? heartbeat) + lateness + 2 * delay
  return Math.ceil((2 * delay - leastDelay) * (1 + rho) + 4 * rho * age) + READINGS
}

/** The least ample Δ. A fixed point: a larger Δ means rarer heartbeats, and so older timestamps. */
function nearestFast(given: Given): Micros {
  let { fast } = given
  for (let step = 0; step < 100; step++) {
    const ample = ampleFast(timingOf({ ...given, fast }))
    if (ample <= fast) break
    fast = ample
  }
  return fast
}

/** The longest time between two answers to the tries of a timely candidate. */
function leastExpires(electionPeriod: Micros, { rho, fast, leastDelay }: Given): Micros {
  return (1 + rho) * (electionPeriod * (1 + rho) + 2 * (fast - leastDelay))
}

/** Every bound that the given constants break; empty when they are valid. */
export function brokenBounds(given: Given): readonly BrokenBound[] {
  const timing = timingOf(given)
  const { rho } = given
  const ms = (micros: number): number => Math.ceil(micros) / 1000
  const broken: BrokenBound[] = []
  const atLeast = (option: string, bound: string, left: number, right: number, nearest = right): void => {
    if (left < right) broken.push({ option, bound, left: ms(left), right: ms(right), nearest: ms(nearest) })
  }
  atLeast('deltaMs', 'δ ≥ δmin', given.delay, given.leastDelay)
  atLeast('fastMs', 'Δ ≥ (2δ − δmin)(1 + ρ)', given.fast, leastFast(given))
  if (given.mode === 'local' || given.rule === 'equality') {
    atLeast(
      'fastMs',
      'Δ ≥ (2δ − δmin)(1 + ρ) + 4ρ(heartbeat + σ + 2δ)',
      given.fast,
      ampleFast(timing),
      nearestFast(given),
    )
  }
  const neededLease = given.renewalInterval + given.tries * timing.tryTime
  const neededLock = Math.ceil(neededLease / (1 - 2 * rho))
  atLeast(
    'electionPeriodMs',
    'lockTime(1 − 2ρ) ≥ renewal interval + K(2Δ(1 + ρ) + σ)',
    timing.lease,
    neededLease,
    periodFor(neededLock, given),
  )
  atLeast(
    'expiresMs',
    given.mode === 'local' ? 'expires ≥ (EP(1 + ρ) + 2(Δ − δmin))(1 + ρ)' : 'expires ≥ lockTime',
    timing.expires,
    given.mode === 'local' ? leastExpires(timing.electionPeriod, given) : timing.lockTime,
  )
  return broken
}

/**
 * κ: within this time every stable partition has a leader (T), and no node is connected longer than this with a leader
 * that it does not support (BI). It is the paper's bound, plus the scheduling delay of the second alarm that the paper
 * forgot, plus what the paper takes for granted: round trips must form (Echo), a restarted node is silent, a node that
 * slept must notice that and notify the others, and heartbeats reveal rivals.
 */
export function kappaOf(timing: Timing): Micros {
  const { expires, lateness, electionPeriod, collection, rho, lockTime, fast, heartbeat, deference } = timing
  const corrected = Math.ceil((expires + 2 * lateness + electionPeriod + collection) * (1 + rho))
  const restart = timing.silence
  // A node that slept notices it with its next input, at the latest when its next timer is due. Then it sends a
  // message.
  const wake = (timing.suppression?.longest ?? heartbeat) + lateness
  const roundTrips = electionPeriod + 3 * fast + heartbeat
  const whole = corrected + restart + wake + roundTrips + fast + lateness + deference
  return timing.mode === 'local' ? whole : whole + corrected + lockTime
}

/** The bound as the paper prints it, for comparison. */
export function paperKappaOf({ expires, lateness, electionPeriod, rho, fast }: Timing): Micros {
  return Math.ceil((expires + lateness + electionPeriod) * (1 + rho)) + 2 * fast
}

/**
 * In majority mode: while one node is linked both ways with a majority of the voters, some node leads within this time,
 * regardless of other nodes and links. The bound adds to κ the time until candidates that cannot win are recognised.
 */
export function leadsWithinOf(timing: Timing): Micros {
  return kappaOf(timing) + Math.ceil((2 * timing.expires + timing.candidacy) * (1 + timing.rho))
}

/** The longest time that a candidate needs to win, once no lock and no rival is left. */
export function roundOf({ mode, isTree, delay, collection, lateness, rho }: Timing): Micros {
  // A majority is enough as soon as it has answered. In local mode, and on a tree, the candidate waits for the whole
  // collection time.
  const isEarly = mode === 'majority' && !isTree
  return isEarly ? 2 * delay : Math.ceil(collection / (1 - rho)) + lateness
}

/**
 * How long after a hand-over the successor leads at the latest. The Release reaches it within δ, and its request is answered
 * within 2δ. The request carries a certificate of the Release for voters that have not received it. No earlier message can
 * change their votes.
 */
export function handsOverWithinOf(timing: Timing): Micros {
  return timing.delay + roundOf(timing)
}
