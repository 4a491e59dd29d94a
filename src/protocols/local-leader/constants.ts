/**
 * The constants of the protocol, all derived from a few that describe the network and the host.
 *
 * Five are given: δ and δmin (how long messages take), Δ (what still counts as fast), σ (how late a process may act)
 * and ρ (how far clocks drift); two are wishes: how often a leader renews, and how many tries a renewal has. Everything
 * else follows, from the lock outwards: a lease must outlast the renewal interval and all tries; a lock outlasts the
 * lease on any clock; the election period outlasts a lock; and a node that is silent for `expires` counts as unreachable.
 */
import type { Micros } from '../../core/index.ts'

export type Given = {
  readonly mode: 'local' | 'majority'
  /** Whether a majority is enough, or all that a leader hears must support it, too. */
  readonly rule: 'quorum' | 'equality'
  /** δ: messages delivered within this time are timely. */
  readonly delay: Micros
  /** δmin: no message between two processes takes less. */
  readonly leastDelay: Micros
  /** Δ: a message is fast when it provably took no longer. */
  readonly fast: Micros
  /** σ: a process is timely when it acts no later than this after it is due. */
  readonly lateness: Micros
  /** ρ: in a second of true time, a clock shows a second within this many seconds. */
  readonly rho: number
  /** How often a leader renews its lease. */
  readonly renewalInterval: Micros
  /** K: how many tries a renewal has before the lease ends. */
  readonly tries: number
  /** Whether answers are gathered along a tree, which takes longer. */
  readonly isTree: boolean
  /** EP and `expires`, where they are given instead of derived. */
  readonly electionPeriod: Micros | null
  readonly expires: Micros | null
}

export type Timing = Omit<Given, 'electionPeriod' | 'expires'> & {
  /** 2Δ on any clock: by then every fast answer is in. */
  readonly roundTrip: Micros
  /** How long answers are waited for: a round trip, and as long again for the levels of a tree. */
  readonly collection: Micros
  /** A try to renew: that time, and a process that is as late as it may be. */
  readonly tryTime: Micros
  /** How long a supporter is bound. */
  readonly lockTime: Micros
  /** How long after its request a leader leads: a lock on the slowest clock, seen on the fastest. */
  readonly lease: Micros
  /** EP: time between the tries of a process to be elected. */
  readonly electionPeriod: Micros
  /** A node that sent nothing fast for this long counts as unreachable. */
  readonly expires: Micros
  readonly heartbeat: Micros
  /** From one renewal to the next: so long before the end of the lease that all tries have room. */
  readonly renewalPeriod: Micros
  /** Heartbeat suppression (heartbeat-suppression.ts); null where it is not possible. */
  readonly suppression: Suppression | null
  /** How long to leave it to one of better rank that could stand for election but does not. */
  readonly deference: Micros
  /** How long a candidate is believed that it may win. */
  readonly candidacy: Micros
  /** After a restart: until every lock that was given before has lapsed. */
  readonly silence: Micros
  /** How long a process that stepped down leaves it to others. */
  readonly retirement: Micros
  /** Time stamps older than this would make timely messages look slow. */
  readonly stampAge: Micros
}

/** Heartbeat suppression: while a leader renews, it sends no heartbeats, and the nodes that it names send few. */
export type Suppression = {
  /** Named nodes send heartbeats to each other once in this many rounds. */
  readonly rounds: number
  /** They do so at the latest after this long. */
  readonly longest: Micros
  /** A renewal that has not arrived after this time is overdue, and all nodes send heartbeats. */
  readonly patience: Micros
}

/**
 * For how long after a peer can last have been heard a node calls it reachable, at most, in true time: a fast message may
 * be under way; and where a leader vouches for a node, the node's own last heartbeat may be two intervals old.
 */
export function reachableWithinOf({ expires, suppression, fast, rho }: Timing): Micros {
  return fast + Math.ceil((expires + 2 * (suppression?.longest ?? 0)) * (1 + 2 * rho))
}

/** A bound that given constants break: what must be at least how much, and why. */
export type BrokenBound = {
  readonly option: string
  readonly bound: string
  readonly left: number
  readonly right: number
  readonly nearest: number
}

/** Least part of `expires` that may pass between two heartbeats: so that two may get lost. */
const HEARTBEATS_PER_EXPIRY = 3.2

export function timingOf(given: Given): Timing {
  const { mode, leastDelay, fast, lateness, rho, renewalInterval, tries } = given
  const roundTrip = Math.ceil(2 * fast * (1 + rho))
  const collection = given.isTree ? 2 * roundTrip : roundTrip
  const tryTime = collection + lateness
  const neededLease = renewalInterval + tries * tryTime
  const neededLock = Math.ceil(neededLease / (1 - 2 * rho))
  const electionPeriod = given.electionPeriod ?? periodFor(neededLock, given)
  const lockTime = lockFor(electionPeriod, given)
  const expires =
    given.expires ??
    (mode === 'local'
      ? Math.ceil(2 * leastExpires(electionPeriod, given))
      : Math.ceil((lockTime + fast) * (1 + rho)))
  const heartbeat = Math.floor(expires / HEARTBEATS_PER_EXPIRY)
  // The bound of a delay errs by 4ρ of the stamps' age: two clocks drift, and may drift, in opposite directions.
  // When they are used they are older than when they were kept, by as much as messages come apart.
  const usable = Math.floor((fast - leastFast(given)) / (4 * rho)) - lateness - 2 * given.delay
  const lease = Math.floor(lockTime * (1 - 2 * rho))
  const renewalPeriod = lease - tries * tryTime
  const suppression =
    mode === 'majority' && given.rule === 'quorum' && !given.isTree
      ? suppressionOf({ renewalPeriod, expires, usable, fast, lateness })
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

/** More would save little more, and what is known of the others would be older. */
const MOST_QUIET_ROUNDS = 4

type Pace = Pick<Timing, 'renewalPeriod' | 'expires' | 'fast' | 'lateness'> & {
  /** For how long time stamps stay good. */
  readonly usable: Micros
}

/**
 * A heartbeat that a node sends because a renewal is overdue, σ late, arrives Δ after that; and so is what the leader answers,
 * before it is given up. And whom the leader names as having answered a round is not given up before the round after
 * the next: only where renewals come often enough for that can heartbeats be suppressed.
 */
function suppressionOf({ renewalPeriod, expires, usable, fast, lateness }: Pace): Suppression | null {
  const patience = Math.min(renewalPeriod + Math.max(fast, lateness), expires - 2 * fast - lateness)
  // Rounds do not come on time to the microsecond: half of one is left.
  const rounds = Math.min(MOST_QUIET_ROUNDS, Math.floor(((3 / 4) * usable) / renewalPeriod - 1 / 2))
  const isOften = 2 * renewalPeriod + lateness + fast <= expires
  if (rounds < 1 || patience <= renewalPeriod || !isOften) return null
  return { rounds, longest: Math.floor((rounds + 1 / 2) * renewalPeriod), patience }
}

/** The longest lock that has lapsed before the next try of the same candidate comes. */
function lockFor(electionPeriod: Micros, { rho, fast, leastDelay, lateness }: Given): Micros {
  return Math.floor((1 - rho) * ((electionPeriod - lateness) * (1 - rho) - fast + leastDelay))
}

/** The least election period with room for such a lock. */
function periodFor(lockTime: Micros, { rho, fast, leastDelay, lateness }: Given): Micros {
  return Math.ceil((Math.ceil((lockTime + 1) / (1 - rho)) + fast - leastDelay) / (1 - rho)) + lateness
}

/** Two timely messages may look as slow as this. */
function leastFast({ delay, leastDelay, rho }: Given): Micros {
  return (2 * delay - leastDelay) * (1 + rho)
}

/** Clock readings that a bound of a delay is computed from, each up to a microsecond old. */
const READINGS = 4

/**
 * With this Δ, or a larger one, messages that take δ always count as fast. A bound of a delay errs by what the clocks
 * drift, and by as much again because they may, since the time stamps were made that it is computed from: at best
 * between two messages of a pair. A leader that needs all that it hears must not take any of them for slow.
 */
export function ampleFast({ delay, leastDelay, rho, heartbeat, suppression, lateness }: Timing): Micros {
  const age = (suppression?.longest ?? heartbeat) + lateness + 2 * delay
  return Math.ceil((2 * delay - leastDelay) * (1 + rho) + 4 * rho * age) + READINGS
}

/** The least Δ that is ample: a larger Δ makes for rarer heartbeats, and so for older time stamps. */
function nearestFast(given: Given): Micros {
  let { fast } = given
  for (let step = 0; step < 100; step++) {
    const ample = ampleFast(timingOf({ ...given, fast }))
    if (ample <= fast) break
    fast = ample
  }
  return fast
}

/** Between two answers to the tries of a timely candidate no more time passes. */
function leastExpires(electionPeriod: Micros, { rho, fast, leastDelay }: Given): Micros {
  return (1 + rho) * (electionPeriod * (1 + rho) + 2 * (fast - leastDelay))
}

/** Every bound that the given constants break; none when they are sound. */
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
 * κ: within this time every stable partition has a leader (T), and no longer than this is a process connected with a
 * leader that it does not support (BI). The paper's bound, with the scheduling delay of the second alarm that it
 * forgot, and what the parts add that the paper takes for granted: round trips must form (Echo), a restarted process
 * is silent, a node that slept must notice it and tell the others, and heartbeats reveal rivals.
 */
export function kappaOf(timing: Timing): Micros {
  const { expires, lateness, electionPeriod, collection, rho, lockTime, fast, heartbeat, deference } = timing
  const corrected = Math.ceil((expires + 2 * lateness + electionPeriod + collection) * (1 + rho))
  const restart = timing.silence
  // A process that slept learns it with its next input, at the latest when its own next timer is due; then it speaks.
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
