/**
 * A lease from a majority of locks. A candidate asks all nodes. A node that is not locked for another locks
 * itself for a while and grants. A majority of grants makes a lease, counted from the request.
 *
 * It is safe if no lease is longer than a lock and no lock is forgotten: after a restart a node does not
 * remember for which candidate it was locked, so it must be locked for all. Durations are in ticks.
 */
import {
  type Definition,
  define,
  type Effect,
  type Identity,
  type Message,
  type Micros,
  type NodeId,
  type Protocol,
  persist,
  type Step,
  send,
  setTimer,
  sortIds,
} from '../../src/core/index.ts'

export type Terms = {
  readonly leaseTicks: number
  readonly lockTicks: number
  /** Whether a restart forgets the lock. */
  readonly forgets: boolean
  /** The total number of requests of a node; keeps the world small. */
  readonly rounds: number
}

export const TICK: Micros = 1000

type Lock = { readonly for: NodeId | null; readonly until: Micros }
type Asking = { readonly since: Micros; readonly granted: readonly NodeId[] }
type Holder = {
  /** Survives a crash, so that no grant counts for another round. */
  readonly round: number
  readonly asking: Asking | null
  readonly leaseUntil: Micros | null
  readonly lock: Lock | null
}
type LeaseMessage = Message & { readonly kind: 'ask' | 'grant'; readonly round: number }

function holder({ self, nodes }: Identity, terms: Terms): Protocol<Holder, LeaseMessage, never, number> {
  const lockMicros = terms.lockTicks * TICK
  const leaseMicros = terms.leaseTicks * TICK
  const mayLock = ({ lock }: Holder, who: NodeId, now: Micros): boolean =>
    lock === null || lock.for === who || lock.until <= now
  const leads = ({ leaseUntil }: Holder, now: Micros): boolean => leaseUntil !== null && now < leaseUntil

  function ask(state: Holder, now: Micros): Step<Holder, LeaseMessage, number> {
    if (state.round === terms.rounds) return { state, effects: [] }
    const again = setTimer('ask', now + TICK)
    if (!mayLock(state, self, now)) return { state, effects: [again] }
    const round = state.round + 1
    const asks = nodes.filter((id) => id !== self).map((id) => send(id, { kind: 'ask' as const, round }))
    const lock = { for: self, until: now + lockMicros }
    return {
      state: { ...state, round, asking: { since: now, granted: [self] }, lock },
      effects: [persist(round), ...asks, again],
    }
  }

  function granted(state: Holder, asking: Asking, from: NodeId): Holder {
    const all = sortIds([...new Set([...asking.granted, from])])
    if (all.length * 2 <= nodes.length) return { ...state, asking: { ...asking, granted: all } }
    return { ...state, asking: null, leaseUntil: asking.since + leaseMicros }
  }

  return {
    start(stable, now) {
      const locked = stable !== null && !terms.forgets
      const lock = locked ? { for: null, until: now + lockMicros } : null
      const effects: Effect<LeaseMessage, number>[] = [setTimer('ask', now + TICK)]
      return {
        state: { round: stable ?? 0, asking: null, leaseUntil: null, lock },
        effects: stable === null ? [persist(0), ...effects] : effects,
      }
    },
    step(state, input, now) {
      if (input.type === 'timer') return ask(state, now)
      if (input.type !== 'message') return { state, effects: [] }
      const { from, body } = input
      const { asking } = state
      if (body.kind === 'grant') {
        const isWanted = asking !== null && body.round === state.round
        return { state: isWanted ? granted(state, asking, from) : state, effects: [] }
      }
      if (!mayLock(state, from, now)) return { state, effects: [] }
      const lock = { for: from, until: now + lockMicros }
      const isSame = state.lock?.for === from && state.lock.until === lock.until
      return {
        state: isSame ? state : { ...state, lock },
        effects: [send(from, { kind: 'grant', round: body.round })],
      }
    },
    view: (state, now) => ({
      role: leads(state, now) ? 'leader' : 'follower',
      leader: leads(state, now) ? self : null,
      token: null,
      until: leads(state, now) ? state.leaseUntil : null,
      members: null,
      detail: null,
    }),
    shift: (state, by) => ({
      ...state,
      asking: state.asking === null ? null : { ...state.asking, since: state.asking.since + by },
      leaseUntil: state.leaseUntil === null ? null : state.leaseUntil + by,
      lock: state.lock === null ? null : { ...state.lock, until: state.lock.until + by },
    }),
  }
}

export function lease(terms: Partial<Terms> = {}): Definition {
  const complete = { leaseTicks: 2, lockTicks: 2, forgets: false, rounds: 1, ...terms }
  return define({
    name: 'lease',
    title: 'a lease from a majority of locks',
    source: 'a canary',
    kinds: ['ask', 'grant'],
    leastNodes: 2,
    promises: ['one-leader'],
    goals: ['elected', 'leader-changed'],
    create: (identity) => holder(identity, complete),
    settlesWithin: () => complete.lockTicks * TICK * 3,
    exploration: { crashes: 0, recoveries: 0, ticks: 3, tick: TICK },
  })
}
