import { equalPlain, type Micros, msOf, type NodeId } from '../../core/index.ts'
import type { Observation, Reach } from '../trace/index.ts'
import { type Calm, calmAfterRound, isCalm } from './memory/calm.ts'
import { couldLead, type Elector, electorate } from './memory/electorate.ts'
import { leadsNow } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/** In thousandths of the lock: how long a failover takes, and how slow messages and timers may be. */
type Terms = { readonly failover: number; readonly delay: number; readonly lateness: number }

/** The longest that messages and timers may take now. */
type Slowness = { readonly delay: Micros; readonly lateness: Micros }

/** The lock of a leader's requests, and when the last longer lock that it asked for has surely ended. */
type Asked = { readonly node: NodeId; readonly lock: Micros; readonly longerUntil: Micros }

/** The crash of a leader that no other node has followed yet. */
type Crash = { readonly leader: NodeId; readonly lock: Micros; readonly at: Micros; readonly latest: Micros }

type Failover = {
  /** Null if the protocol has no such bound. */
  readonly terms: Terms | null
  /** The lock of a leader that has not announced another one. */
  readonly firstLock: Micros | null
  readonly electors: readonly Elector[]
  readonly reach: Reach | null
  /** Null before the world has said it. */
  readonly slowness: Slowness | null
  readonly calm: Calm | null
  readonly asked: readonly Asked[]
  readonly open: Crash | null
  /** Whether the last observation completed a failover. */
  readonly isDone: boolean
  readonly wrong: string | null
}

/** For up to 32 messages, nodes remember how slow others were before a change. */
const CALM_ROUNDS = 34

/** A lock ends on a clock that may be slow, and begins when the request arrives. */
const LOCK_SPARE = 1.1

/**
 * The constants are `failoverPerMille`, `delayPerMille`, `latenessPerMille` and `lock`. Other bounds of progress speak of the longest lease
 * that a group may have. This one speaks of the lease that the leader had when it crashed, because that is what the status
 * of a group promises. It is judged only in a group that has been calm for a while (as in
 * chosen-successor), in a world that is fast enough for that
 * lease, and if a majority is left. Locks of the time before, which may have been longer, end first. Another change ends
 * the judgement.
 */
export const failoverInTime: Spec<Failover> = {
  name: 'failover-in-time',
  title:
    'after the leader of a calm group has crashed, another node leads within the bound of the lease in force',
  source: 'what the status of a group says about its failover; no paper states it',
  when: 'always',
  fold: {
    begin: (run) => ({
      terms: termsIn(run.constants),
      firstLock: run.constants['lock'] ?? null,
      electors: electorate.begin(run),
      reach: null,
      slowness: null,
      calm: null,
      asked: [],
      open: null,
      isDone: false,
      wrong: null,
    }),
    next(memory, seen) {
      if (memory.terms === null || memory.wrong !== null) return memory
      const checked = checkedAt(memory, seen.at)
      const electors = electorate.next(checked.electors, seen)
      const is = afterwards(checked, seen, memory.terms)
      return electors === is.electors ? is : { ...is, electors }
    },
  },
  judge({ isDone, wrong }) {
    if (wrong !== null) return { violated: wrong }
    return isDone ? 'held' : 'not concerned'
  },
}

function termsIn(constants: { readonly [name: string]: number }): Terms | null {
  const { failoverPerMille: failover, delayPerMille: delay, latenessPerMille: lateness } = constants
  if (failover === undefined || delay === undefined || lateness === undefined) return null
  return { failover, delay, lateness }
}

/** Whether the next leader is late, before the observation counts. */
function checkedAt(memory: Failover, at: Micros): Failover {
  const { open } = memory
  if (open !== null && at > open.latest)
    return {
      ...memory,
      wrong: `no node leads ${msOf(at - open.at)} ms after ${open.leader}, with locks of ${msOf(open.lock)} ms, has crashed`,
    }
  return memory.isDone ? { ...memory, isDone: false } : memory
}

function afterwards(memory: Failover, seen: Observation, terms: Terms): Failover {
  switch (seen.type) {
    case 'down':
      return afterCrash(memory, seen.node, seen.at, terms)
    case 'up':
    case 'commanded':
      return changed(memory)
    case 'disturbed':
      return { ...memory, slowness: slownessIn(seen) }
    case 'connectivity': {
      if (equalPlain(seen.reach, memory.reach)) return memory
      // The crash itself changes connectivity, and worlds report it in the same instant.
      const is = memory.open?.at === seen.at ? { ...memory, calm: null } : changed(memory)
      return { ...is, reach: seen.reach }
    }
    case 'view':
      return leadsNow(seen) ? { ...memory, calm: calmAfterRound(memory.calm, memory.reach, seen) } : memory
    case 'output':
      return afterOutput(memory, seen)
    default:
      return memory
  }
}

function changed(memory: Failover): Failover {
  return { ...memory, open: null, calm: null }
}

function slownessIn({ messageDelay, lateness }: Observation & { type: 'disturbed' }): Slowness | null {
  return messageDelay === undefined || lateness === undefined ? null : { delay: messageDelay, lateness }
}

function isFastEnough({ slowness }: Failover, lock: Micros, { delay, lateness }: Terms): boolean {
  if (slowness === null) return false
  return slowness.delay * 1000 <= lock * delay && slowness.lateness * 1000 <= lock * lateness
}

function afterCrash(memory: Failover, leader: NodeId, at: Micros, terms: Terms): Failover {
  const { reach, calm, electors } = memory
  const { lock, longerUntil } = lockOf(memory, leader)
  const isJudged =
    lock !== null &&
    isFastEnough(memory, lock, terms) &&
    isCalm(calm, reach, leader, CALM_ROUNDS) &&
    hasHeir(electors, reach, leader)
  if (!isJudged) return changed(memory)
  const latest = Math.max(at, longerUntil) + Math.ceil((lock * terms.failover) / 1000)
  return { ...memory, calm: null, open: { leader, lock, at, latest } }
}

/** Whether a node that is left could lead with the votes that are left. */
function hasHeir(electors: readonly Elector[], reach: Reach | null, leader: NodeId): boolean {
  if (reach === null || reach.unwritable.length > 0) return false
  const votes = reach.running.filter((node) => node !== leader)
  return votes.some((node) => couldLead(electors, node, votes))
}

function lockOf(
  { asked, firstLock }: Failover,
  leader: NodeId,
): { readonly lock: Micros | null; readonly longerUntil: Micros } {
  const own = asked.find(({ node }) => node === leader)
  // A node that has not led grants locks to others only: a former leader may have asked for longer ones.
  const longerUntil = Math.max(0, ...asked.map((each) => each.longerUntil))
  return { lock: own?.lock ?? firstLock, longerUntil }
}

function afterOutput(memory: Failover, { node, at, event }: Observation & { type: 'output' }): Failover {
  switch (event.type) {
    case 'level': {
      const lock = Number(event['lock'])
      const former = Number(event['former'])
      const before = memory.asked.find((each) => each.node === node)?.longerUntil ?? 0
      const longerUntil = former > lock ? Math.max(before, at + Math.ceil(former * LOCK_SPARE)) : before
      const others = memory.asked.filter((each) => each.node !== node)
      return { ...memory, asked: [...others, { node, lock, longerUntil }] }
    }
    case 'elected':
      return { ...memory, open: null, calm: null, isDone: memory.open !== null }
    case 'demoted':
      return changed(memory)
    default:
      return memory
  }
}
